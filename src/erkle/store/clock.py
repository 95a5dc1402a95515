"""Time in the store: whole microseconds since 1970, UTC."""

import time
from collections.abc import Callable

__all__ = ["Clock", "now", "seconds"]

Clock = Callable[[], int]


def now() -> int:
    """The time by the clock of this machine."""
    return time.time_ns() // 1000


def seconds(duration: float) -> int:
    """So many seconds in microseconds.

    >>> seconds(1.5)
    1500000
    """
    return round(duration * 1_000_000)

"""Time in the store: whole microseconds since 1970, UTC."""

import time
from collections.abc import Callable

__all__ = ["Clock", "microseconds", "now"]

Clock = Callable[[], int]


def now() -> int:
    """The time by the clock of this machine."""
    return time.time_ns() // 1000


def microseconds(seconds: float) -> int:
    """So many seconds in microseconds.

    >>> microseconds(1.5)
    1500000
    """
    return round(seconds * 1_000_000)

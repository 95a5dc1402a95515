"""Time in the store: whole microseconds since 1970, UTC."""

import time
from collections.abc import Callable

from erkle.store.errors import StoreError

Clock = Callable[[], int]


def now() -> int:
    """The time by the clock of this machine."""
    return time.time_ns() // 1000


def duration(seconds: float, name: str, most: float) -> int:
    """So many seconds in microseconds, or a sentence that says how many there may be.

    >>> duration(1.5, "The lease", 60)
    1500000
    """
    if not 0 < seconds <= most:
        raise StoreError(f"{name} is {seconds} seconds; pass a number above 0, and at most {most:,.0f}.")
    return round(seconds * 1_000_000)

"""Time in the store, in whole microseconds since 1970, UTC."""

import time
from collections.abc import Callable

from erkle.store.errors import StoreError

Clock = Callable[[], int]


def now() -> int:
    """Return the current time of this machine's clock."""
    return time.time_ns() // 1000


def duration(seconds: float, name: str, most: float) -> int:
    """Return a duration in microseconds, or raise an error if it is not positive or exceeds ``most`` seconds.

    >>> duration(1.5, "The lease", 60)
    1500000
    """
    if not 0 < seconds <= most:
        raise StoreError(f"{name} is {seconds} seconds; pass a number above 0 and at most {most:,.0f}.")
    return round(seconds * 1_000_000)

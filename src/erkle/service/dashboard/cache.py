"""A cache for values that are slow to compute and read by many requests."""

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# A value is also kept for at least 20 times as long as it took to compute.
_SHARE = 20.0


class Cache(Generic[T]):
    """The last value of a function. The longer it takes to compute, the longer it is kept.

    Parameters
    ----------
    compute : function
    least : float
        The least number of seconds that a value is kept.

    Examples
    --------
    >>> computed = []
    >>> cache = Cache(lambda name: computed.append(name) or name.upper())
    >>> cache.value("a"), cache.value("a"), cache.value("b"), computed
    ('A', 'A', 'B', ['a', 'b'])
    """

    def __init__(self, compute: Callable[..., T], least: float = 1.0) -> None:
        self._compute, self._least = compute, least
        self._lock = threading.Lock()
        self._kept: tuple[tuple[Any, ...], T] | None = None
        self._until = 0.0

    def value(self, *given: Any) -> T:
        """Return the value for these arguments. It may be slightly out of date."""
        with self._lock:
            if self._kept is None or self._kept[0] != given or time.monotonic() >= self._until:
                begun = time.monotonic()
                self._kept = given, self._compute(*given)
                taken = time.monotonic() - begun
                self._until = time.monotonic() + max(self._least, _SHARE * taken)
            return self._kept[1]

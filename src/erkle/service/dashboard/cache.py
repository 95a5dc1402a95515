"""A cache for values that many people want and that take a while to compute."""

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# A value is also kept for at least this many times as long as it took to compute.
_SHARE = 20.0


class Cache(Generic[T]):
    """The last value of a function, computed again only when it is old for what it cost.

    Parameters
    ----------
    compute : function
    least : float
        Seconds for which a value is kept, at least.

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
        """The value for these arguments, perhaps a moment old."""
        with self._lock:
            if self._kept is None or self._kept[0] != given or time.monotonic() >= self._until:
                begun = time.monotonic()
                self._kept = given, self._compute(*given)
                taken = time.monotonic() - begun
                self._until = time.monotonic() + max(self._least, _SHARE * taken)
            return self._kept[1]

"""What many want to see, and what takes a while to find out: found out seldom, and shared."""

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Seldom"]

T = TypeVar("T")

# Seconds for which a value stands at least, and how many times what it took to find.
_LEAST, _SHARE = 1.0, 20.0


class Seldom(Generic[T]):
    """The value of a function, found again only when the last one is old for what it cost.

    Parameters
    ----------
    find : function

    Examples
    --------
    >>> found = []
    >>> seldom = Seldom(lambda name: found.append(name) or name.upper())
    >>> seldom.value("a"), seldom.value("a"), seldom.value("b"), found
    ('A', 'A', 'B', ['a', 'b'])
    """

    def __init__(self, find: Callable[..., T]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._kept: tuple[tuple[Any, ...], T] | None = None
        self._until = 0.0

    def value(self, *given: Any) -> T:
        """The value for what is given, a moment old perhaps."""
        with self._lock:
            if self._kept is None or self._kept[0] != given or time.monotonic() >= self._until:
                begun = time.monotonic()
                self._kept = given, self._find(*given)
                taken = time.monotonic() - begun
                self._until = time.monotonic() + max(_LEAST, _SHARE * taken)
            return self._kept[1]

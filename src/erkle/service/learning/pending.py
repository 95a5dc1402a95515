"""Questions that are out: whoever is asked next is asked something else."""

import threading
from collections.abc import Iterable

from erkle.store import Issued
from erkle.store.clock import Clock, now

Query = tuple[int, int, int]


class Pending:
    """Questions of one study by their tokens, until they are answered, given up or expired."""

    def __init__(self, clock: Clock = now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._out: dict[str, tuple[Query, int]] = {}

    def add(self, issued: Iterable[Issued]) -> None:
        """They have been asked."""
        with self._lock:
            for each in issued:
                self._out[each.token] = (each.anchor, each.first, each.second), each.expires_at

    def drop(self, *tokens: str) -> None:
        """They have been answered, or never will be."""
        with self._lock:
            for token in tokens:
                self._out.pop(token, None)

    def queries(self) -> list[Query]:
        """Those that may still be answered."""
        at = self._clock()
        with self._lock:
            self._out = {token: each for token, each in self._out.items() if each[1] > at}
            return [query for query, _ in self._out.values()]

    def __len__(self) -> int:
        return len(self._out)

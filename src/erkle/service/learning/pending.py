"""Open questions of a study. The strategy avoids asking other participants the same questions at the same time."""

import threading
from collections.abc import Iterable

from erkle.store import Issued
from erkle.store.clock import Clock, now

Query = tuple[int, int, int]


class Pending:
    """The open questions of one study, by token: those that are not answered, skipped or expired."""

    def __init__(self, clock: Clock = now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # The question of each token, and when it expires.
        self._by_token: dict[str, tuple[Query, int]] = {}

    def add(self, issued: Iterable[Issued]) -> None:
        """Add questions that were issued."""
        with self._lock:
            for each in issued:
                self._by_token[each.token] = (each.anchor, each.first, each.second), each.expires_at

    def drop(self, *tokens: str) -> None:
        """Remove questions that were answered or skipped."""
        with self._lock:
            for token in tokens:
                self._by_token.pop(token, None)

    def queries(self) -> list[Query]:
        """Return the questions that can still be answered."""
        at = self._clock()
        with self._lock:
            self._by_token = {token: each for token, each in self._by_token.items() if each[1] > at}
            return [query for query, _ in self._by_token.values()]

    def __len__(self) -> int:
        return len(self._by_token)

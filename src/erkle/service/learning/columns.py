"""The log as columns in memory: what tables and curves of a study are counted from."""

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.store import Answer, Kind

KINDS = tuple(Kind)
_CODES = {kind: code for code, kind in enumerate(KINDS)}
_FIELDS = ("number", "participant", "anchor", "near", "far", "kind", "response_ms", "answered_at")


class Columns:
    """Answers of everybody, excluded or not, in the order of the log; room for twice as many when it is used up.

    The learner's thread adds answers; it and everybody who reads columns holds ``lock`` meanwhile.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sequence = 0
        # The number of each participant in the columns; they are in the order of their numbers.
        self.participants: dict[str, int] = {}
        self._room = np.empty((0, len(_FIELDS)), np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, answers: Iterable[Answer]) -> None:
        """Read on in the log."""
        for answer in answers:
            if self._size == len(self._room):
                self._room = np.concatenate([self._room, np.empty((max(256, self._size), len(_FIELDS)), np.int64)])
            self._room[self._size] = (
                answer.sequence,
                self.participants.setdefault(answer.participant, len(self.participants)),
                answer.anchor,
                answer.near,
                answer.far,
                _CODES[answer.kind],
                -1 if answer.response_ms is None else answer.response_ms,
                answer.answered_at,
            )
            self._size += 1
            self.sequence = answer.sequence

    def __getattr__(self, name: str) -> NDArray[np.int64]:
        if name not in _FIELDS:
            raise AttributeError(name)
        column: NDArray[np.int64] = self._room[: self._size, _FIELDS.index(name)]
        return column

    def triplets(self, rows: NDArray[Any] | slice = slice(None)) -> NDArray[np.int64]:
        """Rows (anchor, near, far)."""
        first = _FIELDS.index("anchor")
        found: NDArray[np.int64] = self._room[: self._size, first : first + 3][rows]
        return found

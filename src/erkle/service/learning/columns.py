"""The answer log as columns in memory. The dashboard counts from these columns."""

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.store import Answer, Kind
from erkle.store.imports.rows import IMPORTED

KINDS = tuple(Kind)
_CODES = {kind: code for code, kind in enumerate(KINDS)}
_FIELDS = ("sequence_number", "participant", "anchor", "near", "far", "side", "kind", "response_ms", "answered_at")
# On which side the chosen object was.
LEFT, RIGHT, UNKNOWN_SIDE = range(3)


class Columns:
    """The answers of all participants, including excluded ones, in the order of the log.

    The learner's thread adds answers. Hold ``lock`` while adding or reading.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sequence = 0
        # Participant ids and their numbers in the columns. The dict is ordered by number.
        self.participants: dict[str, int] = {}
        # One row per answer. The array doubles when it is full.
        self._rows = np.empty((0, len(_FIELDS)), np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, answers: Iterable[Answer]) -> None:
        """Add the next answers of the log."""
        for answer in answers:
            if self._size == len(self._rows):
                self._rows = np.concatenate([self._rows, np.empty((max(256, self._size), len(_FIELDS)), np.int64)])
            self._rows[self._size] = (
                answer.sequence,
                self.participants.setdefault(answer.participant, len(self.participants)),
                answer.anchor,
                answer.near,
                answer.far,
                _side(answer),
                _CODES[answer.kind],
                -1 if answer.response_ms is None else answer.response_ms,
                answer.answered_at,
            )
            self._size += 1
            self.sequence = answer.sequence

    def __getattr__(self, name: str) -> NDArray[np.int64]:
        if name not in _FIELDS:
            raise AttributeError(name)
        column: NDArray[np.int64] = self._rows[: self._size, _FIELDS.index(name)]
        return column

    def triplets(self, rows: NDArray[Any] | slice = slice(None)) -> NDArray[np.int64]:
        """Return rows (anchor, near, far)."""
        first = _FIELDS.index("anchor")
        found: NDArray[np.int64] = self._rows[: self._size, first : first + 3][rows]
        return found


def _side(answer: Answer) -> int:
    # Files without sides are imported with a made-up one, and without the strategy.
    if answer.strategy == IMPORTED:
        return UNKNOWN_SIDE
    return LEFT if answer.left == answer.near else RIGHT

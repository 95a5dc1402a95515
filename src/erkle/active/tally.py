"""How often each object has been asked about. Pending questions count too, because they will be answered."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.active.knowledge import Knowledge
from erkle.active.questions import Questions

__all__ = ["Tally"]

# The number of latest answers to search for an anchor; searching them takes a fraction of a millisecond.
_LATEST = 300_000


class Tally:
    """Counts of heads, of objects and of both together, and the questions that are out."""

    def __init__(self, knowledge: Knowledge, questions: Questions, pending: ArrayLike) -> None:
        self.heads = knowledge.n_heads_.copy()
        self.appearances = knowledge.n_appearances_.copy()
        self.out: set[int] = set()
        kept = knowledge.kept_answers()
        self._history = np.empty((0, 3), np.int32) if kept is None else kept[-_LATEST:]
        self._asked_with: dict[int, list[int]] = {}
        self._questions = questions
        try:
            self.add(pending)
        except ValueError as error:
            raise ValueError(f"pending is no list of questions about these objects: {error}") from None

    def add(self, queries: ArrayLike) -> None:
        """They have been asked."""
        Q = triplets.check(queries, self._questions.n_objects)
        np.add.at(self.heads, Q[:, 0], 1)
        np.add.at(self.appearances, Q, 1)
        self.out.update(self._questions.keys(Q).tolist())
        for head, *pair in Q.tolist():
            self._asked_with.setdefault(head, []).extend(pair)

    def rareness(self, head: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Higher for pairs that were asked about less often with this head, or, alike in that, less often at all."""
        rows = np.flatnonzero(self._history[:, 0] == head)
        with_head = np.append(self._history[rows, 1:], self._asked_with.get(head, [])).astype(np.int64)
        together = np.bincount(with_head, minlength=len(self.heads))
        # One question with this head weighs more than any number of questions with other heads.
        counts = together * (2 * self.appearances.max() + 1) + self.appearances
        return np.asarray(-counts[pairs].sum(axis=1))

    def least_asked(self, possible: NDArray[np.bool_], rng: np.random.Generator) -> int | None:
        """One of the possible heads that have been asked about least; None if there is none."""
        ids = np.flatnonzero(possible)
        if not len(ids):
            return None
        counts = self.heads[ids]
        return int(rng.choice(ids[counts == counts.min()]))

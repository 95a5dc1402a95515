"""How often things have been asked: what is pending counts, too, for it will be answered."""

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.active.questions import Questions

__all__ = ["Tally"]

# Answers to look for a head in: as many as are found in a millisecond.
_LATEST = 1_000_000


class Tally:
    """Counts of heads, of objects and of both together, and the questions that are out."""

    def __init__(self, learner: Any, questions: Questions, pending: ArrayLike) -> None:
        self.heads = learner.n_heads_.copy()
        self.appearances = learner.n_appearances_.copy()
        self.out: set[int] = set()
        # The exact kernel keeps no answers.
        self._history = getattr(learner, "history_", np.empty((0, 3), np.int64))[-_LATEST:]
        self._asked_with: defaultdict[int, list[int]] = defaultdict(list)
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
            self._asked_with[head] += pair

    def rareness(self, Q: NDArray[np.int64]) -> NDArray[np.int64]:
        """The less often these questions' pairs were asked about with their head, one for all, the more.

        Of those that are alike in this, the less often they were asked about at all.
        """
        head, pairs = int(Q[0, 0]), Q[:, 1:]
        known = self._history[self._history[:, 0] == head, 1:]
        together = np.bincount(np.append(known, self._asked_with[head]).astype(np.int64), minlength=len(self.heads))
        counts = together * (2 * self.appearances.max() + 1) + self.appearances
        return np.asarray(-counts[pairs].sum(axis=1))

    def least_asked(self, possible: NDArray[np.bool_], rng: np.random.Generator) -> int | None:
        """One of the possible heads that have been asked about least; None if there is none."""
        ids = np.flatnonzero(possible)
        if not len(ids):
            return None
        counts = self.heads[ids]
        return int(rng.choice(ids[counts == counts.min()]))

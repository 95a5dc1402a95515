"""How often things have been asked: what is pending counts, too, for it will be answered."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.active.questions import Questions

__all__ = ["Tally"]


class Tally:
    """Counts of heads and of objects, and the questions that are out."""

    def __init__(self, learner: Any, questions: Questions, pending: ArrayLike) -> None:
        self.heads = learner.n_heads_.copy()
        self.appearances = learner.n_appearances_.copy()
        self.out: set[int] = set()
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

    def rareness(self, Q: NDArray[np.int64]) -> NDArray[np.int64]:
        """The less the pairs of these questions have been asked about, the more."""
        return np.asarray(-self.appearances[Q[:, 1:]].sum(axis=1))

    def least_asked(self, possible: NDArray[np.bool_], rng: np.random.Generator) -> int | None:
        """One of the possible heads that have been asked about least; None if there is none."""
        ids = np.flatnonzero(possible)
        if not len(ids):
            return None
        counts = self.heads[ids]
        return int(rng.choice(ids[counts == counts.min()]))

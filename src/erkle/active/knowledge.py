"""What a strategy may read about the objects: a protocol that learners and views of learners implement, and a tally.

Law: choosing a question never changes what is known.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.active.questions import Questions
from erkle.online import ERKLE

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# The number of latest answers to search for an anchor; searching them takes a fraction of a millisecond.
_LATEST = 300_000


class Knowledge(Protocol):
    """What has been learned so far. A fitted `ERKLE` is one."""

    @property
    def n_objects_(self) -> int:
        """Number of objects."""

    @property
    def n_anchored_(self) -> Counts:
        """How often each object was the anchor of an answer, (n,)."""

    @property
    def n_appearances_(self) -> Counts:
        """How often each object was in an answer, (n,)."""

    @property
    def temperature_(self) -> float:
        """What decision values are divided by before they become probabilities."""

    @property
    def history_(self) -> NDArray[np.int32] | None:
        """The answers so far, rows (anchor, near, far) in order; None if they are not kept."""

    def coordinates(self, ids: ArrayLike) -> Floats:
        """Coordinates of some objects, one row for each id."""

    def decision_function(self, X: ArrayLike) -> Floats:
        """d²(a, c) - d²(a, b) of each row (a, b, c): positive where a is nearer to b."""


class NothingKnown(NamedTuple):
    """The knowledge before the first answer: no counts, and all objects in one place."""

    n_objects_: int

    @property
    def n_anchored_(self) -> Counts:
        """No object was the anchor of an answer."""
        return np.zeros(self.n_objects_, np.int64)

    @property
    def n_appearances_(self) -> Counts:
        """No object was in an answer."""
        return np.zeros(self.n_objects_, np.int64)

    @property
    def temperature_(self) -> float:
        """All decision values are 0, so any temperature will do."""
        return 1.0

    @property
    def history_(self) -> NDArray[np.int32]:
        """There are no answers."""
        return np.empty((0, 3), np.int32)

    def coordinates(self, ids: ArrayLike) -> Floats:
        """The origin for each id."""
        return np.zeros((len(np.asarray(ids)), 1))

    def decision_function(self, X: ArrayLike) -> Floats:
        """A tie for each row."""
        return np.zeros(len(np.asarray(X)))


def known_by(learner: Knowledge) -> Knowledge:
    """The learner itself, or what it starts with if it has learned nothing; the learner is not changed."""
    return learner.knowledge() if isinstance(learner, ERKLE) else learner


class Tally:
    """Counts of heads, of objects and of both together, and the questions that are out.

    Pending questions count too, because they will be answered.
    """

    def __init__(self, knowledge: Knowledge, questions: Questions, pending: ArrayLike) -> None:
        self.heads = knowledge.n_anchored_.copy()
        self.appearances = knowledge.n_appearances_.copy()
        self.out: set[int] = set()
        kept = knowledge.history_
        self._history = np.empty((0, 3), np.int32) if kept is None else kept[-_LATEST:]
        self._asked_with: dict[int, list[int]] = {}
        self._questions = questions
        try:
            self.add(pending)
        except ValueError as error:
            raise ValueError(f"pending is no list of questions about these objects: {error}") from None

    def add(self, queries: ArrayLike) -> None:
        """Count these questions as asked."""
        Q = triplets.check(queries, self._questions.n_objects)
        np.add.at(self.heads, Q[:, 0], 1)
        np.add.at(self.appearances, Q, 1)
        self.out.update(self._questions.keys(Q).tolist())
        for head, *pair in Q.tolist():
            self._asked_with.setdefault(head, []).extend(pair)

    def rareness(self, head: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rarity of each pair: higher if it was asked about less often with this head; ties are broken by all heads."""
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

"""What strategies read: the knowledge about the objects, and counts of what was asked.

Choosing a question never changes what is known.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.active.questions import Questions
from erkle.answer_models import RATIO, AnswerModel
from erkle.online import ERKLE

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Number of latest answers that are searched for an anchor, in a fraction of a millisecond.
_N_LATEST = 300_000


class Knowledge(Protocol):
    """What has been learned so far. A fitted `ERKLE` and the views of the service implement this protocol."""

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
    def answer_model_(self) -> AnswerModel:
        """How distances become answers."""

    @property
    def history_(self) -> NDArray[np.int32] | None:
        """The answers so far in order, as rows (anchor, near, far); None if they are not kept."""

    def coordinates(self, ids: ArrayLike) -> Floats:
        """Coordinates of some objects, one row per id."""

    def decision_function(self, X: ArrayLike) -> Floats:
        """d²(a, c) - d²(a, b) of each row (a, b, c): positive where a is nearer to b."""

    def distances(self, X: ArrayLike) -> Floats:
        """d²(a, b) and d²(a, c) of each row (a, b, c), (m, 2)."""


class NothingKnown(NamedTuple):
    """The knowledge before the first answer: all counts are 0, and all objects have the same position."""

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
    def answer_model_(self) -> AnswerModel:
        """Any model, because all distances are 0."""
        return RATIO

    @property
    def history_(self) -> NDArray[np.int32]:
        """There are no answers."""
        return np.empty((0, 3), np.int32)

    def coordinates(self, ids: ArrayLike) -> Floats:
        """The origin, for each id."""
        return np.zeros((len(np.asarray(ids)), 1))

    def decision_function(self, X: ArrayLike) -> Floats:
        """0 for each row."""
        return np.zeros(len(np.asarray(X)))

    def distances(self, X: ArrayLike) -> Floats:
        """0 and 0 for each row."""
        return np.zeros((len(np.asarray(X)), 2))


def knowledge_of(learner: Knowledge) -> Knowledge:
    """The learner itself, or the knowledge that a new learner starts with; the learner is not changed."""
    return learner.knowledge() if isinstance(learner, ERKLE) else learner


class Tally:
    """How often each object was an anchor, was in a question, and was asked about with a given anchor.

    Pending questions count as answered. The tally also keeps their keys.

    Parameters
    ----------
    knowledge : Knowledge
    questions : Questions
    pending : (m, 3) array of integers
    n_latest : int
        Number of latest answers that are searched for an anchor.
    """

    def __init__(
        self, knowledge: Knowledge, questions: Questions, pending: ArrayLike, n_latest: int = _N_LATEST
    ) -> None:
        self.anchored = knowledge.n_anchored_.copy()
        self.appearances = knowledge.n_appearances_.copy()
        self.pending_keys: set[int] = set()
        kept = knowledge.history_
        self._history = np.empty((0, 3), np.int32) if kept is None else kept[-n_latest:]
        self._asked_with: dict[int, list[int]] = {}
        self._questions = questions
        try:
            self.add(pending)
        except ValueError as error:
            raise ValueError(f"pending is not a list of questions about these objects: {error}") from None

    def add(self, queries: ArrayLike) -> None:
        """Count these questions as asked."""
        Q = triplets.check(queries, self._questions.n_objects)
        np.add.at(self.anchored, Q[:, 0], 1)
        np.add.at(self.appearances, Q, 1)
        self.pending_keys.update(self._questions.keys(Q).tolist())
        for anchor, *pair in Q.tolist():
            self._asked_with.setdefault(anchor, []).extend(pair)

    def rarity(self, anchor: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for each pair: higher if it was asked about less with this anchor. Ties depend on all anchors."""
        rows = np.flatnonzero(self._history[:, 0] == anchor)
        with_anchor = np.append(self._history[rows, 1:], self._asked_with.get(anchor, [])).astype(np.int64)
        together = np.bincount(with_anchor, minlength=len(self.anchored))
        # One question with this anchor weighs more than any number of questions with other anchors.
        counts = together * (2 * self.appearances.max() + 1) + self.appearances
        return np.asarray(-counts[pairs].sum(axis=1))

    def least_asked(self, possible: NDArray[np.bool_], rng: np.random.Generator) -> int | None:
        """A random anchor among the possible ones that were asked about least; None if none is possible."""
        ids = np.flatnonzero(possible)
        if not len(ids):
            return None
        counts = self.anchored[ids]
        return int(rng.choice(ids[counts == counts.min()]))

"""What a strategy may read about the objects: a protocol that learners and views of learners implement.

Law: choosing a question never changes what is known.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.online import ERKLE

__all__ = ["Knowledge", "NothingKnown", "known_by"]

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


class Knowledge(Protocol):
    """What has been learned so far. A fitted `ERKLE` is one."""

    @property
    def n_objects_(self) -> int:
        """Number of objects."""

    @property
    def n_heads_(self) -> Counts:
        """How often each object was the anchor of an answer, (n,)."""

    @property
    def n_appearances_(self) -> Counts:
        """How often each object was in an answer, (n,)."""

    @property
    def temperature_(self) -> float:
        """What decision values are divided by before they become probabilities."""

    def kept_answers(self) -> NDArray[np.int32] | None:
        """The answers so far, rows (anchor, near, far) in order; None if they are not kept."""

    def coordinates(self, ids: ArrayLike) -> Floats:
        """Coordinates of some objects, one row for each id."""

    def decision_function(self, X: ArrayLike) -> Floats:
        """d²(a, c) - d²(a, b) of each row (a, b, c): positive where a is nearer to b."""


class NothingKnown(NamedTuple):
    """The knowledge before the first answer: no counts, and all objects in one place."""

    n_objects_: int

    @property
    def n_heads_(self) -> Counts:
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

    def kept_answers(self) -> NDArray[np.int32]:
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

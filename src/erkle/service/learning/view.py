"""A view: what a learner knows at one moment. Other threads read views while the learner goes on learning."""

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.kernels.low_rank import excess
from erkle.online import ERKLE
from erkle.online.record import Curve

Floats = NDArray[np.float64]


class View(NamedTuple):
    """An immutable copy of what a learner knows. Strategies use it as their `Knowledge`.

    Attributes
    ----------
    sequence : int
        The sequence number of the last answer in the log that was read.
    n_learned : int
        Number of answers that were learned.
    places : (n, r) array
        Coordinates of all objects.
    shifts : (n,) array
        A squared distance for each object, which is added to its distance from every other object.
    history_ : (m, 3) array
        All answers that were learned.
    prequential, held_out : Curve
        Errors of predictions made before learning: for all answers, and for held-out ones.
    chosen : str
        The setting that the learner has chosen, in words.
    """

    sequence: int
    n_learned: int
    places: Floats
    shifts: Floats
    temperature_: float
    n_anchored_: NDArray[np.int64]
    n_appearances_: NDArray[np.int64]
    history_: NDArray[np.int32]
    prequential: Curve
    held_out: Curve
    chosen: str

    @classmethod
    def of(cls, learner: ERKLE, sequence: int, held_out: Curve) -> Self:
        """Copy what a learner knows now."""
        # The learners of the service fit all answers again from time to time, so they keep every answer.
        assert learner.history_ is not None
        return cls(
            sequence=sequence,
            n_learned=learner.n_triplets_seen_,
            places=learner.coordinates(np.arange(learner.n_objects_)),
            shifts=learner.shifts_,
            temperature_=learner.temperature_,
            n_anchored_=learner.n_anchored_,
            n_appearances_=learner.n_appearances_,
            history_=learner.history_,
            prequential=learner.curve_,
            held_out=held_out,
            chosen=_chosen(learner),
        )

    @property
    def n_objects_(self) -> int:
        """Number of objects."""
        return len(self.places)

    def coordinates(self, ids: ArrayLike) -> Floats:
        """Coordinates of some objects."""
        return np.asarray(self.places[np.asarray(ids)])

    def decision_function(self, X: ArrayLike) -> Floats:
        """d²(a, c) - d²(a, b) for each row (a, b, c): positive if a is nearer to b."""
        T = triplets.check(X, self.n_objects_)
        return -excess(*(self.places[ids] for ids in T.T), *self.shifts[T[:, 1:].T])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """For each row (a, b, c), the probabilities, (m, 2), that a is nearer to c, and that a is nearer to b."""
        near = scipy.special.expit(self.decision_function(X) / self.temperature_)
        return np.column_stack([1.0 - near, near])


def _chosen(learner: ERKLE) -> str:
    """Describe the best candidate's setting in words."""
    setting: dict[str, Any] = learner.selection_[0].setting
    return ", ".join(f"{name} {value:g}" for name, value in setting.items() if value)

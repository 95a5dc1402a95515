"""A view: what a learner knows at one moment. Other threads read views while the learner goes on learning."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.answer_models import AnswerModel, Lapse
from erkle.features import FeatureWorth
from erkle.kernels.low_rank import distances, excess
from erkle.online import ERKLE
from erkle.online.participants import ParticipantLapses
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
    lapse : Lapse
        The share of answers that are slips.
    participants : ParticipantLapses
        The slips of each participant.
    chosen : str
        The setting that the learner has chosen, in words.
    features : list of FeatureWorth
        What each block of features is worth.
    """

    sequence: int
    n_learned: int
    places: Floats
    shifts: Floats
    answer_model_: AnswerModel
    lapse: Lapse
    participants: ParticipantLapses
    n_anchored_: NDArray[np.int64]
    n_appearances_: NDArray[np.int64]
    history_: NDArray[np.int32]
    prequential: Curve
    held_out: Curve
    chosen: str
    features: list[FeatureWorth]

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
            answer_model_=learner.answer_model_,
            lapse=learner.lapse_,
            participants=learner.participants_,
            n_anchored_=learner.n_anchored_,
            n_appearances_=learner.n_appearances_,
            history_=learner.history_,
            prequential=learner.curve_,
            held_out=held_out,
            chosen=learner.selection_[0].described(),
            features=learner.features_,
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

    def distances(self, X: ArrayLike) -> Floats:
        """d²(a, b) and d²(a, c) for each row (a, b, c), (m, 2)."""
        T = triplets.check(X, self.n_objects_)
        return distances(*(self.places[ids] for ids in T.T), *self.shifts[T.T])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """For each row (a, b, c), the probabilities, (m, 2), that a is nearer to c, and that a is nearer to b."""
        near = self.answer_model_.probability(*self.distances(X).T)
        return np.column_stack([1.0 - near, near])

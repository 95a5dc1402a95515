"""Settings of fits: the setting of a candidate of `Refitting`, and the tuned constants."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled.evidence import distances_of_map
from erkle._compiled.fitting import Penalty
from erkle.answer_models import RATIO, SQUARES, AnswerModel
from erkle.features.priors import Shares
from erkle.online.models.base import Answers
from erkle.online.selection.candidates import Ids

Floats = NDArray[np.float64]


class FitSetting(NamedTuple):
    """The setting of a candidate.

    A shift is a squared distance that is added to the distances of an object from all others: an unpopular object has
    a large shift. While answers are few for the dimension of the data, shifts explain more than coordinates do.

    Attributes
    ----------
    rank : int
        Number of coordinates.
    ridge : float
        Ridge on the coordinates, as a weight in a whole fit.
    shift : float
        Ridge on the logarithms of the shifts; 0 means that there are no shifts.
    answers : {"ratio", "estimated", "squares"}
        The answer model: `RATIO`, the best one while answers are few; a model that is estimated from the candidate's
        predictions; or `SQUARES`, the best one for few answers about points in many dimensions.
    shares : tuple of pairs (name, share)
        The blocks of features that are used, and what share of the prior variance each explains; see
        `erkle.features.priors`. Empty if none is used.
    """

    rank: int
    ridge: float
    shift: float = 0.0
    answers: str = "ratio"
    shares: Shares = ()

    @classmethod
    def restored(cls, rank: int, ridge: float, shift: float, answers: str, shares: list[tuple[str, float]]) -> Self:
        """The setting whose fields were written as JSON."""
        return cls(rank, ridge, shift, answers, tuple((name, share) for name, share in shares))

    @property
    def answer_model(self) -> AnswerModel | None:
        """The fixed answer model; None if it is estimated."""
        return {"ratio": RATIO, "squares": SQUARES}.get(self.answers)

    def lapses(self, answers: Answers) -> Floats:
        """The lapse of each answer, from the lapses of participants; NaN where they are unknown.

        A fixed model has no slips. It stays as it is for the typical participant, and others get only their extra
        slips.
        """
        if self.answer_model is None:
            return answers.lapses
        typical = min(answers.typical_lapse, TUNING.largest_typical_lapse)
        return np.maximum(0.0, (answers.lapses - typical) / (1.0 - 2.0 * typical))

    @property
    def penalty(self) -> Penalty:
        """The ridges of a fit. The prior of features contains the ridge on coordinates."""
        return Penalty(1.0 if self.shares else self.ridge, self.shift)


class RefittingTuning(NamedTuple):
    """Constants of `Refitting`.

    There is no record of a benchmark for a value whose comment names none. `python -m benchmarks.people moments`
    measures how a change affects errors along a stream and CPU time.
    """

    # Ranks to try.
    ranks: tuple[int, ...] = (1, 2, 3, 5, 10, 25, 50, 100)
    # Ridges to try.
    ridges: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    # Ridge on shifts. With a ridge of 1, adaptive questions about eggs300 had 6 % more error than random ones.
    shift_ridge: float = 0.3
    # Exploratory settings: few dimensions and a weak ridge. Changing rank and ridge step by step may not lead to them.
    # Without them, errors on adaptive questions were three times as large.
    free: tuple[FitSetting, ...] = (
        FitSetting(2, 0.3),
        FitSetting(3, 0.3),
        FitSetting(5, 0.3),
        FitSetting(10, 0.3),
        FitSetting(2, 0.3, answers="estimated"),
        FitSetting(3, 0.3, answers="estimated"),
        FitSetting(5, 0.3, answers="estimated"),
        FitSetting(10, 0.3, answers="estimated"),
    )
    # Candidates at the start.
    start: tuple[FitSetting, ...] = (
        FitSetting(25, 4.0),
        FitSetting(25, 2.0),
        FitSetting(25, 8.0),
        FitSetting(25, 4.0, shift_ridge),
        FitSetting(25, 4.0, shift_ridge, "squares"),
        FitSetting(2, 1.0),
        *free[:4],
    )
    # Candidates at the start if there are features. The shares of these are shared equally by the blocks.
    start_with_features: tuple[tuple[FitSetting, float], ...] = (
        (FitSetting(10, 4.0), 0.7),
        (FitSetting(10, 8.0), 0.3),
        (FitSetting(25, 4.0), 0.7),
        (FitSetting(10, 2.0), 0.7),
        (FitSetting(10, 4.0), 0.9),
        (FitSetting(10, 4.0, answers="estimated"), 0.7),
    )
    # Candidate at the start for each block alone, and its share.
    start_alone: FitSetting = FitSetting(10, 4.0)
    share_alone: float = 0.7
    # Shares of a block to try.
    shares: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
    # Largest sum of the shares: the rest is what features do not explain.
    largest_share: float = 0.95
    # Candidates without features that are tried at the same time while a candidate with features leads.
    tried_without_features: int = 2
    # Share of all blocks together in exploratory settings.
    exploratory_share: float = 0.3
    # Largest lapse of the typical participant that is subtracted from those of others. At 0.5 nothing would be left.
    largest_typical_lapse: float = 0.49
    # Largest number of candidates while answers and objects are few: fits are fast, and the choice matters most.
    most: int = 16
    # Largest number of candidates after ``settled_at``.
    most_settled: int = 9
    # The same with features, whose fits cost more.
    most_settled_with_features: int = 7
    # Answers per object at which ``most_settled`` takes effect.
    settled_at: float = 20
    # Answers at which it takes effect in any case if there are features, because fits cost more with them. Without
    # this, learning 30,000 answers of THINGS takes 1.7 times as long; .5885 of other answers are then predicted rightly
    # instead of .5863 (seed 10).
    settled_with_features: int = 15_000
    # A candidate this many nats of discounted loss behind the leader is eliminated.
    elimination_margin: float = 12.0
    # Answers at the first review, if there are few objects.
    first_review: int = 10
    # With many objects, the first review comes after one answer per this many objects.
    first_review_objects: int = 20
    # Growth of the number of answers between two fits, as a share.
    review_share: float = 0.04
    # Number of answers above which that share grows with their number to the power of ``review_growth``. Each object
    # counts as ``object_cost`` answers.
    review_size: float = 200_000.0
    # With 1 a million answers would be fitted too rarely, with 0.5 too often.
    review_growth: float = 0.75
    # Cost of an object, in answers: an iteration visits every answer and every object.
    object_cost: float = 10.0
    # Extra growth of the share, as a multiple of objects per answer. A fit of few answers costs more per answer.
    review_few: float = 1.5
    # Iterations of a fit before ``exact_at``.
    brief_iterations: int = 8
    # Iterations of a fit after ``exact_at``: an accurate map needs accurate fits.
    exact_iterations: int = 15
    # Answers per object at which ``exact_iterations`` takes effect.
    exact_at: float = 10
    # With more objects than this, fits are rarer and take more iterations. Set by `make large`: with 15 iterations,
    # fits of 100,000 objects never left their random start (error 0.275; with more iterations 0.048).
    many_objects: int = 5000
    # A fit stops when the objective falls by less than this share.
    tol: float = 1e-4
    # Iterations of a fit that the user requests with `consolidate`.
    final_iterations: int = 200
    # Such a fit stops when the objective falls by less than this share.
    final_tol: float = 1e-6
    # Rate of the online steps between two fits. It is small because one answer must not undo a fit of thousands.
    step: float = 0.05
    # Growth of the number of answers, as a factor, after which fits of lower rank restart from the fit of highest rank.
    restart: float = 1.5
    # Standard deviation of the random numbers that a new fit starts with, as a share of that of the coordinates.
    noise: float = 0.1
    # Smallest standard deviation of these random numbers.
    least_noise: float = 0.01
    # Largest rank of the mixture, unless the leader has a larger one.
    widest: int = 25
    # Largest number of coordinates in a map: L-BFGS needs ten to twenty times as many numbers.
    largest_map: int = 1_000_000
    # Rank that is always allowed, whatever ``largest_map`` says.
    least_rank: int = 5
    # Answers per object up to which online steps also move the shifts. Later a fit estimates them better than a step
    # does. `python -m benchmarks.people paper` compares with popularity alone.
    shifts_move_until: float = 3.0


TUNING = RefittingTuning()


def largest_rank(n_objects: int) -> int:
    """The largest rank that ``n_objects`` can have and whose map is not too large to fit."""
    within_map = max(TUNING.least_rank, TUNING.largest_map // max(1, n_objects))
    return max(1, min(n_objects - 1, within_map))


def predicted_distances(setting: FitSetting, X: Floats, T: Ids) -> Floats:
    """d²(a, b) and d²(a, c) of each row of T according to a fit, (m, 2)."""
    distances = np.empty((len(T), 2))
    distances_of_map(X, setting.shift > 0.0, np.ascontiguousarray(T), distances)
    return distances


def is_alive(X: Floats) -> bool:
    """Whether the coordinates are away from the origin, where the gradient is zero.

    A strong ridge with few answers shrinks a fit to the origin.
    """
    return float(np.sum(X[:, :-1] ** 2)) > 1e-3 * len(X)

"""Evidence: how good predictions were that were made before the answers were known, and how people answer."""

import copy
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled import evidence as compiled
from erkle.answer_models import AnswerModel, Lapse
from erkle.checks import shaped

Floats = NDArray[np.float64]

# Number of latest predictions that an answer model is estimated from.
_WINDOW = 4096
# Growth of the number of answers between two estimates, as a share.
_ESTIMATE_SHARE = 0.1
# Number of bins of confidence, from 0.5 to 1.
_BINS = 10
# Prior of the answer model: mean and standard deviation of log sensitivity, logit of the power, and logit of twice the
# lapse. It keeps the model reasonable while there are few answers. Noisy answers say little about the power, so there
# the prior still counts after thousands of answers.
_PRIOR_MEAN, _PRIOR_SPREAD = np.array([0.7, -1.0, -3.5]), np.array([0.7, 1.5, 1.0])
# Fewest answers for a statement about slips.
_FEWEST = 200
# Slips are known when answers have narrowed the interval of the lapse to this share of its width before the first
# answer, on a logarithmic scale.
_NARROWED = 0.8
# Half of the width of a 95 % interval, in standard deviations.
_WIDTH_95 = 1.96


def is_lapse_known(lapse: Lapse, n_answers: int) -> bool:
    """Whether the answers already show how often people slip. Until then, the lapse is mostly that of the prior."""
    before = _lapse(_PRIOR_MEAN[2], _PRIOR_SPREAD[2])
    width, width_before = (math.log(each.high / each.low) for each in (lapse, before))
    return n_answers >= _FEWEST and width < _NARROWED * width_before


def _lapse(logit: float, deviation: float) -> Lapse:
    """The lapse, with a 95 % interval, from the mean and the standard deviation of the logit of twice the lapse."""
    logits = logit + _WIDTH_95 * deviation * np.array([0.0, -1.0, 1.0])
    return Lapse(*(0.5 / (1.0 + np.exp(-logits))).tolist())


class Reliability(NamedTuple):
    """How often predictions made before learning were right, in ten bins of confidence from 0.5 to 1.

    Attributes
    ----------
    n_answers : (10,) array of integers
        Number of predictions in each bin.
    confidence : (10,) array
        Mean probability of the predicted answer in each bin; NaN for an empty bin.
    accuracy : (10,) array
        Share of right predictions in each bin; NaN for an empty bin.
    """

    n_answers: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats

    @property
    def calibration_error(self) -> float:
        """Mean difference between confidence and accuracy over all answers; NaN without answers."""
        weights, total = self.n_answers, self.n_answers.sum()
        if total == 0:
            return float("nan")
        gaps = np.abs(np.nan_to_num(self.confidence) - np.nan_to_num(self.accuracy))
        return float(weights @ gaps / total)


class Evidence:
    """Discounted sums of losses, errors and weights; bins of confidence; and the answer model behind the predictions.

    Parameters
    ----------
    discount : float
        How fast old answers lose their weight. The weight of answer number j is proportional to j to this power.
    fixed : AnswerModel or None
        The answer model. None estimates it from the predictions, again whenever there are a tenth more answers.
    """

    def __init__(self, discount: float = 3.0, fixed: AnswerModel | None = None) -> None:
        self.discount, self.fixed = discount, fixed
        self.sums = np.zeros(3)
        self.bins = np.zeros((_BINS, 3))
        self.window = np.zeros((_WINDOW, 2), np.float32)
        # Number of the last answer, how many answers were predicted since the evidence was copied, and the number of
        # answers at the next estimate.
        self.n_answers, self.n_own, self.next_estimate = 0, 0, 10
        self._believe(_PRIOR_MEAN.copy(), np.diag(_PRIOR_SPREAD**2))

    def _believe(self, at: Floats, covariance: Floats) -> None:
        """Take over an estimate. The answer model is the fixed one, or that of the estimate."""
        self._at, self._covariance = at, covariance
        self.answer_model = self.fixed or AnswerModel(*compiled.parameters_at(at))

    def add(self, distances: Floats, first: int, lapses: Floats | None = None) -> Floats:
        """Add predictions: the squared distances (near, far) of answers number ``first``, ``first + 1``, ...

        ``lapses`` are those of the participants; NaN or None where they are unknown. Returns the probability of each
        answer without slips.
        """
        done, likely = 0, np.empty(len(distances))
        lapses = np.full(len(distances), np.nan) if lapses is None else lapses
        while done < len(distances):
            number = first + done
            room = len(distances) - done if self.fixed else max(1, self.next_estimate - number + 1)
            piece, part = np.ascontiguousarray(distances[done : done + room]), likely[done : done + room]
            slips = lapses[done : done + room]
            sums, bins, window = self.sums, self.bins, self.window
            compiled.add_answers(piece, slips, number, self.discount, self.answer_model, sums, bins, window, part)
            done += len(piece)
            self.n_answers, self.n_own = first + done - 1, self.n_own + len(piece)
            if self.n_answers >= self.next_estimate and not self.fixed:
                self.estimate()
        return likely

    def estimate(self) -> None:
        """Estimate the answer model from the predictions in the window."""
        if self.n_answers:
            at = self._at.copy()
            prior = _PRIOR_MEAN, _PRIOR_SPREAD**-2.0
            self._believe(at, compiled.estimate(self.window, self.n_answers, self.discount, *prior, at))
        self.next_estimate = max(self.n_answers + 5, int((1.0 + _ESTIMATE_SHARE) * self.n_answers))

    def with_window(self, window: NDArray[np.float32]) -> Self:
        """The same evidence with an answer model that is estimated from other predictions.

        The two share their sums and bins, so only one of them may go on.
        """
        other = copy.copy(self)
        other.window = window
        other.estimate()
        return other

    @property
    def lapse(self) -> Lapse:
        """The lapse of the estimated answer model, with a 95 % interval."""
        return _lapse(self._at[2], math.sqrt(self._covariance[2, 2]))

    @property
    def discounted_loss(self) -> float:
        """The discounted loss, in nats. Smaller is better."""
        return float(self.sums[compiled.LOSS])

    @property
    def weight(self) -> float:
        """Sum of the discounted weights: the effective number of answers."""
        return float(self.sums[compiled.WEIGHT])

    @property
    def error(self) -> float:
        """Share of wrong predictions, in which recent answers count most; NaN before the first answer."""
        return float(self.sums[compiled.ERROR] / self.weight) if self.weight else float("nan")

    @property
    def loss(self) -> float:
        """Mean loss in nats, in which recent answers count most; NaN before the first answer."""
        return self.discounted_loss / self.weight if self.weight else float("nan")

    def reliability(self) -> Reliability:
        """How often predictions were right, by confidence."""
        n = self.bins[:, 0]
        with np.errstate(invalid="ignore"):
            return Reliability(n.astype(np.int64), self.bins[:, 1] / n, self.bins[:, 2] / n)

    def copy(self, handicap: float = 0.0, fixed: AnswerModel | None = None) -> Self:
        """A copy with another answer model, whose loss is larger by ``handicap`` nats."""
        other = type(self)(self.discount, fixed)
        other._take(self.arrays())
        other.sums[compiled.LOSS] += handicap
        other.n_own = 0
        return other

    def under(self, fixed: AnswerModel | None) -> Self:
        """The same evidence, continued with another answer model; None estimates it."""
        if fixed == self.fixed:
            return self
        other = self.copy(fixed=fixed)
        other.n_own = self.n_own
        if fixed is None:
            other.estimate()
        return other

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, as arrays of numbers."""
        used = self.window[: self.n_answers]
        counts = np.array([self.n_answers, self.n_own, self.next_estimate])
        # In C order, so that the same evidence gives the same file.
        model = np.ascontiguousarray(np.vstack([self._at, self._covariance]))
        return {"sums": self.sums, "bins": self.bins, "window": used, "counts": counts, "answer_model": model}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], discount: float = 3.0, fixed: AnswerModel | None = None
    ) -> Self:
        """Restore evidence from its `arrays`."""
        evidence = cls(discount, fixed)
        evidence._take(arrays)
        return evidence

    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.sums = shaped(arrays, "sums", self.sums.shape)
        self.bins = shaped(arrays, "bins", self.bins.shape)
        self.n_answers, self.n_own, self.next_estimate = map(int, shaped(arrays, "counts", (3,), np.int64))
        used = (min(self.n_answers, _WINDOW), 2)
        self.window[: used[0]] = shaped(arrays, "window", used, np.float32)
        model = shaped(arrays, "answer_model", (4, 3))
        self._believe(model[0], model[1:])

"""Evidence: how good predictions were that were made before the answers were known, and how well calibrated."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled import evidence as compiled
from erkle.checks import shaped

Floats = NDArray[np.float64]

# A decision value is divided by one of these temperatures before it becomes a probability.
TEMPERATURES = np.geomspace(0.05, 20.0, 25)
# Number of bins of confidence, from 0.5 to 1.
_BINS = 10
# Penalty of each temperature, in nats. It keeps the temperature near 1 while there are few answers; otherwise the
# learner would be certain of everything after its first few correct predictions.
_PRIOR = 2.0 * np.log(TEMPERATURES) ** 2


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
    """Discounted sums of the logistic loss at each temperature, of errors and of weights; bins of confidence.

    Parameters
    ----------
    discount : float
        How fast old answers lose their weight. The weight of answer number j is proportional to j to this power.
    """

    def __init__(self, discount: float = 3.0) -> None:
        self.discount = discount
        self.sums = np.zeros(len(TEMPERATURES) + 2)
        self.bins = np.zeros((_BINS, 3))

    def add(self, excess: Floats, first: int) -> None:
        """Add predictions: the excess d_near - d_far of answers number ``first``, ``first + 1``, ..."""
        compiled.add_answers(
            np.ascontiguousarray(excess), first, self.discount, TEMPERATURES, _PRIOR, self.sums, self.bins
        )

    @property
    def discounted_loss(self) -> float:
        """The discounted loss at the best temperature, in nats. Smaller is better."""
        return float(self.sums[: compiled.ERROR].min())

    @property
    def temperature(self) -> float:
        """The temperature with the smallest loss; close to 1 while there are few answers."""
        return float(TEMPERATURES[np.argmin(self.sums[: compiled.ERROR] + _PRIOR)])

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

    def with_handicap(self, nats: float) -> Self:
        """A copy whose loss is larger by this many nats."""
        evidence = type(self)(self.discount)
        evidence.sums[:], evidence.bins[:] = self.sums, self.bins
        evidence.sums[: compiled.ERROR] += nats
        return evidence

    def at_every_temperature(self, nats: float) -> Self:
        """A copy with the same loss plus ``nats`` at every temperature.

        It is for a candidate whose decision values may have another scale, so that no temperature is preferred.
        """
        evidence = self.with_handicap(nats)
        evidence.sums[: compiled.ERROR] = self.discounted_loss + nats
        return evidence

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, as arrays of numbers."""
        return {"sums": self.sums, "bins": self.bins}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], discount: float = 3.0) -> Self:
        """Restore evidence from its `arrays`."""
        evidence = cls(discount)
        evidence.sums = shaped(arrays, "sums", evidence.sums.shape)
        evidence.bins = shaped(arrays, "bins", evidence.bins.shape)
        return evidence

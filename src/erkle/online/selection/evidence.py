"""Evidence: how good predictions were that were made before the answers were known, and how sure one may be."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled import evidence as compiled
from erkle.checks import shaped

Floats = NDArray[np.float64]

# Decision values are divided by one of these before they become probabilities.
TEMPERATURES = np.geomspace(0.05, 20.0, 25)
# Bins of confidence, from 0.5 to 1.
_BINS = 10
# Nats against a temperature far from 1, so that a learner is not sure of everything after the first answers.
_PRIOR = 2.0 * np.log(TEMPERATURES) ** 2


class Reliability(NamedTuple):
    """Answers by how sure the learner was of them before it knew them: bins of confidence from 0.5 to 1."""

    n_answers: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats

    @property
    def calibration_error(self) -> float:
        """Mean distance of confidence and accuracy over all answers; NaN without any."""
        weights, total = self.n_answers, self.n_answers.sum()
        if total == 0:
            return float("nan")
        gaps = np.abs(np.nan_to_num(self.confidence) - np.nan_to_num(self.accuracy))
        return float(weights @ gaps / total)


class Evidence:
    """Discounted sums of the logistic loss at each temperature, of errors and of weights, and bins of confidence.

    Parameters
    ----------
    discount : float
        How fast old answers lose their weight: the weight of an answer grows with its number to this power.
    """

    def __init__(self, discount: float = 3.0) -> None:
        self.discount = discount
        self.sums = np.zeros(len(TEMPERATURES) + 2)
        self.bins = np.zeros((_BINS, 3))

    def add(self, excess: Floats, first: int) -> None:
        """Add predictions: the excess d_near - d_far of answers in order, the first of which is numbered ``first``."""
        compiled.add_answers(
            np.ascontiguousarray(excess), first, self.discount, TEMPERATURES, _PRIOR, self.sums, self.bins
        )

    @property
    def discounted_loss(self) -> float:
        """The discounted loss at the best temperature, in nats: the smaller, the better."""
        return float(self.sums[: compiled.ERROR].min())

    @property
    def temperature(self) -> float:
        """The temperature at which the predictions have been best; close to 1 while there are few."""
        return float(TEMPERATURES[np.argmin(self.sums[: compiled.ERROR] + _PRIOR)])

    @property
    def weight(self) -> float:
        """Sum of all weights: how many answers the rest is about."""
        return float(self.sums[compiled.WEIGHT])

    @property
    def error(self) -> float:
        """Share of errors, the recent answers counting most; NaN before the first."""
        return float(self.sums[compiled.ERROR] / self.weight) if self.weight else float("nan")

    @property
    def loss(self) -> float:
        """Mean loss in nats, the recent answers counting most; NaN before the first."""
        return self.discounted_loss / self.weight if self.weight else float("nan")

    def reliability(self) -> Reliability:
        """How often the predictions were right, by how sure they were."""
        n = self.bins[:, 0]
        with np.errstate(invalid="ignore"):
            return Reliability(n.astype(np.int64), self.bins[:, 1] / n, self.bins[:, 2] / n)

    def with_handicap(self, nats: float) -> Self:
        """A copy whose loss is larger by so many nats."""
        evidence = type(self)(self.discount)
        evidence.sums[:], evidence.bins[:] = self.sums, self.bins
        evidence.sums[: compiled.ERROR] += nats
        return evidence

    def at_every_temperature(self, nats: float) -> Self:
        """The same for predictions of another size: no temperature is known to be better than the others."""
        evidence = self.with_handicap(nats)
        evidence.sums[: compiled.ERROR] = self.discounted_loss + nats
        return evidence

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of the state, as plain arrays of numbers."""
        return {"sums": self.sums, "bins": self.bins}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], discount: float = 3.0) -> Self:
        """The evidence that `arrays` came from."""
        evidence = cls(discount)
        evidence.sums = shaped(arrays, "sums", evidence.sums.shape)
        evidence.bins = shaped(arrays, "bins", evidence.bins.shape)
        return evidence

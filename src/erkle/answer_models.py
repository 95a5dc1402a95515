"""The answer model: how two distances become the probability of an answer.

The probability that a participant finds the anchor nearer to one object than to another is

    P = lapse + (1 - 2 lapse) σ(u(d_far) - u(d_near)),    u(d) = sensitivity ((1 + d)^power - 1) / power,

where d is a squared distance and σ the logistic function. The power says what people compare:

===== ================================ ==============================
power u(d)                             known as
===== ================================ ==============================
1     sensitivity · d                  squared distances: STE
½     2 sensitivity · (√(1 + d) - 1)   distances
0     sensitivity · log(1 + d)         ratios: t-STE
===== ================================ ==============================

The lapse is the share of answers that are slips. A slip is wrong whatever the distances are. It always enters in the
same way: a probability p without slips becomes lapse + (1 - 2 lapse) p.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from erkle.checks import compared_by_type

__all__ = ["RATIO", "SQUARES", "AnswerModel", "Lapse", "in_words"]

Floats = NDArray[np.float64]

# Larger squared distances are treated as this one, so that no power of them overflows.
_LARGEST = 1e100
# Smaller powers are treated as 0, where the formula would divide by 0.
_LEAST_POWER = 1e-12
# Powers below a bound, and what people with such a power seem to compare.
_COMPARED = ((0.25, "ratios of distances"), (0.75, "distances"), (math.inf, "squared distances"))
# A larger logit is treated as this one, so that its exponential does not underflow.
_LARGEST_LOGIT = 700.0


@compared_by_type
class AnswerModel(NamedTuple):
    """-log P, P = lapse + (1 - 2 lapse) σ(u(d_far) - u(d_near)), u(d) = sensitivity ((1 + d)^power - 1) / power.

    It is a loss like those of `erkle.losses`. With the default values it equals `STE`.

    Attributes
    ----------
    sensitivity : float
        How strongly answers follow the distances; above 0.
    power : float
        What people compare, from 0 (ratios) over 0.5 (distances) to 1 (squared distances).
    lapse : float
        Share of answers that are slips, from 0 to 0.499.

    Examples
    --------
    >>> from erkle import AnswerModel
    >>> AnswerModel(sensitivity=2.0, power=0.5, lapse=0.05).probability(d_near=1.0, d_far=100.0).round(3)
    np.float64(0.95)
    >>> print(AnswerModel(2.0, 0.4, 0.04))
    People seem to compare distances (power 0.4); about 4 % of answers are slips.
    """

    sensitivity: float = 1.0
    power: float = 1.0
    lapse: float = 0.0

    @staticmethod
    def highest() -> dict[str, float]:
        """Fields that may be 0, and their highest values. With a lapse of 0.5, answers would say nothing."""
        return {"power": 1.0, "lapse": 0.499}

    def value(self, d_near: float, d_far: float) -> float:
        """-log P, never negative."""
        z, _, _ = logit_and_slopes(self.sensitivity, self.power, d_near, d_far)
        tail = math.exp(-min(abs(z), _LARGEST_LOGIT))
        if z >= 0.0:
            return math.log((1.0 + tail) / (1.0 - self.lapse + self.lapse * tail))
        if self.lapse > 0.0:
            return math.log((1.0 + tail) / (self.lapse + (1.0 - self.lapse) * tail))
        return math.log(1.0 + tail) - z

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """The derivatives of -log P in ``d_near`` and in ``d_far``."""
        z, near, far = logit_and_slopes(self.sensitivity, self.power, d_near, d_far)
        tail = math.exp(-min(abs(z), _LARGEST_LOGIT))
        likely = 1.0 - self.lapse + self.lapse * tail if z >= 0.0 else self.lapse + (1.0 - self.lapse) * tail
        slope = (1.0 - 2.0 * self.lapse) * tail / ((1.0 + tail) * likely)
        return slope * near, -slope * far

    def logit(self, d_near: ArrayLike, d_far: ArrayLike) -> Floats:
        """u(d_far) - u(d_near) of each pair of squared distances: the logit of the answer without slips."""
        near, far = (np.log1p(np.clip(np.asarray(d, dtype=np.float64), 0.0, _LARGEST)) for d in (d_near, d_far))
        if self.power < _LEAST_POWER:
            return np.asarray(self.sensitivity * (far - near))
        grown = np.exp(self.power * near) * np.expm1(self.power * (far - near))
        return np.asarray(self.sensitivity * grown / self.power)

    def rises(self, d_near: ArrayLike, d_far: ArrayLike) -> tuple[Floats, Floats]:
        """The derivatives of u at each pair of squared distances."""
        near, far = (1.0 + np.clip(np.asarray(d, dtype=np.float64), 0.0, _LARGEST) for d in (d_near, d_far))
        return self.sensitivity * near ** (self.power - 1.0), self.sensitivity * far ** (self.power - 1.0)

    def probability(self, d_near: ArrayLike, d_far: ArrayLike) -> Floats:
        """The probability of the answer, for each pair of squared distances."""
        likely = scipy.special.expit(self.logit(d_near, d_far))
        return np.asarray(self.lapse + (1.0 - 2.0 * self.lapse) * likely)

    def __str__(self) -> str:
        return f"{self.comparison()}; {_slips(self.lapse)}."

    def comparison(self) -> str:
        """What people seem to compare, in words."""
        [compared] = [words for below, words in _COMPARED if self.power < below][:1]
        return f"People seem to compare {compared} (power {self.power:.1f})"


class Lapse(NamedTuple):
    """The share of answers that are slips, with a 95 % interval.

    >>> print(Lapse(0.04, 0.02, 0.06))
    about 4 % of answers are slips (2 to 6 %)
    """

    rate: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = 0 if self.high >= 0.01 else 1
        return f"{_slips(self.rate)} ({100 * self.low:.{digits}f} to {100 * self.high:.{digits}f} %)"


def in_words(model: AnswerModel, lapse: Lapse) -> str:
    """How people answer, in a sentence.

    >>> in_words(AnswerModel(2.0, 0.4, 0.04), Lapse(0.04, 0.02, 0.06))
    'People seem to compare distances (power 0.4); about 4 % of answers are slips (2 to 6 %).'
    """
    return f"{model.comparison()}; {lapse}."


def _slips(rate: float) -> str:
    return f"about {100 * rate:.0f} % of answers are slips" if rate >= 0.005 else "hardly any answers are slips"


def logit_and_slopes(sensitivity: float, power: float, d_near: float, d_far: float) -> tuple[float, float, float]:
    """u(d_far) - u(d_near), u'(d_near) and u'(d_far)."""
    near, far = 1.0 + min(d_near, _LARGEST), 1.0 + min(d_far, _LARGEST)
    log_near = math.log(near)
    log_ratio = math.log(far) - log_near
    if power < _LEAST_POWER:
        return sensitivity * log_ratio, sensitivity / near, sensitivity / far
    # `expm1` keeps the difference of two powers exact, however small the power is.
    scale, growth = sensitivity * math.exp(power * log_near), math.expm1(power * log_ratio)
    return scale * growth / power, scale / near, scale * (1.0 + growth) / far


# Ratios of distances, without slips: t-STE with three degrees of freedom, up to the scale of the map.
RATIO = AnswerModel(2.0, 0.0, 0.0)
# Squared distances, without slips: STE.
SQUARES = AnswerModel(1.0, 1.0, 0.0)

"""How many more answers for how much less error: a curve of errors before learning, carried on with its doubts.

Law: (error(m) - c) / (1/2 - error(m)) = a m^-b. After no answer a learner guesses, after very many c is left: what
people contradict each other in. In between the error falls as c + a m^-b does. All (c, a, b) that explain the errors
so far have a say, each as much as it explains them.
"""

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.online.record import Curve

Numbers = NDArray[np.float64]

# Excess errors of a model with a fixed number of parameters fall as 1 / m: b is near 1, by a factor of 1.5 or so.
_POWERS = np.geomspace(0.25, 4.0, 16)[:, None, None]
_SPREAD = 0.4
# What is left in the end, as a share of the error now. Any share is as likely as any other.
_LEFT = (np.arange(20)[:, None] + 0.5) / 20
# The beginning follows no law: the first tenth counts nothing, and the rest the more the later it is.
_FIRST = 0.1
# Nor does the rest follow it exactly: a bin never counts more than this many answers.
_ROUGHNESS = 2000.0
# Errors now, as log(e / (1/2 - e)): so many at once, between such bounds, and closer around the likely ones.
_N_ERRORS, _BOUNDS, _ZOOMS, _LIKELY = 32, (-14.0, 7.0), 3, 8.0
# Further than this many times the answers so far no curve tells anything: that is never.
_HORIZON = 1000.0
_QUANTILES = (0.1, 0.5, 0.9)


class Forecast(NamedTuple):
    """Further answers that an error takes; ``str`` of it is a sentence. Intervals hold the truth with 80 %.

    Attributes
    ----------
    target : float
        The error that is wanted.
    error, error_low, error_high : float
        The error now, and its interval.
    more, low, high : float
        How many more answers, and their interval: 0 if no more are needed, infinity if no number may be enough.
    """

    target: float
    error: float
    error_low: float
    error_high: float
    more: float
    low: float
    high: float

    def __str__(self) -> str:
        now = f"now {_per_cent(self.error)} ({100 * self.error_low:.1f} to {_per_cent(self.error_high)})"
        return f"{self._needed()}; {now}."

    def _needed(self) -> str:
        wanted, interval = f"an error of {_per_cent(self.target)}", f"{_about(self.low)} to {_about(self.high)}"
        if self.high == 0.0:
            return f"{wanted.capitalize()} is reached"
        if self.more == 0.0:
            return f"Perhaps {wanted} is reached ({interval} more answers)"
        if self.more < math.inf:
            return f"About {_about(self.more)} more answers ({interval}) for {wanted}"
        at_best = f" ({_about(self.low)} more at best)" if self.low < math.inf else ""
        return f"No number of answers seems to be enough for {wanted}{at_best}"


class _Posterior(NamedTuple):
    """Laws, each by the error now, what is left in the end and how fast it falls; and how likely each is."""

    error: Numbers
    left: Numbers
    power: Numbers
    weight: Numbers

    def growth(self, target: float) -> Numbers:
        """How many times as many answers as now, at least 1; infinity for a target that is never reached."""
        reached = np.minimum(target, self.error)
        with np.errstate(divide="ignore", over="ignore"):
            odds = np.maximum(reached - self.left, 0.0) / (0.5 - reached)
            growth: Numbers = ((self.error - self.left) / (0.5 - self.error) / odds) ** (1.0 / self.power)
        return np.where(growth > _HORIZON, np.inf, np.maximum(growth, 1.0))

    def quantiles(self, values: Numbers) -> list[float]:
        """The values below which a tenth, half and nine tenths of the weight lie."""
        order = np.argsort(values, axis=None, kind="stable")
        below = np.cumsum(self.weight.ravel()[order])
        found: list[float] = values.ravel()[order[np.searchsorted(below, below[-1] * np.array(_QUANTILES))]].tolist()
        return found


def forecast(curve: Curve, target: float, n_learned: int = 0) -> Forecast:
    """How many more answers it takes until the share of wrong predictions is down to ``target``.

    Parameters
    ----------
    curve : Curve
        Errors before learning, on questions drawn at random.
    target : float
        The error wanted, between 0 and 1.
    n_learned : int
        How many answers have been learned by now, if more than the curve tells of.

    Examples
    --------
    >>> m = np.arange(50, 2000, 100)
    >>> curve = Curve(m.astype(float), np.full(20, 100), (10 + 40 / (1 + m / 300)).astype(int))
    >>> print(forecast(curve, 0.14))
    About 360 more answers (0 to 8,900) for an error of 14.0 %; now 14.8 % (13.1 to 16.6 %).
    """
    if isinstance(target, bool) or not isinstance(target, Real) or not 0.0 < float(target) < 1.0:
        raise ValueError(f"target is {target!r}; pass a share of wrong predictions between 0 and 1.")
    if not isinstance(curve, Curve):
        raise TypeError(
            f"The curve is of type {type(curve).__name__}; pass the curve_ of a learner or the curve of an asker."
        )
    if not curve.n_answers.any():
        raise ValueError("There are no answers yet to tell the error from; learn some first.")
    now = max(float(n_learned), float(curve.n_learned.max()) + 1.0)
    laws = _posterior(curve, now)
    low, more, high = laws.quantiles(np.ceil(now * (laws.growth(float(target)) - 1.0)))
    error_low, error, error_high = laws.quantiles(laws.error)
    return Forecast(float(target), error, error_low, error_high, more, low, high)


def _posterior(curve: Curve, now: float) -> _Posterior:
    """Weights of a grid of laws, whose errors now close in on the likely ones."""
    late = curve.n_learned >= _FIRST * now
    passed = curve.n_learned[late] / now
    counted = passed / (1.0 + curve.n_answers[late] / _ROUGHNESS)
    bins = list(zip(passed, counted * curve.n_wrong[late], counted * curve.n_answers[late], strict=True))
    low, high = _BOUNDS
    for _ in range(_ZOOMS):
        x = np.linspace(low, high, _N_ERRORS)
        error = 0.5 / (1.0 + np.exp(-x))
        evidence = _evidence(error, bins)
        likely = np.flatnonzero(evidence.max(axis=(0, 1)) > evidence.max() - _LIKELY)
        low, high = x[max(likely[0] - 1, 0)], x[min(likely[-1] + 1, _N_ERRORS - 1)]
    error, left, power = np.broadcast_arrays(error, _LEFT * error, _POWERS)
    return _Posterior(error, left, power, np.exp(evidence - evidence.max()))


def _evidence(error: Numbers, bins: list[tuple[Any, ...]]) -> Numbers:
    """Logarithm of prior and likelihood, (n_powers, n_left, n_errors); errors now are uniform, and so x is not."""
    left = _LEFT * error
    odds = (0.5 - error) / (error - left)
    prior = np.log(error * (0.5 - error)) - 0.5 * (np.log(_POWERS) / _SPREAD) ** 2
    total: Numbers = prior + np.zeros_like(left)
    for passed, n_wrong, n_answers in bins:
        law = left + (0.5 - left) / (1.0 + odds * passed**_POWERS)
        total += n_wrong * np.log(law) + (n_answers - n_wrong) * np.log1p(-law)
    return total


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _about(number: float) -> str:
    """Two digits are as sure as it gets."""
    return f"{float(f'{number:.2g}'):,.0f}" if number < math.inf else "any number"

"""Forecasts: how many more answers it takes to reach an error, extrapolated from the errors so far.

The model is (error(m) - c) / (1/2 - error(m)) = a m^-b after m answers. Before the first answer the error is 1/2, a
guess. After very many answers the error is c, because people contradict each other; c is at least the share of slips.
In between it falls like c + a m^-b. The forecast averages over all (c, a, b), weighted by how well they explain the
errors so far.
"""

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.online.record import Curve

Numbers = NDArray[np.float64]

# Powers b on the grid.
_POWERS = np.geomspace(0.25, 4.0, 16)[:, None, None]
# Standard deviation of the prior of log b. Its mean is 0: the excess error of a model with a fixed number of
# parameters falls like 1 / m.
_SPREAD = 0.4
# Largest share of the current error that slips can account for; the estimate of the lapse has an error of its own.
_MOST_SLIPS = 0.9
# Final errors c on the grid, as a share of the way from the slips to the current error; all are equally likely.
_LEFT = (np.arange(20)[:, None] + 0.5) / 20
# Share of the answers at the beginning that is ignored, because early errors do not follow the model.
_FIRST = 0.1
# Largest number of answers that a bin counts as, because later errors follow the model only roughly.
_ROUGHNESS = 2000.0
# Number of current errors on the grid.
_N_ERRORS = 32
# Range of current errors on the first grid, as log(e / (1/2 - e)).
_BOUNDS = (-14.0, 7.0)
# Number of grids; each covers only the likely part of the one before.
_ZOOMS = 3
# Current errors within this many nats of the most likely one count as likely.
_LIKELY = 8.0
# A target that takes more than this many times the answers so far counts as out of reach.
_HORIZON = 1000.0
# Quantiles that are reported: the median and an 80 % interval.
_QUANTILES = (0.1, 0.5, 0.9)


class Forecast(NamedTuple):
    """How many more answers it takes to reach an error. ``str(forecast)`` says it in words.

    Attributes
    ----------
    target : float
        The error to reach.
    error, error_low, error_high : float
        The current error and its 80 % interval.
    more, low, high : float
        Number of further answers and its 80 % interval: 0 if the target is reached, infinity if it is out of reach.
    """

    target: float
    error: float
    error_low: float
    error_high: float
    more: float
    low: float
    high: float

    def __str__(self) -> str:
        interval = f"{100 * self.error_low:.1f} to {_per_cent(self.error_high)}"
        return f"{self._needed()}. The error is now {_per_cent(self.error)} ({interval})."

    def _needed(self) -> str:
        target = _per_cent(self.target)
        if self.high == 0.0:
            return f"The error has reached {target}"
        if self.more == 0.0:
            return f"The error has probably reached {target} ({self._interval()})"
        if self.more < math.inf:
            return f"About {_about(self.more)} more answers should reduce the error to {target} ({self._interval()})"
        return f"An error of {target} seems out of reach ({self._interval()})"

    def _interval(self) -> str:
        if self.high < math.inf:
            return f"{_about(self.low)} to {_about(self.high)} more answers"
        if self.low < math.inf:
            return f"at least {_about(self.low)} more answers" if self.low else "the number is very uncertain"
        return "with any number of answers"


class _Posterior(NamedTuple):
    """A grid of (current error, final error, power), with the weight of each point."""

    error: Numbers
    left: Numbers
    power: Numbers
    weight: Numbers

    def growth(self, target: float) -> Numbers:
        """The factor by which the number of answers must grow: at least 1, infinity if the target is out of reach."""
        reached = np.minimum(target, self.error)
        with np.errstate(divide="ignore", over="ignore"):
            odds = np.maximum(reached - self.left, 0.0) / (0.5 - reached)
            growth: Numbers = ((self.error - self.left) / (0.5 - self.error) / odds) ** (1.0 / self.power)
        return np.where(growth > _HORIZON, np.inf, np.maximum(growth, 1.0))

    def quantiles(self, values: Numbers) -> list[float]:
        """The weighted quantiles ``_QUANTILES`` of the values."""
        order = np.argsort(values, axis=None, kind="stable")
        below = np.cumsum(self.weight.ravel()[order])
        found: list[float] = values.ravel()[order[np.searchsorted(below, below[-1] * np.array(_QUANTILES))]].tolist()
        return found


def forecast(curve: Curve, target: float, n_learned: int = 0, lapse: float = 0.0) -> Forecast:
    """How many more answers it takes to reduce the share of wrong predictions to ``target``.

    Parameters
    ----------
    curve : Curve
        Errors before learning, on questions drawn at random.
    target : float
        The error to reach, between 0 and 1.
    n_learned : int
        Number of answers learned so far, if the curve covers only some of them.
    lapse : float
        Share of answers that are slips. No number of answers reduces the error below it.

    Examples
    --------
    >>> m = np.arange(50, 2000, 100)
    >>> curve = Curve(m.astype(float), np.full(20, 100), (10 + 40 / (1 + m / 300)).astype(int))
    >>> print(forecast(curve, 0.14))
    About 360 more answers should reduce the error to 14.0 % (0 to 8,900 more answers).
    The error is now 14.8 % (13.1 to 16.6 %).
    """
    if isinstance(target, bool) or not isinstance(target, Real) or not 0.0 < float(target) < 1.0:
        raise ValueError(f"target is {target!r}; pass a share of wrong predictions between 0 and 1.")
    if not isinstance(curve, Curve):
        raise TypeError(
            f"The curve is of type {type(curve).__name__}; pass the curve_ of a learner or the curve of an asker."
        )
    if not curve.n_answers.any():
        raise ValueError("There are no predictions to measure the error with; learn some answers first.")
    now = max(float(n_learned), float(curve.n_learned.max()) + 1.0)
    posterior = _posterior(curve, now, lapse)
    low, more, high = posterior.quantiles(np.ceil(now * (posterior.growth(float(target)) - 1.0)))
    error_low, error, error_high = posterior.quantiles(posterior.error)
    return Forecast(float(target), error, error_low, error_high, more, low, high)


def _posterior(curve: Curve, now: float, lapse: float) -> _Posterior:
    """The weights of a grid that is refined around the likely current errors."""
    late = curve.n_learned >= _FIRST * now
    passed = curve.n_learned[late] / now
    counted = passed / (1.0 + curve.n_answers[late] / _ROUGHNESS)
    bins = list(zip(passed, counted * curve.n_wrong[late], counted * curve.n_answers[late], strict=True))
    low, high = _BOUNDS
    for _ in range(_ZOOMS):
        x = np.linspace(low, high, _N_ERRORS)
        error = 0.5 / (1.0 + np.exp(-x))
        evidence = _evidence(error, _left(error, lapse), bins)
        likely = np.flatnonzero(evidence.max(axis=(0, 1)) > evidence.max() - _LIKELY)
        low, high = x[max(likely[0] - 1, 0)], x[min(likely[-1] + 1, _N_ERRORS - 1)]
    error, left, power = np.broadcast_arrays(error, _left(error, lapse), _POWERS)
    return _Posterior(error, left, power, np.exp(evidence - evidence.max()))


def _left(error: Numbers, lapse: float) -> Numbers:
    """Final errors between the share of slips and the current error, (n_left, n_errors)."""
    least = np.minimum(lapse, _MOST_SLIPS * error)
    return np.asarray(least + _LEFT * (error - least))


def _evidence(error: Numbers, left: Numbers, bins: list[tuple[Any, ...]]) -> Numbers:
    """The log of prior times likelihood, (n_powers, n_left, n_errors). The prior of the current error is uniform."""
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
    """The number with two significant digits."""
    return f"{float(f'{number:.2g}'):,.0f}"

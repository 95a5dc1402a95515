"""The law of errors: (error(m) - c) / (1/2 - error(m)) = (m / h)^-b after m answers, fitted to the errors so far.

Before the first answer the error is 1/2, a guess. In the end it is c, because people contradict each other; c is at
least the share of slips. After h answers it is halfway between the two. The same fit gives the error now and later
errors, so that they agree. It weights all (c, h, b) by how well they explain the errors so far, and by a prior.

The constants of the prior were chosen on the development seeds of `python -m benchmarks.stopping`, which reports on
other seeds and also on worlds that were never used for tuning.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.online.record import Curve

Numbers = NDArray[np.float64]

# Powers b on the grid, and the mean and standard deviation of the prior of log b.
_POWERS = np.geomspace(0.5, 2.5, 12)[:, None, None]
_POWER_MEAN, _POWER_SPREAD = math.log(1.1), 0.2
# Log of h per object on the grid, and its prior: a t distribution, whose heavy tails cost data sets little that need
# many more or many fewer answers than usual.
_HALFWAY = np.linspace(math.log(0.5), math.log(300.0), 36)[None, :, None]
_HALFWAY_MEAN, _HALFWAY_SPREAD, _HALFWAY_FREEDOM = math.log(4.5), 0.4, 4.0
# The prior of the final error c is proportional to (1 - 2c) to this power, so its mean is 0.1.
_AGREEMENT = 3.0
# The log of the prior, without that of the final error.
_PRIOR = -0.5 * ((np.log(_POWERS) - _POWER_MEAN) / _POWER_SPREAD) ** 2 - 0.5 * (_HALFWAY_FREEDOM + 1.0) * np.log1p(
    ((_HALFWAY - _HALFWAY_MEAN) / _HALFWAY_SPREAD) ** 2 / _HALFWAY_FREEDOM
)
# Largest share of the current error that slips can account for; the estimate of the lapse has an error of its own.
_MOST_SLIPS = 0.9
# Share of the answers at the beginning that is ignored, because early errors do not follow the law.
_FIRST = 0.1
# Largest number of predictions that a bin counts as, because the learner follows the law only roughly.
_ROUGHNESS = 1000.0
# Number of current errors on the grid.
_N_ERRORS = 24
# Range of current errors on the first grid, as log(e / (1/2 - e)).
_BOUNDS = (-14.0, 7.0)
# Number of grids; each covers only the likely part of the one before.
_ZOOMS = 3
# Current errors within this many nats of the most likely one count as likely.
_LIKELY = 8.0
# A target that takes more than this many times the answers so far counts as out of reach.
_HORIZON = 1000.0


class Fit(NamedTuple):
    """A grid of (power, halfway point, current error) after ``now`` answers, with the weight of each point.

    ``left`` is the final error c, and ``excess`` is (now / h)^-b.
    """

    now: float
    error: Numbers
    left: Numbers
    excess: Numbers
    power: Numbers
    weight: Numbers

    def errors(self, shares: list[float]) -> list[float]:
        """Quantiles of the current error."""
        return self._quantiles(self.error, shares)

    def more(self, target: float, shares: list[float]) -> list[float]:
        """Quantiles of the number of further answers: 0 if the target is reached, infinity if it is out of reach."""
        reached = np.minimum(target, self.error)
        with np.errstate(divide="ignore", over="ignore"):
            excess = np.maximum(reached - self.left, 0.0) / (0.5 - reached)
            growth = (self.excess / excess) ** (1.0 / self.power)
        growth = np.where(growth > _HORIZON, np.inf, growth)
        # Where the target is reached, rounding can leave a growth that is not exactly 1.
        more = np.where(self.error <= target, 0.0, np.ceil(self.now * np.maximum(growth - 1.0, 0.0)))
        return self._quantiles(more, shares)

    def _quantiles(self, values: Numbers, shares: list[float]) -> list[float]:
        order = np.argsort(values, axis=None, kind="stable")
        below = np.cumsum(self.weight.ravel()[order])
        found: list[float] = values.ravel()[order[np.searchsorted(below, below[-1] * np.array(shares))]].tolist()
        return found


def fit(curve: Curve, n_objects: int, n_learned: int, lapse: float) -> Fit:
    """Fit the law, on a grid that is refined around the likely current errors.

    Parameters
    ----------
    curve : Curve
        At least one error before learning.
    n_objects, n_learned : int
        Numbers of objects and of answers learned so far.
    lapse : float
        A lower bound of the share of answers that are slips.
    """
    now = max(float(n_learned), float(curve.n_learned.max()) + 1.0)
    late = curve.n_learned >= _FIRST * now
    passed = curve.n_learned[late] / now
    counted = passed / (1.0 + curve.n_answers[late] / _ROUGHNESS)
    bins = list(zip(passed, counted * curve.n_wrong[late], counted * curve.n_answers[late], strict=True))
    excess = np.exp(-_POWERS * (math.log(now / n_objects) - _HALFWAY))
    low, high = _BOUNDS
    for _ in range(_ZOOMS):
        x = np.linspace(low, high, _N_ERRORS)
        error = 0.5 / (1.0 + np.exp(-x))
        left = error - (0.5 - error) * excess
        evidence = _evidence(error, left, excess, np.minimum(lapse, _MOST_SLIPS * error), bins)
        likely = np.flatnonzero(evidence.max(axis=(0, 1)) > evidence.max() - _LIKELY)
        low, high = x[max(likely[0] - 1, 0)], x[min(likely[-1] + 1, _N_ERRORS - 1)]
    error, left, excess, power = np.broadcast_arrays(error, left, excess, _POWERS)
    return Fit(now, error, left, excess, power, np.exp(evidence - evidence.max()))


def _evidence(error: Numbers, left: Numbers, excess: Numbers, least: Numbers, bins: list[tuple[Any, ...]]) -> Numbers:
    """The log of prior times likelihood, (n_powers, n_halfway, n_errors); minus infinity if the law is impossible."""
    possible = left >= least
    final = np.where(possible, left, least)
    # The grid is even in log(e / (1/2 - e)), and the final error changes (1 + excess) times as fast as e.
    scale = np.log1p(excess) + np.log(error * (0.5 - error))
    total: Numbers = _PRIOR + _AGREEMENT * np.log1p(-2.0 * final) + scale
    for passed, n_wrong, n_answers in bins:
        then = excess * passed**-_POWERS
        law = (final + 0.5 * then) / (1.0 + then)
        total = total + n_wrong * np.log(law) + (n_answers - n_wrong) * np.log1p(-law)
    return np.where(possible, total, -np.inf)

"""Comparison of strategies: mean error curves with intervals, and the number of answers each strategy needs."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from erkle.simulation.study import Run

Floats = NDArray[np.float64]

# Bootstrap replicates of an interval.
_N_REPLICATES = 2000
# Answers per object; strategies are compared at the errors that the baseline has there.
_MARKS = (20.0, 40.0)


class Curve(NamedTuple):
    """Errors of several runs, at the moments that all of them have reached.

    Attributes
    ----------
    n_answers, per_object : (m,) arrays
        The moments, in answers and in answers per object.
    errors, estimates : (n_seeds, m) arrays
        Errors on test answers, and on held-out questions (NaN where there were none).
    """

    n_answers: Floats
    per_object: Floats
    errors: Floats
    estimates: Floats

    @classmethod
    def of(cls, runs: Sequence[Run], n_objects: int) -> Self:
        """The curve of runs that were measured at the same moments; some may have ended before others."""
        m = min(len(run.n_answers) for run in runs)
        if not m:
            raise ValueError(
                f"There are fewer answers than the {n_objects:,} objects; choose a data set with more answers."
            )
        n_answers = np.array(runs[0].n_answers[:m], np.float64)
        errors, estimates = (
            np.array([getattr(run, name)[:m] for run in runs], np.float64) for name in ("errors", "estimates")
        )
        return cls(n_answers, n_answers / n_objects, errors, estimates)

    @property
    def n_seeds(self) -> int:
        """Number of runs."""
        return len(self.errors)

    @property
    def error(self) -> Floats:
        """Mean error over seeds."""
        return np.asarray(self.errors.mean(axis=0))

    @property
    def estimate(self) -> Floats:
        """Mean of the held-out estimates over the seeds that have one; NaN where no seed has one."""
        n_finite = np.isfinite(self.estimates).sum(axis=0)
        total = np.nansum(self.estimates, axis=0)
        return np.asarray(np.divide(total, n_finite, out=np.full(len(total), math.nan), where=n_finite > 0))

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """The 95 % interval of the mean (Student's t), cut to 0 and 1; NaN for a single seed."""
        n = self.n_seeds
        if n < 2:
            unknown = np.full(len(self.n_answers), math.nan)
            return unknown, unknown
        half = scipy.stats.t.ppf(0.975, n - 1) * self.errors.std(axis=0, ddof=1) / math.sqrt(n)
        return np.maximum(self.error - half, 0.0), np.minimum(self.error + half, 1.0)

    def at(self, per_object: float) -> float:
        """Mean error at this number of answers per object; NaN if it was not measured there."""
        place = np.flatnonzero(np.isclose(self.per_object, per_object))
        return float(self.error[place[0]]) if len(place) else math.nan

    def among(self, seeds: NDArray[np.int64]) -> Self:
        """The curve of some of the seeds; a seed may occur several times."""
        return self._replace(errors=self.errors[seeds], estimates=self.estimates[seeds])


class Ratio(NamedTuple):
    """The answers that the baseline needs, divided by the answers that a strategy needs for the same error.

    Attributes
    ----------
    per_object : float
        Answers per object of the baseline.
    error : float
        Error of the baseline at that moment.
    value, low, high : float
        The ratio and its 95 % interval. It is above 1 if the strategy needs fewer answers, and 0 if the strategy never
        reaches the error. The bounds are NaN for a single seed.
    """

    per_object: float
    error: float
    value: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The ratio and its interval as text.

        >>> Ratio(20.0, 0.1, 1.5, 1.25, 1.75).text, Ratio(20.0, 0.1, 0.0, 0.0, 0.9).text
        ('1.50 (1.25–1.75)', 'not reached')
        """
        if not self.value:
            return "not reached"
        if math.isnan(self.low):
            return f"{self.value:.2f}"
        low = f"{self.low:.2f}–" if self.low else "up to "
        return f"{self.value:.2f} ({low}{self.high:.2f})"


def answers_to(curve: Curve, error: float) -> float:
    """Number of answers until the mean error first falls to this value; infinity if it never does.

    Between two moments the logarithm of the error is interpolated linearly, or the error itself if it falls to 0.

    >>> curve = Curve.of([Run([10, 20, 30], [0.4, 0.2, 0.05], 3 * [0.0], [])], n_objects=10)
    >>> answers_to(curve, 0.2), answers_to(curve, 0.1), answers_to(curve, 0.01)
    (20.0, 25.0, inf)
    """
    reached = np.flatnonzero(curve.error <= error)
    if not len(reached):
        return math.inf
    i = int(reached[0])
    if i == 0:
        return float(curve.n_answers[0])
    before, after = curve.error[i - 1 : i + 1].tolist()
    log_linear = after > 0.0
    fraction = math.log(before / error) / math.log(before / after) if log_linear else (before - error) / before
    return float(curve.n_answers[i - 1] + fraction * (curve.n_answers[i] - curve.n_answers[i - 1]))


def compare(baseline: Curve, curve: Curve, random_state: int = 0) -> list[Ratio]:
    """Ratios of the answers needed, at the errors that the baseline has after 20 and 40 answers per object.

    Shorter runs are compared at their end. Intervals are percentiles of a bootstrap over seeds. Both curves have the
    same instance for a seed, so each replicate takes the same seeds from both.
    """
    found = []
    for mark in [mark for mark in _MARKS if not math.isnan(baseline.at(mark))] or [float(baseline.per_object[-1])]:

        def ratio(seeds: NDArray[np.int64], mark: float = mark) -> float:
            return _ratio(baseline.among(seeds), curve.among(seeds), mark)

        low, high = interval(ratio, baseline.n_seeds, random_state)
        found.append(Ratio(mark, baseline.at(mark), _ratio(baseline, curve, mark), low, high))
    return found


def interval(
    statistic: Callable[[NDArray[np.int64]], float], n_seeds: int, random_state: int = 0
) -> tuple[float, float]:
    """The 95 % bootstrap interval of a statistic of the seeds; NaN for a single seed."""
    if n_seeds < 2:
        return math.nan, math.nan
    draws = np.random.default_rng(random_state).integers(0, n_seeds, (_N_REPLICATES, n_seeds))
    low, high = np.quantile([statistic(seeds) for seeds in draws], [0.025, 0.975]).tolist()
    return low, high


def _ratio(baseline: Curve, curve: Curve, mark: float) -> float:
    """The ratio at one mark; 0 if the curve never reaches the error."""
    error = baseline.at(mark)
    return answers_to(baseline, error) / answers_to(curve, error)

"""Strategies against each other: mean curves with their intervals, and how many answers each needs for an error."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from erkle.simulation.running import Course

Floats = NDArray[np.float64]

_N_REPLICATES = 2000
# Errors to compare at are those of the baseline after so many answers an object.
_MARKS = (20.0, 40.0)


class Curve(NamedTuple):
    """What some courses have come to, at moments that all of them have reached.

    Attributes
    ----------
    n_answers, per_object : (m,) arrays
        The moments, in answers and in answers an object.
    errors, estimates : (n_seeds, m) arrays
        On test answers, and on held-out questions (NaN where there were none).
    """

    n_answers: Floats
    per_object: Floats
    errors: Floats
    estimates: Floats

    @classmethod
    def of(cls, courses: Sequence[Course], n_objects: int) -> Self:
        """The curve of courses that were measured at the same moments; some may have ended before others."""
        m = min(len(course.n_answers) for course in courses)
        if not m:
            raise ValueError(f"There are fewer answers than the {n_objects:,} objects; choose another world.")
        n_answers = np.array(courses[0].n_answers[:m], np.float64)
        errors, estimates = (
            np.array([getattr(course, name)[:m] for course in courses], np.float64) for name in ("errors", "estimates")
        )
        return cls(n_answers, n_answers / n_objects, errors, estimates)

    @property
    def n_seeds(self) -> int:
        """Number of courses."""
        return len(self.errors)

    @property
    def error(self) -> Floats:
        """Mean over seeds."""
        return np.asarray(self.errors.mean(axis=0))

    @property
    def estimate(self) -> Floats:
        """Mean of the held-out estimates of those seeds that have one; NaN where none has."""
        n_there = np.isfinite(self.estimates).sum(axis=0)
        total = np.nansum(self.estimates, axis=0)
        return np.asarray(np.divide(total, n_there, out=np.full(len(total), math.nan), where=n_there > 0))

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """The 95 % interval of the mean, by Student's t, within 0 and 1; NaN for a single seed."""
        n = self.n_seeds
        if n < 2:
            nowhere = np.full(len(self.n_answers), math.nan)
            return nowhere, nowhere
        half = scipy.stats.t.ppf(0.975, n - 1) * self.errors.std(axis=0, ddof=1) / math.sqrt(n)
        return np.maximum(self.error - half, 0.0), np.minimum(self.error + half, 1.0)

    def at(self, per_object: float) -> float:
        """Mean error at the moment of so many answers an object; NaN if there is none."""
        place = np.flatnonzero(np.isclose(self.per_object, per_object))
        return float(self.error[place[0]]) if len(place) else math.nan

    def among(self, seeds: NDArray[np.int64]) -> Self:
        """The curve of some seeds, which may be repeated."""
        return self._replace(errors=self.errors[seeds], estimates=self.estimates[seeds])


class Ratio(NamedTuple):
    """How many times as many answers the baseline needs for the same error, with a 95 % interval.

    Attributes
    ----------
    per_object : float
        The error is the baseline's after so many answers an object.
    error : float
    value, low, high : float
        Above 1 the strategy needs fewer answers; 0 where it does not come to that error at all. The bounds are NaN
        for a single seed.
    """

    per_object: float
    error: float
    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """The ratio for people.

        >>> Ratio(20.0, 0.1, 1.5, 1.25, 1.75).words, Ratio(20.0, 0.1, 0.0, 0.0, 0.9).words
        ('1.50 (1.25–1.75)', 'not reached')
        """
        if not self.value:
            return "not reached"
        if math.isnan(self.low):
            return f"{self.value:.2f}"
        low = f"{self.low:.2f}–" if self.low else "up to "
        return f"{self.value:.2f} ({low}{self.high:.2f})"


def answers_to(curve: Curve, error: float) -> float:
    """How many answers it takes until the mean error is this small for the first time; infinity if it never is.

    Between two moments the logarithm of the error is taken to fall evenly, or the error itself where it falls to 0.

    >>> curve = Curve.of([Course([10, 20, 30], [0.4, 0.2, 0.05], 3 * [0.0], [])], n_objects=10)
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
    """The ratios of answers needed, at errors that the baseline reaches at 20 and 40 answers an object.

    A shorter study is compared at its end. Intervals are percentiles of a bootstrap over seeds; a seed is one world for
    both, so the two are drawn together.
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
    """The 95 % interval of what is computed from some seeds, by bootstrap; NaN for a single seed."""
    if n_seeds < 2:
        return math.nan, math.nan
    draws = np.random.default_rng(random_state).integers(0, n_seeds, (_N_REPLICATES, n_seeds))
    low, high = np.quantile([statistic(seeds) for seeds in draws], [0.025, 0.975]).tolist()
    return low, high


def _ratio(baseline: Curve, curve: Curve, mark: float) -> float:
    """0 where the curve never reaches the error: it needs infinitely many answers."""
    error = baseline.at(mark)
    return answers_to(baseline, error) / answers_to(curve, error)

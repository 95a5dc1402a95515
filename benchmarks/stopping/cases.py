"""Forecasts compared with what a study really needed.

A study is stopped at a moment, and the forecast is asked for a target: a share of the error that it estimates, or an
absolute error. The truth is the number of further answers after which the true error of the same study has reached the
target. The true error is smoothed first, because it fluctuates: it never rises (isotonic regression).

A study ends after some number of answers, so some targets are not reached. Truth and forecast are therefore compared up
to the end of the study: "more than there are" is right if the target is not reached.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from benchmarks.stopping.studies import Study
from erkle.online.forecast import Forecast, TooEarly, forecast
from erkle.online.record import Curve

# Targets as shares of the estimated error, and absolute targets; only those below the estimated error are asked for.
_SHARES = (0.9, 0.8, 0.65, 0.5)
_ERRORS = (0.25, 0.2, 0.15, 0.1)


class Case(NamedTuple):
    """A forecast and the truth; ``end`` is the number of further answers in the study, ``error`` the true error."""

    forecast: Forecast
    truth: float
    end: int
    error: float

    @property
    def reached(self) -> bool:
        """Whether the study reached the target after the forecast and before its end."""
        return 0.0 < self.truth < self.end

    @property
    def inside(self) -> bool:
        """Whether the interval holds the truth, as far as the study goes."""
        return min(self.forecast.low, self.end) <= self.truth <= self.forecast.high

    @property
    def ratio(self) -> float:
        """The forecast over the truth."""
        return self.forecast.more / self.truth


def cases(study: Study, moment: int) -> list[Case]:
    """The cases of a study that is stopped at a moment; none if it is too early for a forecast."""
    n = int(study.n_objects)
    now, end = moment * n, len(study.wrong) - moment * n
    place = int(np.searchsorted(study.at, now))
    smooth = isotonic_regression(study.errors, increasing=False)
    before = np.flatnonzero(study.held_out[:now])
    told = partial(forecast, Curve.of(before, study.wrong[before]), n, now, float(study.lapses[place, 1]))
    estimate = told()
    if isinstance(estimate, TooEarly):
        return []
    found = []
    for target in [share * estimate.error for share in _SHARES] + [e for e in _ERRORS if e < estimate.error]:
        truth = answers_to(study, smooth, target) - now
        found.append(Case(told(target=target), min(max(truth, 0.0), end), end, float(smooth[place])))
    return found


def answers_to(study: Study, smooth: np.ndarray, target: float) -> float:
    """The number of answers after which the smoothed error has reached the target, between two measurements."""
    after = int(np.argmax(smooth <= target))
    if smooth[after] > target:
        return math.inf
    if after == 0:
        return float(study.at[0])
    left, right = study.at[after - 1 : after + 1]
    part = (smooth[after - 1] - target) / (smooth[after - 1] - smooth[after])
    return float(left * (right / left) ** part)

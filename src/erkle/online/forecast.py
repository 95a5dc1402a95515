"""Forecasts: the error now, and how many more answers it takes to reach a lower one.

The error is the share of answers to random questions that the learner predicts wrongly before it learns them. A random
question may have been asked before, as often as chance has it. The error now and the forecast come from one fit
(`erkle.online.error_law`). As long as there are too few answers for both, `forecast` returns `TooEarly`.
"""

import math
from numbers import Real
from typing import Any, NamedTuple

from erkle.online.error_law import fit
from erkle.online.record import Curve

# Fewest answers per object, and fewest predictions for random questions, for a forecast.
LEAST_PER_OBJECT = 5
LEAST_PREDICTED = 30
# The target if none is given, as a share of the current error.
_TARGET = 0.9
# Quantiles of an 80 % interval; and of one that leaves out all 20 % at one end.
_LOW, _MEDIAN, _HIGH = 0.1, 0.5, 0.9
_LOW_ALONE, _HIGH_ALONE = 0.2, 0.8


class TooEarly(NamedTuple):
    """There are too few answers to estimate the error. ``str(too_early)`` says so in a sentence.

    Attributes
    ----------
    n_learned, least_learned : int
        Number of answers learned, and the least number for a forecast.
    n_predicted, least_predicted : int
        Number of predictions for random questions, and the least number for a forecast.
    """

    n_learned: int
    least_learned: int
    n_predicted: int
    least_predicted: int

    def __str__(self) -> str:
        if self.n_learned < self.least_learned:
            return (
                f"It is too early to estimate the error: {self.n_learned:,} of at least {self.least_learned:,} answers "
                f"({LEAST_PER_OBJECT} per object) are learned."
            )
        return (
            f"It is too early to estimate the error: {self.n_predicted:,} of at least {self.least_predicted:,} answers "
            "to random questions are predicted."
        )

    def record(self) -> dict[str, Any]:
        """All numbers and the sentence, as JSON can hold them."""
        return {"kind": "too-early", "sentence": str(self), **self._asdict()}


class Forecast(NamedTuple):
    """How many more answers it takes to reach an error. ``str(forecast)`` says it in words.

    Attributes
    ----------
    target : float
        The error to reach.
    error, error_low, error_high : float
        The current error and its 80 % interval.
    more, low, high : float
        Number of further answers and its 80 % interval: 0 if the target is reached, infinity if it is out of reach. An
        interval from 0 or to infinity leaves out 20 % at the other end.
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

    def record(self) -> dict[str, Any]:
        """All numbers and the sentence, as JSON can hold them: None is infinity."""
        numbers = {name: None if value == math.inf else value for name, value in self._asdict().items()}
        return {"kind": "forecast", "sentence": str(self), **numbers}

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


def forecast(
    curve: Curve, n_objects: int, n_learned: int = 0, lapse: float = 0.0, target: float | None = None
) -> Forecast | TooEarly:
    """The error now, and how many more answers it takes to reduce it to ``target``.

    Parameters
    ----------
    curve : Curve
        Errors before learning, on questions drawn at random.
    n_objects : int
        Number of objects.
    n_learned : int
        Number of answers learned so far, if the curve covers only some of them.
    lapse : float
        Share of answers that are slips. No number of answers reduces the error below it.
    target : float or None
        The error to reach, between 0 and 1. None is a tenth less than the current error.

    Examples
    --------
    >>> import numpy as np
    >>> m = np.arange(50, 2000, 100)
    >>> curve = Curve(m.astype(float), np.full(20, 100), (10 + 40 / (1 + m / 300)).astype(int))
    >>> print(forecast(curve, 50, target=0.14))
    About 630 more answers should reduce the error to 14.0 % (0 to 4,600 more answers).
    The error is now 15.0 % (13.2 to 16.8 %).
    >>> print(forecast(curve, 1000))
    It is too early to estimate the error: 1,951 of at least 5,000 answers (5 per object) are learned.
    """
    if target is not None and (isinstance(target, bool) or not isinstance(target, Real) or not 0.0 < target < 1.0):
        raise ValueError(f"target is {target!r}; pass a share of wrong predictions between 0 and 1.")
    if not isinstance(curve, Curve):
        raise TypeError(
            f"The curve is of type {type(curve).__name__}; pass the curve_ of a learner or the curve of an asker."
        )
    n_predicted = int(curve.n_answers.sum())
    n_learned = max(n_learned, math.ceil(curve.n_learned.max(initial=-1.0)) + 1)
    least_learned = LEAST_PER_OBJECT * n_objects
    if n_learned < least_learned or n_predicted < LEAST_PREDICTED:
        return TooEarly(n_learned, least_learned, n_predicted, LEAST_PREDICTED)
    fitted = fit(curve, n_objects, n_learned, lapse)
    error_low, error, error_high = fitted.errors([_LOW, _MEDIAN, _HIGH])
    wanted = _TARGET * error if target is None else float(target)
    low, low_alone, more, high_alone, high = fitted.more(wanted, [_LOW, _LOW_ALONE, _MEDIAN, _HIGH_ALONE, _HIGH])
    if high == math.inf:
        low = low_alone
    if low == 0.0:
        high = high_alone
    return Forecast(wanted, error, error_low, error_high, more, low, high)


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _about(number: float) -> str:
    """The number with two significant digits."""
    return f"{float(f'{number:.2g}'):,.0f}"

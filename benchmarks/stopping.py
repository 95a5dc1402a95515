"""`python -m benchmarks.stopping`: the accuracy of the number of answers that `answers_needed` forecasts.

A learner stops at one moment and forecasts how many more answers it needs for a certain error: the error that it really
has after twice as many answers. The correct forecast is therefore the number of answers so far. Errors are measured on
answers that are never learned.
"""

import os

# One BLAS thread. It must be set before a BLAS is loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import markdown
from erkle import ERKLE, AnswerModel, triplets
from erkle.datasets import answered, load
from erkle.online.forecast import Forecast, forecast
from erkle.online.record import Curve

_SEEDS = range(10)
# Answers per object; the forecast at each moment is checked at the next one, which is twice as late.
_MOMENTS = (10, 20, 40)
_OBJECTS, _TEST = 90, 40_000
_PEOPLE = AnswerModel(2.0, power=0.5)


class Case(NamedTuple):
    """The forecast of a learner at one moment, its error there, and how many more answers it really needed."""

    forecast: Forecast
    error: float
    truth: int


def main() -> None:
    rows: list[list[str]] = []
    everything: list[Case] = []
    for name, stream in {"points, d = 2, sensitivity 2": points, "zappos85": zappos}.items():
        runs = [list(cases(*stream(seed), seed)) for seed in _SEEDS]
        for moment, found in zip(_MOMENTS, zip(*runs, strict=True), strict=False):
            rows.append(row(f"{name}, {moment} answers per object", list(found)))
            everything += found
    header = [
        "data and moment",
        "cases",
        "truth in interval",
        "forecast / truth, median",
        "no upper bound",
        "error at that moment in interval",
    ]
    print(markdown(header, [*rows, row("all", everything)]))


def row(name: str, found: list[Case]) -> list[str]:
    shares = (
        np.mean([case.forecast.low <= case.truth <= case.forecast.high for case in found]),
        np.mean([case.forecast.high == math.inf for case in found]),
        np.mean([case.forecast.error_low <= case.error <= case.forecast.error_high for case in found]),
    )
    inside, endless, now = (f"{share:.0%}" for share in shares)
    ratio = np.median([case.forecast.more / case.truth for case in found])
    return [name, str(len(found)), inside, f"{ratio:.2f}", endless, now]


def points(seed: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """The number of objects, answers to learn and test answers: points in the plane."""
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((_OBJECTS, 2))
    T = triplets.sample(_OBJECTS, _OBJECTS * _MOMENTS[-1] + _TEST, rng)
    T = answered(T, X, _PEOPLE, rng)
    return _OBJECTS, T[:-_TEST], T[-_TEST:]


def zappos(seed: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """The number of objects, answers to learn and test answers: people's answers in random order."""
    dataset = load("zappos85")
    T = np.random.default_rng([seed, 2]).permutation(dataset.triplets)
    return len(dataset.names), T[:-_TEST], T[-_TEST:]


def cases(n_objects: int, train: NDArray[np.int64], test: NDArray[np.int64], seed: int) -> Iterator[Case]:
    learner = ERKLE(n_objects, random_state=seed)
    before: tuple[Curve, float] | None = None
    for start, moment in pairwise((0, *_MOMENTS)):
        learner.partial_fit(train[start * n_objects : moment * n_objects])
        error = 1.0 - learner.score(test)
        if before is not None:
            curve, earlier = before
            yield Case(forecast(curve, error, start * n_objects), earlier, (moment - start) * n_objects)
        before = learner.curve_, error


if __name__ == "__main__":
    main()

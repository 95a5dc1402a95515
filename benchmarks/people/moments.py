"""Accuracy at every moment, and calibration at the last: the learner told nothing beside the best batch embedding."""

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.people.keeping import Unit
from benchmarks.people.streams import PER_OBJECT, Stream, stream
from erkle import ERKLE, TripletEmbedding

_RANKS, _RIDGES = (2, 3, 5, 10, 20), (1e-3, 1e-2, 1e-1, 1.0)
_N_BINS = 10
# What 300 answers cost varies by a third from one turn to the next where others use the machine.
_TURNS = 3


def learner(name: str, seed: int) -> dict[str, Any]:
    """Error and CPU seconds so far at each size, the least of some turns; calibration at the last."""
    data = stream(name, seed)
    turns = [_learn_along(data, seed) for _ in range(_TURNS)]
    model, errors, _ = turns[-1]
    near = model.predict_proba(data.test)[:, 1]
    return {
        "sizes": {size: [errors[size], min(seconds[size] for _, _, seconds in turns)] for size in data.sizes},
        "setting": next(row.setting for row in model.selection_ if row.status == "leads"),
        "calibration": calibration_error(near),
        "own calibration": model.reliability_.calibration_error,
    }


def _learn_along(data: Stream, seed: int) -> tuple[ERKLE, dict[int, float], dict[int, float]]:
    """The learner at the end, its errors and its CPU seconds so far by size."""
    model, seen, total = ERKLE(data.n_objects, random_state=1000 + seed), 0, 0.0
    errors, seconds = {}, {}
    for size in data.sizes:
        start = time.process_time()
        model.partial_fit(data.train[seen:size])
        total += time.process_time() - start
        seen, errors[size], seconds[size] = size, 1.0 - model.score(data.test), total
    return model, errors, seconds


def calibration_error(near: NDArray[np.float64]) -> float:
    """Mean distance of confidence and accuracy, by tenths of confidence from 0.5 to 1."""
    confidence, right = np.maximum(near, 1.0 - near), near > 0.5
    bins = np.minimum(((confidence - 0.5) * 2 * _N_BINS).astype(np.int64), _N_BINS - 1)
    gaps = np.bincount(bins, confidence - right, minlength=_N_BINS)
    return float(np.abs(gaps).sum() / len(near))


def oracle(name: str, seed: int, size: int) -> float:
    """The lowest held-out error of twenty batch fits of the same answers."""
    data = stream(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Iterations that run out.
        return min(_batch_error(data, seed, size, rank, ridge) for rank in _RANKS for ridge in _RIDGES)


def _batch_error(data: Stream, seed: int, size: int, rank: int, ridge: float) -> float:
    # Not the seed of the data: a start drawn like the data would be the truth.
    rng = np.random.default_rng([seed, 77])
    fit = TripletEmbedding(data.n_objects, rank, ridge=ridge, max_iter=300, tol=1e-6, random_state=rng)
    return 1.0 - fit.fit(data.train[:size]).score(data.test)


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    learners = [Unit(learner, (name, seed)) for seed in range(n_seeds) for name in names]
    oracles = [
        Unit(oracle, (name, seed, size), batch=True)
        for seed in range(n_seeds)
        for name in names
        for size in sizes(name, quick)
    ]
    return learners + oracles


def sizes(name: str, quick: bool) -> dict[int, str]:
    """The moments that are compared, in words; the first split stands for all, which differ by a few answers."""
    wanted = [f"{PER_OBJECT[1]} an object", "10,000", "all"]
    return {size: words for size, words in stream(name, 0).sizes.items() if not quick or words in wanted}

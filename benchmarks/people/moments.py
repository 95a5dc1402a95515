"""Errors, log losses and calibration of the default learner at several moments, and the best batch embedding."""

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.people.cached_results import Unit
from benchmarks.people.streams import N_ANSWERS, PER_OBJECT, Stream, flipped, stream
from erkle import ERKLE, TripletEmbedding

_RANKS, _RIDGES = (2, 3, 5, 10, 20), (1e-3, 1e-2, 1e-1, 1.0)
# Points whose answers are turned round, and the share of these answers.
SLIPS = (("gaussian2", 0.1), ("gaussian5", 0.2))
_N_BINS = 10
# Repetitions, of which the fastest counts: on a shared machine the time of 300 answers varies by a third.
_REPETITIONS = 3


def learner(name: str, seed: int) -> dict[str, Any]:
    """Error, log loss, calibration error and CPU seconds so far at each size, and what was learned at the end."""
    data = stream(name, seed)
    repetitions = [_learn(data, seed) for _ in range(_REPETITIONS)]
    model, measured, _ = repetitions[-1]
    return {
        "sizes": {size: [*measured[size], min(seconds[size] for _, _, seconds in repetitions)] for size in data.sizes},
        "setting": next(row.setting for row in model.selection_ if row.status == "leads"),
        "answer model": list(model.answer_model_),
        "own calibration": model.reliability_.calibration_error,
    }


def _learn(data: Stream, seed: int) -> tuple[ERKLE, dict[int, list[float]], dict[int, float]]:
    """The final learner; by size its error, log loss and calibration error; and its CPU seconds so far by size."""
    model, seen, total = ERKLE(data.n_objects, random_state=1000 + seed), 0, 0.0
    measured, seconds = {}, {}
    for size in data.sizes:
        start = time.process_time()
        model.partial_fit(data.train[seen:size])
        total += time.process_time() - start
        near = model.predict_proba(data.test)[:, 1]
        log_loss = float(-np.mean(np.log(np.maximum(near, 1e-12))))
        measured[size] = [1.0 - model.score(data.test), log_loss, calibration_error(near)]
        seen, seconds[size] = size, total
    return model, measured, seconds


def slips(name: str, seed: int, share: float) -> dict[str, float]:
    """Error against the truth, and the lapse that was found, after 10,000 answers of which a share is turned round."""
    data = flipped(name, seed, share)
    model = ERKLE(data.n_objects, random_state=1000 + seed).fit(data.train)
    return {"error": 1.0 - model.score(data.test), "lapse": model.lapse_.rate}


def calibration_error(near: NDArray[np.float64]) -> float:
    """Mean difference between confidence and accuracy, in ten bins of confidence from 0.5 to 1."""
    confidence, right = np.maximum(near, 1.0 - near), near > 0.5
    bins = np.minimum(((confidence - 0.5) * 2 * _N_BINS).astype(np.int64), _N_BINS - 1)
    gaps = np.bincount(bins, confidence - right, minlength=_N_BINS)
    return float(np.abs(gaps).sum() / len(near))


def best_batch(name: str, seed: int, size: int) -> float:
    """The lowest held-out error of twenty batch fits of the same answers."""
    data = stream(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some fits reach the limit of iterations.
        return min(_batch_error(data, seed, size, rank, ridge) for rank in _RANKS for ridge in _RIDGES)


def _batch_error(data: Stream, seed: int, size: int, rank: int, ridge: float) -> float:
    # Not the seed of the data: with that seed, the start would be the true points.
    rng = np.random.default_rng([seed, 77])
    fit = TripletEmbedding(data.n_objects, rank, ridge=ridge, max_iter=300, tol=1e-6, random_state=rng)
    return 1.0 - fit.fit(data.train[:size]).score(data.test)


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    learners = [Unit(learner, (name, seed)) for seed in range(n_seeds) for name in names]
    learners += [Unit(slips, (name, seed, share)) for name, share in SLIPS for seed in range(n_seeds)]
    best_batches = [
        Unit(best_batch, (name, seed, size), batch=True)
        for seed in range(n_seeds)
        for name in names
        for size in sizes(name, quick)
    ]
    return learners + best_batches


def sizes(name: str, quick: bool) -> dict[int, str]:
    """The numbers of answers at which learners are compared, each with its text.

    They are those of the first split; other splits differ by a few answers.
    """
    data = stream(name, 0)
    wanted = {PER_OBJECT[1] * data.n_objects, min(N_ANSWERS, len(data.train))}
    return {size: text for size, text in data.sizes.items() if not quick or size in wanted}

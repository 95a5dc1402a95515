"""Batch learners on the paper's small synthetic set: errors over a grid of trace weights, and CPU seconds.

The best of ten weights is chosen on the held-out answers, as in the paper, so its error is slightly too low.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.accuracy import sets
from benchmarks.data import markdown
from erkle import CKL, GNMDS, RCKL, SOE, STE, TSTE, Popularity, TripletEmbedding, triplets
from erkle.datasets import answered

TRIALS = 3
TRACES = (0.1, 0.3, 0.5, 1.0, 2.0, 4.0, 7.0, 10.0, 15.0, 30.0)
TASKS = {"1,000": (1_000, 0.0), "3,000": (3_000, 0.0), "10,000": (10_000, 0.0), "10,000, 20 % flipped": (10_000, 0.2)}


def run() -> Iterator[str]:
    T = triplets.sample(5, 20, 0)
    for loss in (STE(), GNMDS(), CKL(), TSTE(), SOE()):
        RCKL(5, loss).fit(T)
        TripletEmbedding(5, loss=loss).fit(T)
    yield _kernels()
    yield _losses()
    yield _maps()


def _kernels() -> str:
    rows = [_over_traces(name, n, flipped) for name, (n, flipped) in TASKS.items()]
    header = [
        "answers",
        "lowest error",
        "best trace weight",
        "error at weight 1",
        "popularity",
        "CPU s, all ten weights",
        "CPU s, best weight only",
    ]
    title = f"## Batch: RCKL with STE, n = 100, ten trace weights with warm starts, {TRIALS} trials"
    return title + "\n\n" + markdown(header, rows)


def _over_traces(name: str, n: int, flipped: float) -> list[str]:
    errors, seconds, popular = np.empty((TRIALS, len(TRACES))), np.empty((TRIALS, 2)), []
    for seed in range(TRIALS):
        train, test = task(n, flipped, seed)
        path, seconds[seed, 0] = _timed(lambda train=train: RCKL(100).fit_path(train, TRACES))
        errors[seed] = [1.0 - learner.score(test) for learner in path]
        best = TRACES[int(np.argmin(errors[seed]))]
        _, seconds[seed, 1] = _timed(lambda train=train, best=best: RCKL(100, trace=best).fit(train))
        popular.append(1.0 - Popularity(100).fit(train).score(test))
    mean = errors.mean(axis=0)
    best = int(np.argmin(mean))
    cells = [mean[best], mean[TRACES.index(1.0)], np.mean(popular)]
    return [
        name,
        f"{cells[0]:.3f}",
        f"{TRACES[best]:g}",
        *(f"{cell:.3f}" for cell in cells[1:]),
        *(f"{second:.2f}" for second in seconds.mean(axis=0)),
    ]


def _losses() -> str:
    train, test = task(10_000, 0.0, seed=0)
    rows = []
    for loss, trace in ((STE(), 1.0), (GNMDS(), 1.0), (GNMDS(), 10.0), (CKL(), 1.0)):
        learner, seconds = _timed(lambda loss=loss, trace=trace: RCKL(100, loss, trace, max_iter=3000).fit(train))
        cells = [f"{trace:g}", f"{1.0 - learner.score(test):.3f}", str(learner.n_iter_), f"{seconds:.2f}"]
        rows.append([type(loss).__name__, *cells])
    header = ["loss", "trace weight", "error", "iterations", "CPU s"]
    return "### Losses of RCKL, 10,000 answers, started from K = I\n\n" + markdown(header, rows)


def _maps() -> str:
    X = np.random.default_rng(5).standard_normal((100, 5))
    train, test = (answered(triplets.sample(100, 10_000, seed), X) for seed in (0, 1))
    rows = []
    for loss in (STE(), GNMDS(), CKL(), TSTE(), SOE()):
        fit = TripletEmbedding(100, 5, loss, ridge=0.1, random_state=0)
        learner, seconds = _timed(lambda fit=fit: fit.fit(train))
        rows.append([type(loss).__name__, f"{1.0 - learner.score(test):.3f}", str(learner.n_iter_), f"{seconds:.3f}"])
    header = ["loss", "error", "iterations", "CPU s"]
    title = "### TripletEmbedding: 10,000 answers about 100 points N(0, I) in R^5, five components, ridge 0.1"
    return title + "\n\n" + markdown(header, rows)


def task(n: int, flipped: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    train, test = sets(seed)
    right = np.random.default_rng([seed, 1]).random(n) >= flipped
    return triplets.orient(train[:n], right), test


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start

"""The paper's synthetic sets with 50 dimensions, where a low rank does not help; and flipped answers."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.batch import TASKS, TRACES, task
from benchmarks.people.cached_results import Unit
from benchmarks.people.streams import flipped
from erkle import ERKLE, RCKL, Dense, Popularity
from erkle.datasets import make_gaussian

_RIDGES = (0.5, 1.0, 2.0, 4.0, 8.0)


def small(seed: int, n_answers: int, share: float) -> float:
    """Error of the default learner, n = 100."""
    train, test = task(n_answers, share, seed)
    return 1.0 - ERKLE(100, random_state=1000 + seed).fit(train).score(test)


def small_batch(seed: int, n_answers: int, share: float) -> dict[str, Any]:
    """Errors of RCKL by trace weight and of popularity, n = 100."""
    train, test = task(n_answers, share, seed)
    path = [1.0 - fit.score(test) for fit in RCKL(100).fit_path(train, TRACES)]
    return {"RCKL": path, "popularity": 1.0 - Popularity(100).fit(train).score(test)}


def large(seed: int) -> dict[str, float]:
    """Errors of the default learner and of popularity, n = 5000."""
    train, test = _large_set(seed)
    model = ERKLE(5000, random_state=1000 + seed).fit(train)
    score = Popularity(5000).fit(train).decision_function(test)
    return {
        "error": 1.0 - model.score(test),
        "ties are errors": float(np.mean(score <= 0)),
        "ties are half": float(np.mean(score < 0) + np.mean(score == 0) / 2),
    }


def popularity_in_hindsight(seed: int) -> float:
    """Error of popularities fitted to the answers (Bradley-Terry), at the ridge that is best on the test answers."""
    train, test = (_near_less_far(T) for T in _large_set(seed))
    # Every second answer is reversed, because logistic regression needs two classes.
    signs = np.where(np.arange(train.shape[0]) % 2, -1.0, 1.0)
    errors = []
    for ridge in _RIDGES:
        fit = LogisticRegression(C=1.0 / ridge, fit_intercept=False, max_iter=1000)
        scores = fit.fit(scipy.sparse.diags(signs) @ train, signs).decision_function(test)
        errors.append(float(np.mean(scores < 0) + np.mean(scores == 0) / 2))
    return min(errors)


def _large_set(seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    T = make_gaussian(5000, 50, 110_000, random_state=seed).triplets
    return T[:10_000], T[10_000:]


def _near_less_far(T: NDArray[np.int64]) -> scipy.sparse.csr_matrix:
    """One row per answer: 1 in the column of the near object, -1 in the column of the far object."""
    rows = np.repeat(np.arange(len(T)), 2)
    return scipy.sparse.csr_matrix((np.tile([1.0, -1.0], len(T)), (rows, T[:, 1:].ravel())), (len(T), 5000))


def noisy(seed: int) -> dict[str, float]:
    """Errors against the truth after learning flipped answers: the default learner and PA-ERKLE."""
    data = flipped("gaussian5", seed, 0.2)
    models = {
        "default": ERKLE(data.n_objects, random_state=1000 + seed),
        "PA-ERKLE": ERKLE(data.n_objects, kernel=Dense()),
    }
    return {name: 1.0 - model.fit(data.train).score(data.test) for name, model in models.items()}


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    seeds = range(n_seeds)
    found = [Unit(f, (seed, n, s)) for f in (small, small_batch) for n, s in TASKS.values() for seed in seeds]
    return found + [Unit(f, (seed,)) for f in (large, popularity_in_hindsight, noisy) for seed in seeds]

"""Fit cblearn's STE, GNMDS, CKL and SOE to the tasks in a folder, and print the results as JSON.

`benchmarks.compare` runs this module in an environment with cblearn.
"""

import json
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cblearn.embedding import CKL, GNMDS, SOE, STE

from benchmarks.tuning import compare, load

_METHODS = {"STE": STE, "GNMDS": GNMDS, "CKL": CKL, "SOE": SOE}
_N_OBJECTS = 100
# Largest number of CPU seconds of one fit.
_LIMIT = 120
# Early stopping: the only regulariser that all four methods have.
_FEW = [{"max_iter": 5}, {"max_iter": 10}, {"max_iter": 20}]
_TUNED: dict[str, list[dict[str, Any]]] = {
    "STE": [*_FEW, {}, {"start": 0.1}, {"start": 0.1, "max_iter": 10}],
    "GNMDS": [*_FEW, {}, {"lambd": 1.0}, {"lambd": 3.0}, {"lambd": 10.0}],
    "CKL": [*_FEW, {}, {"mu": 1.0}, {"mu": 100.0}],
    "SOE": [*_FEW, {}, {"start": 0.1}, {"margin": 1.0}, {"margin": 1.0, "max_iter": 10}],
}


def main() -> None:
    signal.signal(signal.SIGPROF, _stop)
    learners = {f"cblearn {name}, default": {"defaults": partial(_default, name)} for name in _METHODS}
    for name, grid in _TUNED.items():
        learners[f"cblearn {name}, tuned"] = {_text(s): partial(_tuned, name, **s) for s in grid}
    print(json.dumps(list(compare(learners, load(Path(sys.argv[1]))))))


def _default(name: str, train: np.ndarray, seed: int):
    return _fitted(_METHODS[name](random_state=1000 + seed), train, None)


def _tuned(name: str, train: np.ndarray, seed: int, start: float = 0.01, **settings: Any):
    # Not the seed of the data: with that seed, the start would be the true points.
    X = start * np.random.default_rng([seed, 77, 5]).standard_normal((_N_OBJECTS, 50))
    return _fitted(_METHODS[name](n_components=50, **settings), train, X)


def _fitted(method, train: np.ndarray, X: np.ndarray | None):
    signal.setitimer(signal.ITIMER_PROF, _LIMIT)
    try:
        X = method.fit(train, init=X, n_objects=_N_OBJECTS).embedding_
    except TimeoutError:
        return lambda test: np.inf
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return partial(_error, X)


def _error(X: np.ndarray, test: np.ndarray) -> float:
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    a, b, c = test.T
    return float(np.mean(~(D[a, b] < D[a, c])))


def _stop(*_: object) -> None:
    raise TimeoutError


def _text(settings: dict[str, Any]) -> str:
    return (
        ", ".join(f"{key} {value:g}" for key, value in settings.items()) or "defaults, except for the start and d = 50"
    )


if __name__ == "__main__":
    main()

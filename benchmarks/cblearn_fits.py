"""Fit cblearn's methods to the tasks in a folder's subfolders "points" and "people", and print the results as JSON.

`benchmarks.compare` runs this module in an environment with cblearn. The methods run with SciPy, which is the default
of all but LORE.
"""

import json
import signal
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from cblearn.embedding import CKL, GNMDS, LORE, SOE, STE, TSTE

from benchmarks.tuning import Fitter, Task, compare, load

_METHODS = {
    "STE": STE,
    "TSTE": TSTE,
    "GNMDS": GNMDS,
    "CKL": CKL,
    "SOE": SOE,
    # Its default is PyTorch, which is not installed and gives nearly the same errors.
    "LORE": partial(LORE, backend="scipy"),
}
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
_DIMENSIONS = (1, 2, 3, 5, 10, 20)
# LORE reduces the number of dimensions by itself, so fewer values are worth trying.
_LORE_DIMENSIONS = (2, 5, 15)
# The values that `make compare` chose were never the smallest or the largest one.
_LORE_WEIGHTS = (0.003, 0.005, 0.01, 0.015, 0.02, 0.03)


def main() -> None:
    signal.signal(signal.SIGPROF, _stop)
    points, people = (load(Path(sys.argv[1]) / kind) for kind in ("points", "people"))
    fits = {
        "points": list(compare(_learners_of_points(), points)),
        "people": list(compare(_learners_of_people(), people, in_hindsight=True)),
    }
    print(json.dumps(fits))


def _learners_of_points() -> dict[str, dict[str, Fitter]]:
    tuned = {
        f"cblearn {name}, tuned": {
            _text(some) or "defaults, except for the start and d = 50": partial(_tuned, name, **some) for some in grid
        }
        for name, grid in _TUNED.items()
    }
    return {**_defaults(list(_TUNED)), **tuned}


def _learners_of_people() -> dict[str, dict[str, Fitter]]:
    dimensions = [{"n_components": d} for d in _DIMENSIONS]
    weights = [{"lamb": weight} for weight in _LORE_WEIGHTS]
    both = [{"lamb": weight, "n_components": d} for weight, d in product(_LORE_WEIGHTS, _LORE_DIMENSIONS)]
    return {
        **_defaults(list(_METHODS)),
        **{f"cblearn {name}, d in hindsight": _grid(name, dimensions) for name in _METHODS if name != "LORE"},
        "cblearn LORE, λ in hindsight": _grid("LORE", weights),
        "cblearn LORE, λ and d in hindsight": _grid("LORE", both),
    }


def _defaults(names: list[str]) -> dict[str, dict[str, Fitter]]:
    return {f"cblearn {name}, default": {"defaults": partial(_started_by_cblearn, name)} for name in names}


def _grid(name: str, grid: list[dict[str, Any]]) -> dict[str, Fitter]:
    return {_text(settings): partial(_started_by_cblearn, name, **settings) for settings in grid}


def _started_by_cblearn(name: str, task: Task, **settings: Any):
    return _fitted(_METHODS[name](random_state=1000 + task.seed, **settings), task, None)


def _tuned(name: str, task: Task, start: float = 0.01, **settings: Any):
    # Not the seed of the data: with that seed, the start would be the true points.
    X = start * np.random.default_rng([task.seed, 77, 5]).standard_normal((task.n_objects, 50))
    return _fitted(_METHODS[name](n_components=50, **settings), task, X)


def _fitted(method, task: Task, X: np.ndarray | None):
    signal.setitimer(signal.ITIMER_PROF, _LIMIT)
    try:
        X = method.fit(task.train, init=X, n_objects=task.n_objects).embedding_
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
    names = {"n_components": "d", "lamb": "λ"}
    return ", ".join(f"{names.get(key, key)} {value:g}" for key, value in settings.items())


if __name__ == "__main__":
    main()

"""`make compare`: compare erkle with cblearn 0.4 on the same answers, and write benchmarks/compare.md.

cblearn needs NumPy 1.26 and therefore an environment of its own. Both libraries run at the same time, each in one
process with one thread; times are CPU seconds. The first fit of each of our learners compiles code and is not measured.
People's answers are compared only if the environment variable ``ERKLE_DATA`` names a folder with the data sets.
"""

import os

# One thread, because algorithms are compared. It must be set before Numba and a BLAS are loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import compare_people
from benchmarks.batch import TASKS, TRACES, TRIALS, task
from benchmarks.comparison import report
from benchmarks.tuning import Fit, Fitter, Task, compare, load, save
from erkle import CKL, ERKLE, GNMDS, RCKL, SOE, STE, Dense, Popularity, TripletEmbedding

_ROOT = Path(__file__).parents[1]
_PYTHON = _ROOT / ".venv-cblearn" / "bin" / "python"
_N_POINTS = 100
# glibc keeps freed memory. Otherwise page faults triple the time of some fits of cblearn, depending on the fits before.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}


def main() -> None:
    _install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, tasks in (("points", _points()), ("people", compare_people.tasks())):
            for i, made in enumerate(tasks):
                save(made, folder / kind, i)
        command = [_PYTHON, "-m", "benchmarks.cblearn_fits", folder]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | _KEEP_MEMORY
        with subprocess.Popen(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True) as theirs:
            ours = _ours(folder)
            found, _ = theirs.communicate()
    if theirs.returncode:
        sys.exit(f"The fits of cblearn ended with status {theirs.returncode}; the reason is printed above.")
    fits = {kind: [*(Fit(*fit) for fit in some), *ours[kind]] for kind, some in json.loads(found).items()}
    text = report(fits["points"], fits["people"])
    print(text)
    Path(__file__).with_suffix(".md").write_text(text + "\n")


def _install() -> None:
    if not _PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", _ROOT / ".venv-cblearn"], check=True)
    wanted = ["cblearn==0.4.*", "numpy==1.26.*"]
    subprocess.run([_PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)


def _points() -> Iterable[Task]:
    for name, (n, flipped) in TASKS.items():
        for seed in range(TRIALS):
            yield Task(name, seed, _N_POINTS, *task(n, flipped, seed))


def _ours(folder: Path) -> dict[str, list[Fit]]:
    points, people = load(folder / "points"), load(folder / "people")
    learners = _learners()
    default = {"erkle ERKLE, default": {"defaults": partial(_fitted, ERKLE, seeded=True)}}
    tiny = [Task("tiny", 0, _N_POINTS, points[0].train[:50], points[0].test[:50])]
    list(compare({name: dict([next(iter(fitters.items()))]) for name, fitters in learners.items()}, tiny))
    # Fifty answers are too few to reach all compiled code of the default learner.
    list(compare(default, people[:1]))
    return {"points": list(compare(learners, points)), "people": list(compare(default, people))}


def _learners() -> dict[str, dict[str, Fitter]]:
    losses = {"STE": STE(), "GNMDS": GNMDS(), "CKL": CKL(), "SOE": SOE()}
    maps = {name: partial(_fitted, TripletEmbedding, loss=loss, seeded=True) for name, loss in losses.items()}
    return {
        **{f"erkle TripletEmbedding {name}, default": {"defaults": fit} for name, fit in maps.items()},
        **{f"erkle TripletEmbedding {name}, tuned": _grid("ridge", fit, n_components=50) for name, fit in maps.items()},
        "erkle RCKL STE, default": {"defaults": partial(_fitted, RCKL)},
        "erkle RCKL STE, tuned": _grid("trace", partial(_fitted, RCKL)),
        "erkle PA-ERKLE, one pass": {"defaults": partial(_fitted, ERKLE, kernel=Dense(), seeded=True)},
        "erkle PA-ERKLE, ten passes": {"defaults": partial(_fitted, ERKLE, kernel=Dense(), passes=10, seeded=True)},
        "erkle Popularity": {"defaults": partial(_fitted, Popularity)},
    }


def _grid(weight: str, fit: Fitter, **settings: Any) -> dict[str, Fitter]:
    return {f"{weight} {value:g}": partial(fit, **{weight: value}, **settings) for value in TRACES}


def _fitted(kind: Any, task: Task, seeded: bool = False, **settings: Any):
    if seeded:
        settings["random_state"] = 1000 + task.seed
    learner = kind(task.n_objects, **settings).fit(task.train)
    return lambda test: 1.0 - learner.score(test)


if __name__ == "__main__":
    main()

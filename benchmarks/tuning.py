"""Tuning of the learners that are compared: settings are chosen on the first trial and used for all trials.

The chosen settings have the lowest held-out error. This makes all errors slightly too low, in the same way for every
learner. The module needs only NumPy, so that it runs in the environment of any library.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

Fitter = Callable[[np.ndarray, int], Callable[[np.ndarray], float]]


class Task(NamedTuple):
    """One trial of a task: its name and seed, answers to learn, and held-out answers."""

    name: str
    seed: int
    train: np.ndarray
    test: np.ndarray


class Fit(NamedTuple):
    """The error and the CPU seconds of a learner on one trial; ``tried`` is the time of trying all settings."""

    learner: str
    settings: str
    task: str
    seed: int
    error: float
    seconds: float
    tried: float


def save(task: Task, folder: Path, i: int) -> None:
    np.savez(folder / f"{i:03}.npz", **task._asdict())


def load(folder: Path) -> list[Task]:
    found = [np.load(path) for path in sorted(folder.glob("*.npz"))]
    return [Task(str(task["name"]), int(task["seed"]), task["train"], task["test"]) for task in found]


def compare(learners: Mapping[str, Mapping[str, Fitter]], tasks: list[Task]) -> Iterator[Fit]:
    """Fit every learner to every task. A learner is a mapping from the text of its settings to a fitter."""
    for name in dict.fromkeys(task.name for task in tasks):
        trials = [task for task in tasks if task.name == name]
        for learner, fitters in learners.items():
            print(f"{name} answers: {learner}", file=sys.stderr, flush=True)
            yield from _trials(learner, fitters, trials)


def _trials(learner: str, fitters: Mapping[str, Fitter], trials: list[Task]) -> Iterator[Fit]:
    first = {settings: _measure(fitter, trials[0]) for settings, fitter in fitters.items()}
    best = min(first, key=lambda settings: first[settings])
    tried = sum(seconds for _, seconds in first.values())
    for task in trials:
        error, seconds = first[best] if task is trials[0] else _measure(fitters[best], task)
        yield Fit(learner, best, task.name, task.seed, error, seconds, tried)


def _measure(fitter: Fitter, task: Task) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some settings stop early on purpose.
        start = time.process_time()
        error = fitter(task.train, task.seed)
        seconds = time.process_time() - start
    return float(error(task.test)), seconds

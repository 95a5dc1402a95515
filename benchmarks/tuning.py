"""Tuning of the learners that are compared: the chosen settings are those with the lowest held-out error.

They are chosen on the first trial and used for all trials, or in hindsight, by the mean error of all trials. Both make
the errors of tuned learners too low, the second one more than the first. The module needs only NumPy, so that it runs
in the environment of any library.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Task(NamedTuple):
    """One trial of a task: its name and seed, the number of objects, answers to learn, and held-out answers."""

    name: str
    seed: int
    n_objects: int
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


# Learns the answers of a task, and returns a function from held-out answers to the error.
Fitter = Callable[[Task], Callable[[np.ndarray], float]]


def save(task: Task, folder: Path, i: int) -> None:
    folder.mkdir(exist_ok=True)
    np.savez(folder / f"{i:03}.npz", **task._asdict())


def load(folder: Path) -> list[Task]:
    found = [np.load(path) for path in sorted(folder.glob("*.npz"))]
    return [
        Task(str(task["name"]), int(task["seed"]), int(task["n_objects"]), task["train"], task["test"])
        for task in found
    ]


def compare(
    learners: Mapping[str, Mapping[str, Fitter]], tasks: list[Task], in_hindsight: bool = False
) -> Iterator[Fit]:
    """Fit every learner to every task. A learner is a mapping from the text of its settings to a fitter."""
    choose = _in_hindsight if in_hindsight else _by_first_trial
    for name in dict.fromkeys(task.name for task in tasks):
        trials = [task for task in tasks if task.name == name]
        for learner, fitters in learners.items():
            print(f"{name} answers: {learner}", file=sys.stderr, flush=True)
            best, measured, tried = choose(fitters, trials)
            for task, (error, seconds) in zip(trials, measured, strict=True):
                yield Fit(learner, best, name, task.seed, error, seconds, tried)


# The chosen settings, the error and seconds of each trial with them, and the seconds of trying all settings.
_Choice = tuple[str, list[tuple[float, float]], float]


def _by_first_trial(fitters: Mapping[str, Fitter], trials: list[Task]) -> _Choice:
    first = {settings: _measure(fitter, trials[0]) for settings, fitter in fitters.items()}
    best = min(first, key=lambda settings: first[settings])
    others = [_measure(fitters[best], task) for task in trials[1:]]
    return best, [first[best], *others], sum(seconds for _, seconds in first.values())


def _in_hindsight(fitters: Mapping[str, Fitter], trials: list[Task]) -> _Choice:
    measured = {settings: [_measure(fitter, task) for task in trials] for settings, fitter in fitters.items()}
    means = {settings: tuple(np.mean(pairs, axis=0)) for settings, pairs in measured.items()}
    best = min(means, key=lambda settings: means[settings])
    return best, measured[best], float(sum(seconds for _, seconds in means.values()))


def _measure(fitter: Fitter, task: Task) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some settings stop early on purpose.
        start = time.process_time()
        error = fitter(task)
        seconds = time.process_time() - start
    return float(error(task.test)), seconds

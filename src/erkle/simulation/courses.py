"""Courses of several strategies and seeds: run side by side, each kept in a file as soon as it is done.

A file says by what settings it was made. A folder holds courses of one plan, whatever the strategies and seeds; so a
run that was interrupted goes on, and another plan is refused.
"""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from erkle import __version__
from erkle.active.strategies import STRATEGIES, Adaptive
from erkle.files import write_text
from erkle.kernels.lapack import one_thread
from erkle.simulation.running import Course, run
from erkle.simulation.worlds import Points, World

__all__ = ["Plan", "Task", "marks", "open_folder", "read_course", "run_courses"]


class Plan(NamedTuple):
    """What all courses share.

    Attributes
    ----------
    world : World
    record : dict
        What the world says of itself.
    per_object : int
        Answers an object, at most.
    in_flight, rate, holdout
        As in `run`.
    """

    world: World
    record: dict[str, Any]
    per_object: int = 40
    in_flight: int = 1
    rate: float = 10.0
    holdout: float = 0.1

    @property
    def n_objects(self) -> int:
        """Number of objects of the world."""
        return int(self.record["n_objects"])

    @property
    def moments(self) -> list[int]:
        """Numbers of answers at which errors are measured."""
        return [round(mark * self.n_objects) for mark in marks(self.per_object)]

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides a course but for its strategy and seed."""
        shared = {name: getattr(self, name) for name in ("per_object", "in_flight", "rate", "holdout")}
        return {"erkle": __version__, "world": self.record, **shared}


class Task(NamedTuple):
    """A strategy, by its name, and a seed."""

    strategy: str
    seed: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.strategy}-{self.seed}.json"


def marks(per_object: int) -> list[float]:
    """Answers an object at which errors are measured: often at first, then evenly, and at the end.

    >>> marks(11)
    [1, 2, 3, 4, 5, 7.5, 10.0, 11]
    """
    later = [5 + 2.5 * step for step in range(1, math.ceil((per_object - 5) / 2.5))]
    return [*range(1, min(5, per_object) + 1), *later, *([per_object] if per_object > 5 else [])]


def open_folder(out: Path, plan: Plan) -> Path:
    """The folder of the courses; refuses one with courses of another plan."""
    folder = out / "courses"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.json")):
        settings = _read(path)["settings"]
        name, _, seed = path.stem.rpartition("-")
        wanted = {
            **plan.settings,
            "strategy": repr(STRATEGIES.get(name)),
            "seed": int(seed) if seed.isdecimal() else -1,
        }
        if settings != wanted:
            raise ValueError(
                f"{folder} holds courses of another {' and '.join(_differing(settings, wanted))}; choose another "
                "--out, or delete that folder to begin anew."
            )
    return folder


def run_courses(tasks: list[Task], plan: Plan, folder: Path, jobs: int, done: Callable[[Task], None]) -> None:
    """Run every course that has no file yet, and call ``done`` with each as it is finished."""
    missing = [task for task in tasks if not (folder / task.file).exists()]
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    for task in parallel(joblib.delayed(_run)(task, plan, folder) for task in missing):
        done(task)


def read_course(task: Task, folder: Path) -> Course:
    """What a finished course has left behind."""
    kept = _read(folder / task.file)
    estimates = [math.nan if estimate is None else estimate for estimate in kept["estimates"]]
    return Course(kept["n_answers"], kept["errors"], estimates, kept["waits"])


def _differing(settings: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Names of what differs; of the same kind of world, what differs in it."""
    theirs, ours = settings["world"], wanted["world"]
    same = theirs.get("name") == ours["name"]
    inside = [name for name in ours if theirs.get(name) != ours[name]] if same else ["world"]
    others = [name for name in wanted if name != "world" and settings.get(name) != wanted[name]]
    return [name.replace("_", " ") for name in (*inside, *others)]


def _run(task: Task, plan: Plan, folder: Path) -> Task:
    """One course, and its file, whole or not at all."""
    strategy = STRATEGIES[task.strategy]
    with one_thread(plan.n_objects):
        _compile()
        course = run(plan.world, strategy, plan.moments, task.seed, plan.in_flight, plan.rate, plan.holdout)
    kept = {
        "settings": {**plan.settings, "strategy": repr(strategy), "seed": task.seed},
        **course._asdict(),
        "estimates": [None if math.isnan(estimate) else estimate for estimate in course.estimates],
        "waits": [round(wait, 6) for wait in course.waits],
    }
    write_text(folder / task.file, json.dumps(kept) + "\n")
    return task


@cache
def _compile() -> None:
    """Load compiled code, once in each process, so that no participant waits for it."""
    run(Points(5), Adaptive(), [20])


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(kept, dict) or not _are_settings(kept.get("settings")) or not _is_course(kept):
            raise ValueError
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is no course that erkle has written; delete it.") from None
    return kept


def _are_settings(kept: Any) -> bool:
    return isinstance(kept, dict) and isinstance(kept.get("world"), dict)


def _is_course(kept: dict[str, Any]) -> bool:
    """Whether there are lists of numbers, one of each for every moment, and a wait for every answer."""
    parts = [kept.get(name) for name in Course._fields]
    lists = [part for part in parts if isinstance(part, list)]
    if len(lists) < len(parts):
        return False
    n_answers, errors, estimates, waits = lists
    there = [estimate for estimate in estimates if estimate is not None]
    values = (*n_answers, *errors, *there, *waits)
    numbers = all(type(value) in (int, float) and math.isfinite(value) for value in values)
    return numbers and len(n_answers) == len(errors) == len(estimates) and len(waits) >= max(n_answers, default=0)

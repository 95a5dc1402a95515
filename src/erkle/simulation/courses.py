"""Courses of several strategies and seeds, as units of work.

A folder holds courses of one plan, whatever the strategies and seeds: a run that was interrupted goes on, and another
plan is refused.
"""

import math
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from erkle.active.strategies import STRATEGIES, Adaptive
from erkle.kernels.lapack import one_thread
from erkle.runner import Runner
from erkle.simulation.running import Course, run
from erkle.simulation.worlds import Points, World


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
        """All that decides a course but for its world, strategy and seed."""
        return {name: getattr(self, name) for name in ("per_object", "in_flight", "rate", "holdout")}


class Task(NamedTuple):
    """A strategy, by its name, and a seed."""

    strategy: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.strategy}-{self.seed}"


def marks(per_object: int) -> list[float]:
    """Answers an object at which errors are measured: often at first, then evenly, and at the end.

    >>> marks(11)
    [1, 2, 3, 4, 5, 7.5, 10.0, 11]
    """
    later = [5 + 2.5 * step for step in range(1, math.ceil((per_object - 5) / 2.5))]
    return [*range(1, min(5, per_object) + 1), *later, *([per_object] if per_object > 5 else [])]


def open_courses(out: Path, plan: Plan) -> Runner[Task]:
    """The courses in a folder of results; refuses one with courses of another plan, or of another erkle."""
    world = {"world" if name == "name" else name: value for name, value in plan.record.items()}
    return Runner(out / "courses", partial(_course, plan), world | plan.settings)


def _course(plan: Plan, task: Task) -> dict[str, Any]:
    strategy = STRATEGIES[task.strategy]
    with one_thread(plan.n_objects):
        _compile()
        course = run(plan.world, strategy, plan.moments, task.seed, plan.in_flight, plan.rate, plan.holdout)
    return {**course._asdict(), "waits": [round(wait, 6) for wait in course.waits]}


@cache
def _compile() -> None:
    """Load compiled code, once in each process, so that no participant waits for it."""
    run(Points(5), Adaptive(), [20])


def read_course(task: Task, runner: Runner[Task]) -> Course:
    """What a finished course has left behind."""
    return Course(**runner.result(task))

"""Runs of several strategies and seeds, as units of work.

All runs in a folder share one plan; their strategies and seeds may differ. An interrupted simulation continues with
the missing runs, and a folder of another plan is refused.
"""

import math
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from erkle.active.strategies import STRATEGIES, Adaptive
from erkle.kernels.lapack import one_thread
from erkle.runner import Runner
from erkle.simulation.study import Run, simulate
from erkle.simulation.worlds import Points, World


class Plan(NamedTuple):
    """The settings that all runs share.

    Attributes
    ----------
    world : World
    record : dict
        The world's own ``record()``.
    per_object : int
        Largest number of answers per object.
    in_flight, rate, holdout
        As in `simulate`.
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
        """Everything that determines a run, except the world, the strategy and the seed."""
        return {name: getattr(self, name) for name in ("per_object", "in_flight", "rate", "holdout")}


class Task(NamedTuple):
    """The name of a strategy, and a seed."""

    strategy: str
    seed: int

    @property
    def name(self) -> str:
        """The name of the file with the result."""
        return f"{self.strategy}-{self.seed}"


def marks(per_object: int) -> list[float]:
    """Numbers of answers per object at which errors are measured: 1 to 5, then every 2.5, and the last one.

    >>> marks(11)
    [1, 2, 3, 4, 5, 7.5, 10.0, 11]
    """
    later = [5 + 2.5 * step for step in range(1, math.ceil((per_object - 5) / 2.5))]
    return [*range(1, min(5, per_object) + 1), *later, *([per_object] if per_object > 5 else [])]


def open_runs(out: Path, plan: Plan) -> Runner[Task]:
    """The runs in a folder of results; refuses a folder with runs of another plan or another version of erkle."""
    world = {"world" if name == "name" else name: value for name, value in plan.record.items()}
    return Runner(out / "runs", partial(_run, plan), world | plan.settings)


def _run(plan: Plan, task: Task) -> dict[str, Any]:
    strategy = STRATEGIES[task.strategy]
    with one_thread(plan.n_objects):
        _compile()
        run = simulate(plan.world, strategy, plan.moments, task.seed, plan.in_flight, plan.rate, plan.holdout)
    return {**run._asdict(), "waits": [round(wait, 6) for wait in run.waits]}


@cache
def _compile() -> None:
    """Load the compiled code once per process, so that it does not count as waiting time."""
    simulate(Points(5), Adaptive(), [20])


def read_run(task: Task, runner: Runner[Task]) -> Run:
    """The result of a finished run."""
    return Run(**runner.result(task))

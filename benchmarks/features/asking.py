"""Simulated studies of zappos85, whose answers play the participants: what features save when questions are chosen."""

from functools import cache
from typing import Any

from benchmarks.features.vectors import vectors
from erkle.active import STRATEGIES
from erkle.simulation.study import simulate
from erkle.simulation.worlds import People

# Answers per object at which errors are measured.
PER_OBJECT = (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20)
_N_OBJECTS = 85
# Seeds of studies that no constant was chosen on.
_FIRST_SEED = 300


@cache
def _world(with_features: bool) -> People:
    return People("zappos85", features=vectors("zappos85") if with_features else None)


def study(seed: int, strategy: str, with_features: bool) -> dict[str, Any]:
    """Errors on test answers at each number of answers."""
    moments = [round(k * _N_OBJECTS) for k in PER_OBJECT]
    run = simulate(_world(with_features), STRATEGIES[strategy], moments, _FIRST_SEED + seed)
    return {"errors": run.errors, "n_answers": run.n_answers}

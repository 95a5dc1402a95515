"""People's answers for `make compare`: the splits of `benchmarks.people`, with the first answers of each to learn."""

import os

from benchmarks.people.streams import stream
from benchmarks.tuning import Task
from erkle.datasets.copies import VARIABLE

SIZES = (("zappos85", 1_700), ("zappos85", 3_400), ("food100", 2_000), ("cars60", 2_400), ("eggs300", 3_000))
TRIALS = 3


def tasks() -> list[Task]:
    """All tasks, or none if the environment variable ``ERKLE_DATA`` is not set."""
    if not os.environ.get(VARIABLE):
        return []
    return [_task(name, size, seed) for name, size in SIZES for seed in range(TRIALS)]


def _task(name: str, size: int, seed: int) -> Task:
    data = stream(name, seed)
    return Task(f"{name}, {size:,}", seed, data.n_objects, data.train[:size], data.test)

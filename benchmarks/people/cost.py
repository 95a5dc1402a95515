"""The cost of an answer for different numbers of objects: rank 10, purely online.

- Sizes alternate and medians are compared, so that other work on the machine affects all sizes in the same way.
- Every object has a position before the measurement starts, as after a long stream. With an empty kernel, a million
  objects would need millions of answers to get there, and answers would be cheap until then.
- Answers are coin tosses, so that the kernel keeps moving. Only answers that move it are counted.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.people.cached_results import Unit
from erkle import ERKLE, LowRank, triplets
from erkle.datasets import answered
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.models.single import Single

SIZES = (1_000, 10_000, 100_000, 1_000_000)
RANK, N_ANSWERS, REPETITIONS = 10, 20_000, 15


def cost() -> dict[str, Any]:
    """Microseconds per active answer, and bytes, by number of objects."""
    learners = {n: _with_positions(n) for n in SIZES}
    for n, learner in learners.items():
        learner.partial_fit(triplets.sample(n, N_ANSWERS, 0))
    costs: dict[int, list[float]] = {n: [] for n in SIZES}
    for repetition in range(1, REPETITIONS + 1):
        for n, learner in learners.items():
            costs[n].append(_active_cost(learner, triplets.sample(n, N_ANSWERS, repetition)))
    return {str(n): {"µs": float(np.median(costs[n])), "bytes": _n_bytes(learners[n])} for n in SIZES}


def _with_positions(n: int) -> ERKLE:
    learner = ERKLE(n, kernel=LowRank(RANK)).partial_fit([])
    X = 0.2 * np.random.default_rng([1, n]).standard_normal((n, RANK))
    learner._model = Single(LowRankKernel.of_map(X, RANK, 0.0), learner._model.rule)
    return learner


def _active_cost(learner: ERKLE, T: NDArray[np.int64]) -> float:
    active, start = learner.counters_.n_active, time.process_time()
    learner.partial_fit(T)
    return 1e6 * (time.process_time() - start) / (learner.counters_.n_active - active)


def _n_bytes(learner: ERKLE) -> list[int]:
    """Bytes of the kernel and its evidence, and of the recent answers that are kept to find conflicts."""
    return [sum(array.nbytes for array in learner._model.pack()[0].values()), learner._replay._history.nbytes]


def race(n_objects: int, n_answers: int) -> dict[str, float]:
    """CPU seconds of the automatic choice, purely online, and its error on the last tenth before learning it."""
    X = np.random.default_rng([0, n_objects]).standard_normal((n_objects, 5))
    T = answered(triplets.sample(n_objects, n_answers, 0), X)
    learner = ERKLE(n_objects, kernel=LowRank(consolidate="off")).partial_fit([])
    start = time.process_time()
    decisions = learner.prequential(T)
    seconds = time.process_time() - start
    return {"seconds": seconds, "error": float(np.mean(decisions[-n_answers // 10 :] <= 0))}


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    return [Unit(cost, ()), *(Unit(race, arguments) for arguments in races(quick))]


def races(quick: bool) -> list[tuple[int, int]]:
    """Numbers of objects and answers."""
    return [(1_000_000, n) for n in ((100_000,) if quick else (100_000, 1_000_000))]

"""The cost of automatic choices: errors and CPU time, compared with the best fixed settings."""

import time
from collections.abc import Callable
from typing import Any

from benchmarks.people.cached_results import Unit
from benchmarks.people.streams import Stream, first
from erkle import ERKLE, STE, Dense, InverseSqrt, LowRank
from erkle.online.models.racing import TUNING

RANKS = (2, 3, 5, 10, 20, 40)
# Trace weights per answer; at 10,000 answers they are ridges of 0.1 to 10.
TRACES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
# A consolidated kernel is fitted again whenever there are 5 % more answers.
_SHARE = 0.05
PASSES = (10, 1)


def online(name: str, seed: int, passes: int) -> dict[str, Any]:
    """Racing kernels, and the leading candidate on its own."""
    data = first(name, seed)

    def alone(setting: dict[str, Any]) -> ERKLE:
        kernel = LowRank(setting["rank"], setting["trace"])
        step = InverseSqrt(setting["rate"], TUNING.settling * data.n_objects)
        return ERKLE(data.n_objects, loss=STE(), step=step, passes=passes, random_state=seed, kernel=kernel)

    race = ERKLE(data.n_objects, passes=passes, random_state=seed, kernel=LowRank(consolidate="off"))
    return _with_its_leader(race, alone, data)


def consolidated(name: str, seed: int) -> dict[str, Any]:
    """Repeated fits of several candidates, and the leading candidate on its own."""
    data = first(name, seed)

    def alone(setting: dict[str, Any]) -> ERKLE:
        kernel = LowRank(setting["rank"], setting["ridge"] / len(data.train), _SHARE)
        return ERKLE(data.n_objects, random_state=1000 + seed, kernel=kernel)

    return _with_its_leader(ERKLE(data.n_objects, random_state=1000 + seed), alone, data)


def _with_its_leader(model: ERKLE, alone: Callable[[dict[str, Any]], ERKLE], data: Stream) -> dict[str, Any]:
    """Errors and lowest CPU seconds of both; short runs are repeated for a second, because their times are noisy."""
    seconds = [_seconds(model, data)]
    setting = next(row.setting for row in model.selection_ if row.status == "leads")
    leader = alone(setting)
    of_leader = [_seconds(leader, data)]
    while sum(seconds) < 1.0:
        seconds.append(_seconds(model, data))
        of_leader.append(_seconds(leader, data))
    found, other = (
        {"error": 1.0 - fitted.score(data.test), "seconds": min(times)}
        for fitted, times in ((model, seconds), (leader, of_leader))
    )
    return {**found, "setting": setting, "alone": other}


def _seconds(model: ERKLE, data: Stream) -> float:
    start = time.process_time()
    model.fit(data.train)
    return time.process_time() - start


def exact(name: str, seed: int, passes: int) -> float:
    """Error of the paper's learner, PA-ERKLE."""
    return _error(first(name, seed), passes=passes, random_state=seed, kernel=Dense())


def fixed(name: str, seed: int, passes: int, rank: int) -> float:
    """Error of PA with a fixed rank."""
    return _error(first(name, seed), passes=passes, random_state=seed, kernel=LowRank(rank))


def fixed_fit(name: str, seed: int, rank: int) -> list[float]:
    """Errors of consolidated kernels with a fixed rank, one per trace weight."""
    kernels = [LowRank(rank, trace, _SHARE) for trace in TRACES]
    return [_error(first(name, seed), random_state=1000 + seed, kernel=kernel) for kernel in kernels]


def _error(data: Stream, **settings: Any) -> float:
    return 1.0 - ERKLE(data.n_objects, **settings).fit(data.train).score(data.test)


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    chosen, references = [], []
    for seed in range(n_seeds):
        for name in names:
            chosen.append(Unit(consolidated, (name, seed)))
            chosen += [Unit(online, (name, seed, passes)) for passes in PASSES]
            references += [Unit(exact, (name, seed, passes)) for passes in PASSES]
            references += [Unit(fixed, (name, seed, passes, rank)) for passes in PASSES for rank in RANKS]
            references += [Unit(fixed_fit, (name, seed, rank)) for rank in RANKS]
    return chosen + references

"""The tables of the benchmark: how often intervals hold the truth, and how far off the forecasts are."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.people.requirements import Requirement, Table, summary
from benchmarks.stopping.cases import Case, cases
from benchmarks.stopping.studies import Study
from benchmarks.stopping.worlds import World

_HEADER = [
    *("too early", "cases", "truth in interval", "below", "above", "no upper end"),
    *("reached", "forecast / truth", "off by a factor of", "error in interval", "error / truth"),
]
_ABOUT = (
    "A study that is stopped at a moment gives one case per target: 0.9, 0.8, 0.65 and 0.5 times the estimated error, "
    "and 25, 20, 15 and 10 % if these are lower. *Too early* counts moments without a forecast. *Truth in interval* "
    "(80 %) compares up to the end of the study: if it never reaches the target, every interval that ends later is "
    "right. *Below* and *above* say on which side of the interval the other truths are. *Reached* counts cases whose "
    "target was reached between the forecast and the end. For these, *forecast / truth* is the median of the ratio, "
    "and *off by a factor of* the median of the larger of the ratio and its inverse; an infinite forecast counts as "
    "infinite. *Error in interval* (80 %) and *error / truth* (median) are those of the error at that moment, one per "
    "moment."
)


class Stopped(NamedTuple):
    """The cases of a study that was stopped at a moment; none if it was too early."""

    world: str
    moment: int
    cases: list[Case]


def report(worlds: Mapping[str, World], found: Mapping[str, list[Study]], seeds: Iterable[int]) -> str:
    """All tables as Markdown."""
    stopped = [
        Stopped(name, moment, cases(study, moment))
        for name, world in worlds.items()
        for study in found[name]
        for moment in world.moments
    ]
    names = list(worlds)
    moments = sorted({moment for world in worlds.values() for moment in world.moments})
    by_world = _table("Data sets", "data set", stopped, names, lambda each: each.world)
    by_moment = _table("Answers per object", "answers per object", stopped, moments, lambda each: each.moment)
    made = [by_world, by_moment._replace(requirements=[])]
    first, *_, last = seeds
    about = f"Seeds {first} to {last}; the constants of the forecast were chosen on seeds 0 to 4. {_ABOUT}"
    return "\n\n".join(["# Measured by `python -m benchmarks.stopping`", about, summary(made), *map(str, made)]) + "\n"


def _table(
    title: str, first: str, stopped: list[Stopped], labels: list[str] | list[int], label: Callable[[Stopped], object]
) -> Table:
    groups = {str(each): [one for one in stopped if label(one) == each] for each in labels}
    rows = [_row(name, group) for name, group in {**groups, "all": stopped}.items()]
    requirements = [one for name, group in groups.items() for one in _requirements(name, group)]
    return Table(title, "", [first, *_HEADER], rows, [*requirements, *_requirements("all", stopped)])


def _row(name: str, stopped: list[Stopped]) -> list[str]:
    told = [each.cases for each in stopped if each.cases]
    counts = [str(len(stopped) - len(told)), str(sum(map(len, told)))]
    if not told:
        return [name, *counts, *[""] * 9]
    every = [case for some in told for case in some]
    reached = [case for case in every if case.reached]
    below = np.mean([case.truth < min(case.forecast.low, case.end) for case in every])
    above = np.mean([case.truth > case.forecast.high for case in every])
    endless = np.mean([case.forecast.high == math.inf for case in every])
    now = [some[0] for some in told]
    error_inside = np.mean([case.forecast.error_low <= case.error <= case.forecast.error_high for case in now])
    error_ratio = np.median([case.forecast.error / case.error for case in now])
    shares = [f"{share:.0%}" for share in (_inside(every), below, above, endless)]
    factors = [f"{_ratio(reached):.2f}", f"{_factor(reached):.2f}"] if reached else ["", ""]
    return [name, *counts, *shares, str(len(reached)), *factors, f"{error_inside:.0%}", f"{error_ratio:.2f}"]


def _requirements(name: str, stopped: list[Stopped]) -> list[Requirement]:
    every = [case for each in stopped for case in each.cases]
    reached = [case for case in every if case.reached]
    found = []
    if every:
        found += [
            Requirement(f"{name}: truth in interval", _inside(every), 0.7, at_least=True),
            Requirement(f"{name}: truth in interval", _inside(every), 0.9),
        ]
    if reached:
        found += [
            Requirement(f"{name}: forecast / truth", _ratio(reached), 1 / 1.5, at_least=True),
            Requirement(f"{name}: forecast / truth", _ratio(reached), 1.5),
        ]
    return found


def _inside(every: list[Case]) -> float:
    return float(np.mean([case.inside for case in every]))


def _ratio(reached: list[Case]) -> float:
    return float(np.median([case.ratio for case in reached]))


def _factor(reached: list[Case]) -> float:
    return float(np.median([max(case.ratio, 1 / case.ratio) if case.ratio else math.inf for case in reached]))

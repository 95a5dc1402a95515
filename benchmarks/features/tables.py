"""The tables of benchmarks/features.md, with the values that are required.

The measurements are in other files, because an edit of those files repeats the measurements.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from benchmarks.features import asking, cost, learning
from benchmarks.people.cached_results import Unit
from benchmarks.people.requirements import Requirement, Table

_THINGS = {0: 0.52, 3_000: 0.545, 10_000: 0.565, 30_000: 0.582, 100_000: 0.603, 400_000: 0.617}
_ZAPPOS = {0: 0.305, 200: 0.25, 425: 0.22, 850: 0.2, 1_700: 0.181}
# From this number of answers about zappos85 on, features must not cost more than a hundredth.
_NEVER_WORSE, _NEVER_WORSE_FROM = 1.01, 1_700
_NEWCOMERS = {1: 0.58, 2: 0.575, 3: 0.58}
_USELESS = 1.02
# Answers per object of random questions without features, and the largest share of them that is needed with features.
_ASKED = {20: 2 / 3, 10: 1 / 3}
# Strategies, and whether the learner has features.
_WAYS = (("random", False), ("adaptive", False), ("adaptive", True))
_COST, _GB = 2.0, 2.0
_USELESS_KINDS = {"zappos85": ("random", "shuffled"), "gaussian2": ("random",), "gaussian5": ("random",)}


class Part(NamedTuple):
    """The measurements of a table, and the table itself, for a number of seeds."""

    units: Callable[[int], list[Unit]]
    table: Callable[[int], Table]


def _runs(function: Callable[..., Any], n_seeds: int, *rest: Any) -> list[Any]:
    return [Unit(function, (seed, *rest)).result() for seed in range(n_seeds)]


def _values(results: list[Any], key: str) -> NDArray[np.float64]:
    return np.array([result[key] for result in results])


def _mean(values: NDArray[np.float64]) -> str:
    """Mean and half of the 95 % interval over seeds."""
    if len(values) < 2:
        return f"{values.mean():.4f}"
    half = scipy.stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.4f} ± {half:.4f}"


def _things_units(n_seeds: int) -> list[Unit]:
    return [Unit(learning.of_things, (seed, kind)) for seed in range(n_seeds) for kind in ("all", "none")]


def _things(n_seeds: int) -> Table:
    with_them, without = (_runs(learning.of_things, n_seeds, kind) for kind in ("all", "none"))
    rows, requirements = [], []
    for place, size in enumerate(learning.THINGS):
        right, alone = _values(with_them, "right")[:, place], _values(without, "right")[:, place]
        times = [_values(found, "seconds")[:, place].mean() for found in (with_them, without)]
        text = f"{min(size, with_them[0]['n']):,}"
        required = Requirement(f"THINGS, {text} answers: right among three", right.mean(), _THINGS[size], at_least=True)
        requirements.append(required)
        ratio = []
        if size >= 10_000:
            ratio = [Requirement(f"THINGS, {text} answers: cost", times[0] / times[1], _COST)]
            requirements += ratio
        cells = [_mean(right), str(required), _mean(alone), *(f"{seconds:.1f}" for seconds in times)]
        rows.append([text, *cells, *map(str, ratio or [""])])
    about = (
        "THINGS: 1,854 objects, a tenth of the odd-one-outs held out. A prediction is right if the two similar objects "
        "are the nearest pair of the three. What the features were worth at the end, first split: "
        + " ".join(with_them[0]["worth"])
    )
    header = ["answers", "right, with features", "required", "without", "CPU s, with", "CPU s, without", "ratio"]
    return Table("THINGS with CLIP and word2vec", about, header, rows, requirements)


def _zappos_units(n_seeds: int) -> list[Unit]:
    return [Unit(learning.zappos, (seed, kind)) for seed in range(n_seeds) for kind in ("all", "none")]


def _zappos(n_seeds: int) -> Table:
    with_them, without = (_runs(learning.zappos, n_seeds, kind) for kind in ("all", "none"))
    rows, requirements = [], []
    for place, size in enumerate(learning.ZAPPOS):
        errors, alone = _values(with_them, "errors")[:, place], _values(without, "errors")[:, place]
        times = [_values(found, "seconds")[:, place].mean() for found in (with_them, without)]
        checks = []
        if size in _ZAPPOS:
            checks.append(Requirement(f"zappos85, {size:,} answers: error", errors.mean(), _ZAPPOS[size]))
        if size >= _NEVER_WORSE_FROM:
            ratio = errors.mean() / alone.mean()
            checks.append(Requirement(f"zappos85, {size:,} answers: error over that without", ratio, _NEVER_WORSE))
        if size >= _NEVER_WORSE_FROM:
            checks.append(Requirement(f"zappos85, {size:,} answers: cost", times[0] / times[1], _COST))
        requirements += checks
        cells = [_mean(errors), "; ".join(map(str, checks)), _mean(alone), *(f"{seconds:.2f}" for seconds in times)]
        rows.append([f"{size:,}", *cells])
    about = (
        "zappos85: 85 shoes, a fifth of the questions held out. Required are the error, its ratio to that without "
        "features, and the ratio of the CPU times."
    )
    header = ["answers", "error, with features", "required", "without", "CPU s, with", "CPU s, without"]
    return Table("zappos85 with AlexNet", about, header, rows, requirements)


def _newcomers(n_seeds: int) -> Table:
    found = _runs(learning.newcomers, n_seeds)
    rows, requirements = [], []
    for count in range(4):
        right = _values(found, str(count))
        required = (
            [Requirement(f"Newcomers, answers with {count}", right.mean(), _NEWCOMERS[count], True)] if count else []
        )
        requirements += required
        rows.append([str(count), _mean(right), *map(str, required or [""])])
    about = (
        f"{learning.N_NEW} objects of THINGS occur in no answer that is learned. They are added at the end with "
        "`add_objects(features=...)`, and held-out answers with one, two and three of them are predicted."
    )
    return Table(
        "New objects", about, ["new objects in the answer", "right among three", "required"], rows, requirements
    )


def _useless_units(n_seeds: int) -> list[Unit]:
    return [
        Unit(learning.useless_on, (name, seed, kind))
        for name, kinds in _USELESS_KINDS.items()
        for kind in ("none", *kinds)
        for seed in range(n_seeds)
    ]


def _useless(n_seeds: int) -> Table:
    rows, requirements = [], []
    for name, kinds in _USELESS_KINDS.items():
        alone = _values([Unit(learning.useless_on, (name, seed, "none")).result() for seed in range(n_seeds)], "errors")
        for kind in kinds:
            found = [Unit(learning.useless_on, (name, seed, kind)).result() for seed in range(n_seeds)]
            errors = _values(found, "errors")
            for place, k in enumerate(learning.USELESS_AT):
                ratio = errors[:, place].mean() / alone[:, place].mean()
                required = Requirement(f"{name}, {kind} features, {k} per object", ratio, _USELESS)
                requirements.append(required)
                cells = [_mean(errors[:, place]), _mean(alone[:, place]), f"{ratio:.3f}", str(required)]
                rows.append([name, kind, f"{k} per object", *cells])
    about = "Random numbers, or the vectors of other objects (shuffled): the error must hardly be larger than without."
    return Table(
        "Useless features",
        about,
        ["data", "features", "answers", "error", "without", "ratio", "required"],
        rows,
        requirements,
    )


def _asking_units(n_seeds: int) -> list[Unit]:
    return [Unit(asking.study, (seed, *way)) for seed in range(n_seeds) for way in _WAYS]


def _asking(n_seeds: int) -> Table:
    curves = {way: _values(_runs(asking.study, n_seeds, *way), "errors").mean(axis=0) for way in _WAYS}
    rows, requirements = [], []
    for mark, share in _ASKED.items():
        error = curves["random", False][asking.PER_OBJECT.index(mark)]
        needed = _answers_to(curves["adaptive", True], error)
        required = Requirement(f"Asking: share of the answers at {mark} per object", needed / mark, share)
        requirements.append(required)
        plain = _answers_to(curves["adaptive", False], error)
        rows.append(
            [
                f"{mark} per object",
                f"{error:.4f}",
                f"{plain:.1f}",
                f"{needed:.1f}",
                f"{needed / mark:.2f}",
                str(required),
            ]
        )
    about = (
        "Simulated studies whose participants give the answers of zappos85. How many answers per object adaptive "
        "questions need, without and with features, for the error that random questions without features have."
    )
    header = ["random questions", "their error", "adaptive", "adaptive, with features", "share", "required"]
    return Table("Asking with features", about, header, rows, requirements)


def _answers_to(curve: NDArray[np.float64], error: float) -> float:
    """Answers per object at which a curve first reaches an error, between measured points."""
    for place, value in enumerate(curve):
        if value <= error:
            if place == 0:
                return asking.PER_OBJECT[0]
            before, at = asking.PER_OBJECT[place - 1], asking.PER_OBJECT[place]
            return before + (at - before) * (curve[place - 1] - error) / (curve[place - 1] - value)
    return float("inf")


def _cost_units(_: int) -> list[Unit]:
    return [Unit(cost.many_objects, (flag,)) for flag in (True, False)]


def _cost(_: int) -> Table:
    with_them, without = (Unit(cost.many_objects, (flag,)).result() for flag in (True, False))
    memory = Requirement("100,000 objects: memory in GB", with_them["GB"], _GB)
    ratio = Requirement("100,000 objects: cost", with_them["seconds"] / without["seconds"], _COST)
    rows = [
        [name, f"{found['seconds']:.0f}", f"{found['GB']:.2f}", f"{found['error']:.4f}", required]
        for name, found, required in (("with", with_them, f"{memory}; {ratio}"), ("without", without, ""))
    ]
    about = (
        f"{cost.N_OBJECTS:,} points in five dimensions, {cost.N_COLUMNS} columns of features in single precision, "
        f"{cost.N_ANSWERS:,} answers. Required are the memory of the whole process and the ratio of the CPU times."
    )
    return Table("Many objects", about, ["features", "CPU s", "GB", "error", "required"], rows, [memory, ratio])


PARTS = {
    "zappos": Part(_zappos_units, _zappos),
    "useless": Part(_useless_units, _useless),
    "asking": Part(_asking_units, _asking),
    "things": Part(_things_units, _things),
    "newcomers": Part(lambda n: [Unit(learning.newcomers, (seed,)) for seed in range(n)], _newcomers),
    "cost": Part(_cost_units, _cost),
}

"""The tables of benchmarks/people.md: means over seeds, and requirements.

The measurements are in other files, because an edit of those files repeats the measurements.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.batch import TASKS
from benchmarks.people import choosing, cost, moments, paper
from benchmarks.people.cached_results import Unit
from benchmarks.people.requirements import Requirement, Table
from benchmarks.people.streams import N_ANSWERS, PEOPLE, TITLES, stream

_SMALL_ERRORS = dict(zip(TASKS, (0.335, 0.25, 0.13, 0.26), strict=True))
_ONLINE_ERRORS = {
    10: {"zappos85": 0.160, "food100": 0.185, "cars60": 0.200, "aset400": 0.205},
    1: {"zappos85": 0.175, "food100": 0.195},
}


def runs(
    function: Callable[..., Any], n_seeds: int, *rest: Any, name: str | None = None, batch: bool = False
) -> list[Any]:
    """The results of all seeds."""
    before = () if name is None else (name,)
    return [Unit(function, (*before, seed, *rest), batch).result() for seed in range(n_seeds)]


def mean(results: list[Any], *keys: str) -> Any:
    """The mean of the values under these keys: of a number, or of each number of a list."""
    for key in keys:
        results = [result[key] for result in results]
    return np.mean(results, axis=0)


def accuracy(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    for name in names:
        found = runs(moments.learner, n_seeds, name=name)
        for size, text in moments.sizes(name, quick).items():
            error, seconds = mean(found, "sizes", str(size))
            best = mean(runs(moments.best_batch, n_seeds, size, name=name, batch=True))
            what, ms = f"{_title(name)}, {text}", 1e3 * seconds / size
            ratio = Requirement(f"{what}: ratio", error / best, 1.06 if name in PEOPLE else 1.2)
            small = stream(name, 0).n_objects <= 100 and size <= N_ANSWERS
            rate = [Requirement(f"{what}: CPU ms per answer", ms, 1.0)] if small else []
            requirements += [ratio, *rate]
            cells = [f"{error:.4f}", f"{best:.4f}", f"{ratio.value:.3f}", str(ratio), f"{ms:.2f}"]
            rows.append([_title(name), text, f"{size:,}", *cells, *map(str, rate or [""])])
    about = (
        "Held-out error of `ERKLE(n)` with its default parameters, and the lowest held-out error of twenty batch fits "
        "of the same answers (`TripletEmbedding`, rank 2 to 20, ridge 0.001 to 1). The last columns are CPU "
        "milliseconds per answer so far, including everything."
    )
    header = ["data", "answers", "number", "error", "best batch", "ratio", "required", "ms per answer", "required"]
    return Table("Errors at several moments", about, header, rows, requirements)


def calibration(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows = []
    for name in [name for name in names if name in PEOPLE]:
        found = runs(moments.learner, n_seeds, name=name)
        rows.append([name, *(f"{mean(found, key):.4f}" for key in ("calibration", "own calibration"))])
    about = (
        "Mean difference between confidence and accuracy of `predict_proba`, in ten bins, at the end of the stream: "
        "measured on held-out answers, and as the learner estimates it (`reliability_`)."
    )
    return Table("Calibration", about, ["data", "held-out answers", "learner's estimate"], rows, [])


def small_set(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    for name, task in TASKS.items():
        error = mean(runs(paper.small, n_seeds, *task))
        batch = runs(paper.small_batch, n_seeds, *task)
        requirements.append(Requirement(f"n = 100, d = 50, {name}: error", error, _SMALL_ERRORS[name]))
        best, popular = mean(batch, "RCKL").min(), mean(batch, "popularity")
        rows.append([name, f"{error:.4f}", str(requirements[-1]), f"{best:.4f}", f"{popular:.4f}"])
    about = "Held-out error of the default learner, of `RCKL` at the best of ten trace weights, and of popularity."
    header = ["answers", "error", "required", "RCKL, best trace", "popularity"]
    return Table("The paper's small synthetic set (n = 100, d = 50)", about, header, rows, requirements)


def large_set(names: list[str], n_seeds: int, quick: bool) -> Table:
    found = runs(paper.large, n_seeds)
    error = mean(found, "error")
    requirements, rows = [Requirement("n = 5000, d = 50: error", error, 0.39)], []
    for ties in ("ties are errors", "ties are half"):
        popular = mean(found, ties)
        requirements.append(Requirement(f"n = 5000, d = 50: error compared with popularity, {ties}", error, popular))
        rows.append([f"popularity, {ties}", f"{popular:.4f}", f"default {requirements[-1]}"])
    rows.insert(0, ["default", f"{error:.4f}", str(requirements[0])])
    least = mean(runs(paper.popularity_in_hindsight, n_seeds))
    rows.append(["popularity, fitted with the ridge that is best on the held-out answers", f"{least:.4f}", ""])
    about = (
        "Two answers per object. Some objects are in no answer, so popularity has ties, which are counted in two ways. "
        "Few questions share two objects, so the answers say little beyond the popularity of each object."
    )
    title = "The paper's large synthetic set (n = 5000, d = 50, 10,000 answers)"
    return Table(title, about, ["learner", "error", "required"], rows, requirements)


def wrong_answers(names: list[str], n_seeds: int, quick: bool) -> Table:
    found = runs(paper.noisy, n_seeds)
    error, exact = mean(found, "default"), mean(found, "PA-ERKLE")
    requirement = Requirement("a fifth flipped: error over that of PA-ERKLE", error / exact, 0.5)
    row = [f"{error:.4f}", f"{exact:.4f}", f"{requirement.value:.3f}", str(requirement)]
    about = "Error against the truth after 10,000 answers, a fifth of them flipped; n = 90, d = 5."
    return Table("Flipped answers", about, ["default", "PA-ERKLE", "ratio", "required"], [row], [requirement])


def purely_online(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    for passes, bounds in _ONLINE_ERRORS.items():
        for name in names:
            error = mean(runs(choosing.online, n_seeds, passes, name=name), "error")
            exact = mean(runs(choosing.exact, n_seeds, passes, name=name))
            best, rank = _best_rank(name, n_seeds, passes)
            what = f"online, {_title(name)}, passes={passes}: error"
            found = [Requirement(what, error, bounds[name])] if name in bounds else []
            requirements += found
            cells = [f"{error:.4f}", *map(str, found or [""]), f"{exact:.4f}", f"{best:.4f} ({rank})"]
            rows.append([_title(name), str(passes), *cells])
    about = (
        'Held-out error after 10,000 answers: `LowRank(consolidate="off")`, PA-ERKLE, and PA with the best of the '
        f"ranks {', '.join(map(str, choosing.RANKS))}."
    )
    header = ["data", "passes", "error", "required", "PA-ERKLE", "best fixed rank"]
    return Table("Purely online", about, header, rows, requirements)


def choices(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    ways = [(f"online, passes={passes}", choosing.online, (passes,)) for passes in choosing.PASSES]
    for how, function, rest in (*ways, ("consolidated", choosing.consolidated, ())):
        for name in names:
            found = runs(function, n_seeds, *rest, name=name)
            best, setting = _best_rank(name, n_seeds, *rest) if rest else _best_fit(name, n_seeds)
            error, seconds, alone = mean(found, "error"), mean(found, "seconds"), mean(found, "alone", "seconds")
            what = f"choosing, {how}, {_title(name)}"
            ratio = Requirement(f"{what}: error over that of the best fixed setting", error / best, 1.05)
            price = Requirement(f"{what}: CPU time over that of the leading candidate", seconds / alone, 6.0)
            requirements += [ratio, price]
            cells = [f"{error:.4f}", f"{best:.4f} ({setting})", f"{ratio.value:.3f}", str(ratio)]
            cells += [f"{seconds:.2f}", f"{alone:.2f}", f"{price.value:.1f}", str(price)]
            rows.append([how, _title(name), *cells])
    about = (
        "Errors and CPU seconds of the automatic choice after 10,000 answers. The errors are compared with the fixed "
        "setting that is best in hindsight (online: PA with a fixed rank; consolidated: a fixed rank and trace "
        "weight), and the times with those of the candidate that leads at the end, run on its own."
    )
    header = ["how", "data", "error", "best fixed", "ratio", "required"]
    header += ["CPU s", "CPU s, leading candidate", "ratio", "required"]
    return Table("Cost of automatic choices", about, header, rows, requirements)


def objects(names: list[str], n_seeds: int, quick: bool) -> Table:
    found, rows, requirements = Unit(cost.cost, ()).result(), [], []
    for n in cost.SIZES:
        microseconds, (held, history) = found[str(n)]["µs"], found[str(n)]["bytes"]
        rate = Requirement(f"n = {n:,}: answers per second", 1e6 / microseconds, 20_000, at_least=True)
        memory = Requirement(f"n = {n:,}: bytes over 3·8·n·r", held / (24 * n * cost.RANK), 1.0)
        requirements += [rate, memory]
        cells = [f"{microseconds:.1f}", f"{rate.value:,.0f}", str(rate), f"{held / 2**20:.1f}"]
        rows.append([f"{n:,}", *cells, f"{memory.value:.2f}", str(memory), f"{history / 2**20:.1f}"])
    least, most = (found[str(n)]["µs"] for n in (cost.SIZES[0], cost.SIZES[-1]))
    ratio = Requirement("cost of an answer, a million objects over a thousand", most / least, 1.5)
    about = (
        f"`LowRank({cost.RANK})`: CPU microseconds per answer that moved the kernel, medians of {cost.REPETITIONS} "
        f"repetitions of {cost.N_ANSWERS:,} answers, after {cost.N_ANSWERS:,} answers to warm up. With a million "
        f"objects an answer takes {ratio.value:.2f} times as long as with a thousand (required {ratio})."
    )
    header = ["objects", "µs per active answer", "answers per second", "required"]
    header += ["MiB of the kernel", "over 3·8·n·r bytes", "required", "MiB of recent answers"]
    return Table("Cost and the number of objects", about, header, rows, [ratio, *requirements])


def races(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows = []
    for n, n_answers in cost.races(quick):
        run = Unit(cost.race, (n, n_answers)).result()
        cells = [f"{run['seconds']:.1f}", f"{n_answers / run['seconds']:,.0f}", f"{run['error']:.3f}"]
        rows.append([f"{n:,}", f"{n_answers:,}", *cells])
    about = (
        '`LowRank(consolidate="off")` from its first answer, including all candidates and reviews; points N(0, I) in '
        "five dimensions."
    )
    header = ["objects", "answers", "CPU s", "answers per second", "error on the last tenth, before learning it"]
    return Table("Automatic choices with a million objects, purely online", about, header, rows, [])


def _title(name: str) -> str:
    return TITLES.get(name, name)


def _best_rank(name: str, n_seeds: int, passes: int) -> tuple[float, str]:
    errors = {rank: float(mean(runs(choosing.fixed, n_seeds, passes, rank, name=name))) for rank in choosing.RANKS}
    return min((error, f"rank {rank}") for rank, error in errors.items())


def _best_fit(name: str, n_seeds: int) -> tuple[float, str]:
    fits = {rank: mean(runs(choosing.fixed_fit, n_seeds, rank, name=name)) for rank in choosing.RANKS}
    found = [(rank, *pair) for rank, errors in fits.items() for pair in zip(choosing.TRACES, errors, strict=True)]
    return min((float(error), f"rank {rank}, trace {trace:g}") for rank, trace, error in found)

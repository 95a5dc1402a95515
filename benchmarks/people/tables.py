"""The tables of benchmarks/people.md: means over seeds, and requirements.

The measurements are in other files, because an edit of those files repeats the measurements.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.batch import TASKS
from benchmarks.people import choosing, cost, moments, paper, participants, things, threads
from benchmarks.people.cached_results import Unit
from benchmarks.people.requirements import Requirement, Table
from benchmarks.people.streams import N_ANSWERS, PEOPLE, TITLES, stream

_SMALL_ERRORS = dict(zip(TASKS, (0.335, 0.25, 0.13, 0.26), strict=True))
# Held-out errors that the default learner must reach.
_ERRORS = {
    ("zappos85", 1_700): 0.190,
    ("zappos85", 3_400): 0.167,
    ("zappos85", 10_000): 0.150,
    ("food100", 2_000): 0.209,
    ("food100", 4_000): 0.190,
    ("food100", 10_000): 0.176,
    ("aset400", 4_120): 0.198,
    ("aset400", 10_000): 0.168,
    ("eggs300", 3_000): 0.186,
    ("eggs300", 10_000): 0.152,
    ("cars60", 10_000): 0.195,
}
# Errors of commit b0f96ae where answers are turned round.
_SLIPS_BEFORE = (0.0676, 0.1440)
# THINGS: what must be right among three; before (commit b0f96ae); and VICE's objective.
_THINGS = {30_000: (0.515, ".505", ".427"), 100_000: (0.575, "", ".536"), 400_000: (0.612, ".602", ".610")}
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


@cache
def _before() -> dict[str, Any]:
    return dict(json.loads(Path(__file__).with_name("before.json").read_text()))


def before_values(name: str, size: int) -> list[float]:
    """Error, log loss and calibration error of commit b0f96ae, as means over seeds 0 to 4."""
    return list(_before()[name][str(size)])


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
            error, _, _, seconds = mean(found, "sizes", str(size))
            before = before_values(name, size)[0]
            best = mean(runs(moments.best_batch, n_seeds, size, name=name, batch=True))
            what, ms = f"{_title(name)}, {text}", 1e3 * seconds / size
            bound = _ERRORS.get((name, size), 1.02 * before if name not in PEOPLE else before)
            required = Requirement(f"{what}: error", error, bound)
            ratio = Requirement(f"{what}: ratio to the best batch fit", error / best, 1.06 if name in PEOPLE else 1.2)
            small = stream(name, 0).n_objects <= 100 and size <= N_ANSWERS
            rate = [Requirement(f"{what}: CPU ms per answer", ms, 0.5 if size == N_ANSWERS else 1.0)] if small else []
            requirements += [required, ratio, *rate]
            cells = [f"{error:.4f}", str(required), f"{before:.4f}", f"{best:.4f}", f"{ratio.value:.3f}", str(ratio)]
            rows.append([_title(name), text, f"{size:,}", *cells, f"{ms:.2f}", *map(str, rate or [""])])
    about = (
        "Held-out error of `ERKLE(n)` with its default parameters; the same before the answer models (commit b0f96ae, "
        "measured on the same splits by the same function); and the lowest held-out error of twenty batch fits of the "
        "same answers (`TripletEmbedding` with STE, rank 2 to 20, ridge 0.001 to 1). The last columns are CPU "
        "milliseconds per answer so far, including everything, on one thread."
    )
    header = ["data", "answers", "number", "error", "required", "before", "best batch", "ratio", "required"]
    return Table("Errors at several moments", about, [*header, "ms per answer", "required"], rows, requirements)


def probabilities(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    for name in names:
        found = runs(moments.learner, n_seeds, name=name)
        for size, text in moments.sizes(name, quick).items():
            _, loss, calibration, _ = mean(found, "sizes", str(size))
            _, loss_before, calibration_before = before_values(name, size)
            what = f"{_title(name)}, {text}"
            lower = Requirement(f"{what}: log loss", loss, loss_before if name in PEOPLE else 1.02 * loss_before)
            at_end = size == min(N_ANSWERS, len(stream(name, 0).train)) and name in PEOPLE
            sure = [Requirement(f"{what}: calibration error", calibration, 0.04)] if at_end else []
            requirements += [lower, *sure]
            cells = [f"{loss:.4f}", str(lower), f"{loss_before:.4f}", f"{calibration:.4f}", *map(str, sure or [""])]
            rows.append([_title(name), text, *cells, f"{calibration_before:.4f}"])
    about = (
        "Log loss and calibration of `predict_proba` on held-out answers; before is commit b0f96ae. The calibration "
        "error is the mean difference between confidence and accuracy, in ten bins."
    )
    header = ["data", "answers", "log loss", "required", "before", "calibration error", "required", "before"]
    return Table("Probabilities", about, header, rows, requirements)


def slips(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    for (name, share), bound, before in zip(moments.SLIPS, (0.022, 0.095), _SLIPS_BEFORE, strict=True):
        found = runs(moments.slips, n_seeds, share, name=name)
        error, lapse = mean(found, "error"), mean(found, "lapse")
        what = f"{_title(name)}, {share:.0%} turned round"
        required = Requirement(f"{what}: error", error, bound)
        off = Requirement(f"{what}: lapse, difference from the truth", abs(lapse - share), 0.02)
        requirements += [required, off]
        rows.append([what, f"{error:.4f}", str(required), f"{before:.4f}", f"{lapse:.3f}", str(off)])
    about = (
        "Answers about points, of which a share is turned round: error against the truth after 10,000 answers, before "
        "(commit b0f96ae) and now, and the lapse that the learner found."
    )
    header = ["data", "error", "required", "before", "lapse found", "difference, required"]
    return Table("Slips", about, header, rows, requirements)


def odd_one_outs(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements, found = [], [], {}
    for unit in things.units(names, n_seeds, quick):
        found.setdefault(unit.arguments[1], []).append(unit.result())
    for n, results in found.items():
        right, seconds = mean(results, "right"), mean(results, "seconds")
        bound, before, vice = _THINGS[n]
        text = f"{int(mean(results, 'n')):,}"
        required = Requirement(f"THINGS, {text} answers: right among three", right, bound, at_least=True)
        cost = [Requirement(f"THINGS, {text} answers: CPU seconds", seconds, 240.0)] if n == things.SIZES[-1] else []
        requirements += [required, *cost]
        cells = [f"{right:.4f}", str(required), before, vice, f"{seconds:.0f}", *map(str, cost or [""])]
        rows.append([text, *cells])
    about = (
        "THINGS: 1,854 objects. Each odd-one-out is learned as two triplets, in random order; a tenth of the answers "
        "is held out. A prediction is right if the two similar objects are the nearest pair of the three. Before is "
        "commit b0f96ae; VICE's objective was tuned on a GPU with a tenth of the same answers. Means of two seeds."
    )
    header = ["answers", "right among three", "required", "before", "VICE's objective", "CPU s", "required"]
    return Table("Odd-one-outs (THINGS)", about, header, rows, requirements)


def who_answered(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    for d, share in participants.WORLDS:
        found = runs(participants.simulated, n_seeds, d, share)
        without, known = mean(found, "without"), mean(found, "with")
        ratio = Requirement(
            f"d = {d}, {share:.0%} at random: error with participants over that without", known / without, 1.02
        )
        requirements.append(ratio)
        cells = [
            f"{without:.4f}",
            f"{known:.4f}",
            f"{ratio.value:.3f}",
            str(ratio),
            f"{mean(found, 'marked rightly'):.3f}",
        ]
        rows.append([f"d = {d}", f"{share:.0%}", *cells])
    if not quick and things.available():
        found = Unit(participants.on_things, (0,)).result()
        cells = [
            f"{1 - found['without']:.4f}",
            f"{1 - found['with']:.4f}",
            f"{(1 - found['with']) / (1 - found['without']):.3f}",
        ]
        rows.append(
            ["THINGS, 100,000 answers", f"{found['at random']} of {found['participants']} marked", *cells, "", ""]
        )
    about = (
        "Error without and with `participants=`. The simulated data are 90 points and 50 participants with 100 answers "
        "each; some participants answer at random, and the others slip in 1 % of their answers. The last column is "
        "the share of participants who are rightly marked, or rightly not marked, as answering at random."
    )
    header = ["data", "at random", "error without", "error with", "ratio", "required", "marked rightly"]
    return Table("Knowing who answered", about, header, rows, requirements)


def side_by_side(names: list[str], n_seeds: int, quick: bool) -> Table:
    rows, requirements = [], []
    for unit in threads.units(names, n_seeds, quick):
        [name], found = unit.arguments, unit.result()
        gain = Requirement(f"{name}: two threads, times faster", found["one"] / found["two"], 1.6, at_least=True)
        requirements.append(gain)
        equal = "yes" if found["equal"] else "**no**"
        cells = [f"{1e3 * found['cpu'] / found['answers']:.2f}", f"{found['one']:.2f}", f"{found['two']:.2f}"]
        rows.append([name, *cells, f"{gain.value:.2f}", str(gain), equal])
    about = "10,000 answers with `NUMBA_NUM_THREADS` 1 and 2, in turns; the least of five runs each."
    header = ["data", "CPU ms per answer, one thread", "s, one thread", "s, two threads", "times faster", "required"]
    return Table("Fits side by side", about, [*header, "same kernel, to the last bit"], rows, requirements)


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

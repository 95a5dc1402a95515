"""`make active`: how many answers adaptive questions save, alone and under load, and how long a choice takes.

Every run is a whole study with simulated participants, as in `erkle simulate`. There are 20 seeds per world, and 60 for
the worlds that are also measured under load. Runs are kept in .cache/active and repeated when the sources change. The
tables are written to benchmarks/active.md.
"""

import os

# One BLAS thread. It must be set before a BLAS is loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from benchmarks.people.requirements import Requirement, Table, summary
from erkle import ERKLE, AnswerModel, LowRank, files, triplets
from erkle.active import Adaptive, InformationGain, Strategy
from erkle.datasets import answered
from erkle.simulation.comparing import Curve, answers_to, compare, interval
from erkle.simulation.runs import Plan, Task, open_runs, read_run
from erkle.simulation.study import simulate
from erkle.simulation.worlds import People, Points, World
from erkle.sources import sources_stamp

# Participants who compare distances, and are wrong in 14 % of their answers about points in the plane.
_UNSURE = AnswerModel(2.0, power=0.5)

WORLDS: dict[str, World] = {
    "d = 2": Points(90, 2),
    "d = 2, sensitivity 2": Points(90, 2, _UNSURE),
    "d = 5": Points(90, 5),
    "d = 10": Points(90, 10),
    "zappos85": People("zappos85"),
    "food100": People("food100"),
    "eggs300": People("eggs300"),
}
# Answers per object of random questions, and the required ratio of random to adaptive answers for the same error.
_RATIOS = {"d = 2": (40.0, 2.0), "d = 2, sensitivity 2": (40.0, 1.5), "zappos85": (20.0, 1.25)}
# Worlds that are also measured under load.
_LOADED = tuple(_RATIOS)
# Times as many seeds for these worlds: the measured value is a ratio of differences, which varies more.
_MORE = 3
# The constants of `Adaptive` were tuned on lower seeds; two constants of the learner were tuned on these as well.
_FIRST_SEED = 200
# Answers per object at which errors are shown.
_MARKS = (5.0, 10.0, 20.0, 40.0)
_ROOT = Path(__file__).parents[1]


def main() -> None:
    options = _options()
    n_seeds = 2 if options.quick else options.seeds
    made = [costs()]
    alone = {name: curves(name, n_seeds * (_MORE if name in _LOADED else 1), options.jobs, 1) for name in WORLDS}
    made += [gains(alone), losses(alone), load(alone, options.jobs), exhaustive(2 if options.quick else 5)]
    text = "\n\n".join(["# Measured by `make active`", _about(n_seeds), summary(made), *map(str, made)]) + "\n"
    print(text)
    if not options.quick:
        files.write_text(Path(__file__).with_suffix(".md"), text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.active", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument(
        "--seeds", type=int, default=20, help=f"seeds per world; {_MORE} times as many where load is measured"
    )
    parser.add_argument("--quick", action="store_true", help="like --seeds 2; does not write active.md")
    return parser.parse_args()


def _about(n_seeds: int) -> str:
    return (
        f"{n_seeds} seeds per world, and {_MORE * n_seeds} for {'; '.join(_LOADED[:-1])}; and {_LOADED[-1]}. "
        "`Adaptive` was not tuned on these seeds. The learner is `ERKLE(n)`. In every study a tenth "
        "of the questions are drawn at random. Errors are measured on questions that were never asked."
    )


def curves(name: str, n_seeds: int, jobs: int, in_flight: int) -> dict[str, Curve]:
    """Mean curves of adaptive questions and, for one participant at a time, of random questions."""
    world = WORLDS[name]
    record = {**world.record(), "n_objects": world.instance(0).n_objects}
    plan = Plan(world, record, 40, in_flight, rate=100.0 if in_flight > 1 else 10.0)
    folder = f"{name.replace(' ', '')}-{in_flight}-{sources_stamp()}"
    runner = open_runs(_ROOT / ".cache" / "active" / folder, plan)
    names = ["adaptive", "random"] if in_flight == 1 else ["adaptive"]
    seeds = range(_FIRST_SEED, _FIRST_SEED + n_seeds)
    tasks = [Task(strategy, seed) for seed in seeds for strategy in names]
    for task in runner.run(tasks, jobs):
        print(name, in_flight, *task, file=sys.stderr, flush=True)
    return {
        strategy: Curve.of([read_run(Task(strategy, seed), runner) for seed in seeds], plan.n_objects)
        for strategy in names
    }


def gains(alone: dict[str, dict[str, Curve]]) -> Table:
    """Errors, and the ratio of the answers that random and adaptive questions need."""
    rows, requirements = [], []
    for name, by in alone.items():
        ratios = {ratio.per_object: ratio for ratio in compare(by["random"], by["adaptive"])}
        found = []
        if name in _RATIOS:
            mark, least = _RATIOS[name]
            what = f"{name}: ratio at {mark:g} answers per object"
            found = [Requirement(what, ratios[mark].value, least, at_least=True)]
        requirements += found
        for strategy, curve in by.items():
            cells = [f"{curve.at(mark):.4f}" for mark in _MARKS]
            texts = [ratios[mark].text if mark in ratios else "" for mark in (20.0, 40.0)]
            last = [*texts, *map(str, found or [""])] if strategy == "adaptive" else ["", "", ""]
            rows.append([name, strategy, *cells, *last])
    about = (
        "Held-out error after 5, 10, 20 and 40 answers per object. The ratio is the number of answers that random "
        "questions need, over the number that adaptive questions need for the same error. It is shown for the errors "
        "of random questions after 20 and 40 answers per object, with a 95 % interval (bootstrap over seeds)."
    )
    header = ["world", "questions", "5", "10", "20", "40", "ratio at 20", "ratio at 40", "required"]
    return Table("Answers needed", about, header, rows, requirements)


def losses(alone: dict[str, dict[str, Curve]]) -> Table:
    """The moment of each world at which adaptive questions do worst."""
    rows, requirements = [], []
    for name, by in alone.items():
        adaptive, random = by["adaptive"], by["random"]
        m = min(len(adaptive.error), len(random.error))
        late = np.flatnonzero(random.per_object[:m] >= 5.0)
        relative = adaptive.error[:m][late] / random.error[:m][late]
        worst = int(np.argmax(relative))
        requirements.append(Requirement(f"{name}: largest ratio of the errors", float(relative[worst]), 1.02))
        where = f"{random.per_object[late[worst]]:.3g} per object"
        differences = (adaptive.errors[:, :m] - random.errors[:, :m])[:, late[worst]] / random.error[late[worst]]
        half = scipy.stats.t.ppf(0.975, len(differences) - 1) * scipy.stats.sem(differences)
        cells = [f"{relative[worst]:.3f} ± {half:.3f}", where, f"{relative.min():.3f}", str(requirements[-1])]
        rows.append([name, *cells])
    about = (
        "Error of adaptive questions over the error of random questions, at the worst and the best moment after 5 or "
        "more answers per object. The 95 % interval is that of the paired differences over seeds."
    )
    return Table("Never worse", about, ["world", "worst", "at", "best", "required"], rows, requirements)


def load(alone: dict[str, dict[str, Curve]], jobs: int) -> Table:
    """The answers saved with a hundred participants at once."""
    rows, requirements = [], []
    for name in _LOADED:
        mark, n_seeds = _RATIOS[name][0], alone[name]["random"].n_seeds
        by = (alone[name]["random"], alone[name]["adaptive"], curves(name, n_seeds, jobs, 100)["adaptive"])
        saved = _saved(by, mark, np.arange(n_seeds))
        requirements.append(Requirement(f"{name}: share of the saving kept", saved[1] / saved[0], 0.9, at_least=True))
        low, high = interval(partial(_kept, by, mark), n_seeds)
        cells = [f"{share:.1%}" for share in saved]
        rows.append(
            [name, f"{mark:g}", *cells, f"{requirements[-1].value:.0%} ({low:.0%}–{high:.0%})", str(requirements[-1])]
        )
    about = (
        "Share of the answers that adaptive questions save over random questions at the same error: with one "
        "participant at a time, and with a hundred at once who give a hundred answers per second, so that every "
        "question is chosen a hundred answers before it is answered. *Kept* is the second share over the first, with a "
        "95 % interval (bootstrap over seeds)."
    )
    header = ["world", "answers per object", "saved, one at a time", "saved, a hundred at once", "kept", "required"]
    return Table("Under load", about, header, rows, requirements)


def _saved(by: tuple[Curve, Curve, Curve], mark: float, seeds: NDArray[np.int64]) -> list[float]:
    """Shares of the answers that the others save over random questions, for the error that random has at the mark."""
    random, *others = (curve.among(seeds) for curve in by)
    error = random.at(mark)
    return [1.0 - answers_to(curve, error) / answers_to(random, error) for curve in others]


def _kept(by: tuple[Curve, Curve, Curve], mark: float, seeds: NDArray[np.int64]) -> float:
    alone, loaded = _saved(by, mark, seeds)
    return loaded / alone


def costs() -> Table:
    """Milliseconds of choosing a question and of learning an answer."""
    rows, requirements = [], []
    for n, most in ((1_000, 2.0), (100_000, 10.0)):
        X = np.random.default_rng([0, n]).standard_normal((n, 5))
        T = answered(triplets.sample(n, 20_000, 0), X)
        learner = ERKLE(n, kernel=LowRank(10), random_state=0).fit(T[:-200])
        rng = np.random.default_rng(0)
        choice = _milliseconds(lambda i, learner=learner, rng=rng: Adaptive().choose(learner, 1, rng))
        update = _milliseconds(lambda i, learner=learner, T=T: learner.learn_one(T[-200 + i]))
        requirements.append(Requirement(f"{n:,} objects: ms per choice", choice, most))
        rows.append([f"{n:,}", f"{choice:.2f}", str(requirements[-1]), f"{update:.2f}"])
    slow, fast = _against_exhaustive()
    requirements.append(
        Requirement("n = 100: time of exhaustive information gain over adaptive", slow / fast, 50.0, at_least=True)
    )
    about = (
        "Milliseconds with `LowRank(10)`, medians of 200 repetitions. At n = 100 after 2,000 answers, exhaustive "
        f"information gain (Tamuz et al.; all {99 * 98 // 2:,} pairs of the anchor) takes {slow:.1f} ms and adaptive "
        f"{fast:.2f} ms, a ratio of {slow / fast:.0f} (required {requirements[-1]})."
    )
    return Table("Time of a choice", about, ["objects", "choose", "required", "learn one answer"], rows, requirements)


def _against_exhaustive() -> tuple[float, float]:
    X = np.random.default_rng(0).standard_normal((100, 2))
    learner = ERKLE(100, random_state=0).fit(answered(triplets.sample(100, 2000, 0), X))
    rng = np.random.default_rng(0)
    strategies: tuple[Strategy, ...] = (InformationGain(None), Adaptive())
    slow, fast = (_milliseconds(lambda i, s=s: s.choose(learner, 1, rng), 50) for s in strategies)
    return slow, fast


def _milliseconds(act: Callable[[int], object], repetitions: int = 200) -> float:
    times = []
    for i in range(repetitions):
        start = time.perf_counter()
        act(i)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def exhaustive(n_seeds: int) -> Table:
    """Errors of adaptive questions and of exhaustive information gain."""
    world, marks = Points(100, 2, _UNSURE), (5, 7.5, 10)
    rows, last = [], []
    for name, strategy in (("adaptive", Adaptive()), ("exhaustive information gain", InformationGain(None))):
        errors = []
        for seed in range(_FIRST_SEED, _FIRST_SEED + n_seeds):
            errors.append(simulate(world, strategy, [round(100 * mark) for mark in marks], seed).errors)
            print(name, seed, file=sys.stderr, flush=True)
        rows.append([name, *(f"{error:.4f}" for error in np.mean(errors, axis=0))])
        last.append(float(np.mean(errors, axis=0)[-1]))
    requirement = Requirement(
        "n = 100, 10 answers per object: error of adaptive over exhaustive", last[0] / last[1], 1.0
    )
    about = (
        f"{world.title}, {n_seeds} seeds. Error of adaptive over exhaustive at the end: {requirement.value:.3f} "
        f"(required {requirement})."
    )
    header = ["questions", *(f"{mark:g} per object" for mark in marks)]
    return Table("Comparison with exhaustive information gain", about, header, rows, [requirement])


if __name__ == "__main__":
    main()

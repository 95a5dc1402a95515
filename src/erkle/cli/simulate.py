"""`erkle simulate`: compare question strategies with simulated participants."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erkle.cli.options import Jobs, Out, check_jobs, given_options, results_folder
from erkle.cli.screen import (
    compile_first,
    console,
    counted,
    numbers,
    per_cent,
    print_table,
    units_bar,
    warnings_as_sentences,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from erkle.answer_models import AnswerModel
    from erkle.simulation.report import Comparison
    from erkle.simulation.runs import Plan
    from erkle.simulation.worlds import World

_FOR_POINTS = ("objects", "dimensions", "sensitivity", "power", "lapse")
# Limits of --per-object, --in-flight, --seeds and --rate: beyond them a simulation would never end.
_MOST_PER_OBJECT = 100_000
_MOST_PARTICIPANTS = 100_000
_MOST_SEEDS = 10_000
_LOWEST_RATE = 1e-6  # answers per second


def simulate(
    context: typer.Context,
    world: Annotated[
        str, typer.Argument(help="What to ask about: points, or a data set in [b]erkle data list[/b].")
    ] = "points",
    strategies: Annotated[
        str,
        typer.Option(
            help="Strategies separated by commas: adaptive, random, balanced, uncertainty, change, information."
        ),
    ] = "adaptive,random",
    per_object: Annotated[int, typer.Option(help="Most answers per object.")] = 40,
    objects: Annotated[int, typer.Option(help="Number of points.")] = 90,
    dimensions: Annotated[int, typer.Option(help="Number of dimensions of the points.")] = 2,
    sensitivity: Annotated[
        float,
        typer.Option(
            help="How strongly answers follow the distances of the points: near 0 they are almost random, "
            "and with inf they are wrong only by slips."
        ),
    ] = math.inf,
    power: Annotated[
        float,
        typer.Option(
            help="What participants compare, if --sensitivity is finite: 0 for ratios of distances, "
            "0.5 for distances, 1 for squared distances."
        ),
    ] = 1.0,
    lapse: Annotated[
        float, typer.Option(help="Share of answers that are slips: wrong, however easy the question is.")
    ] = 0.0,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="File with what the learner knows about the objects of a data set, by their names. May be repeated.",
        ),
    ] = None,
    in_flight: Annotated[int, typer.Option(help="Number of participants at the same time.")] = 1,
    rate: Annotated[
        float, typer.Option(help="Answers per second of all participants together; affects waiting times.")
    ] = 10,
    holdout: Annotated[float, typer.Option(help="Share of questions drawn at random to measure the error.")] = 0.1,
    seeds: Annotated[int, typer.Option(help="Runs of each strategy, each with its own seed.")] = 10,
    jobs: Jobs = -1,
    data: Annotated[Path | None, typer.Option(help="Folder with data sets; overrides ERKLE_DATA.")] = None,
    out: Out = Path("erkle-simulate"),
) -> None:
    """Compare question strategies with simulated participants: errors, answers saved, waiting times."""
    from erkle.answer_models import AnswerModel

    names = _checked_strategies(strategies)
    _check(seeds, "--seeds", 1, _MOST_SEEDS, "there must be a run of each strategy")
    check_jobs(jobs)
    people = AnswerModel(sensitivity, power, lapse)
    chosen = _checked_world(world, given_options(context), objects, dimensions, people, data, features or [])
    plan = _checked_plan(chosen, per_object, in_flight, rate, holdout)
    with results_folder(out):
        finished = run_simulation(plan, names, seeds, jobs, out)
    if not finished:
        raise typer.Exit(130)


def _checked_world(
    name: str,
    given: set[str],
    objects: int,
    dimensions: int,
    people: AnswerModel,
    data: Path | None,
    features: list[str],
) -> World:
    """The world that is asked about; options that have no effect on it are refused."""
    from erkle.active.questions import MOST_OBJECTS
    from erkle.datasets import CATALOGUE
    from erkle.simulation.worlds import People, Points

    if name != "points" and name not in CATALOGUE:
        raise ValueError(f"Unknown world {name!r}; pass points or a data set: {', '.join(CATALOGUE)}.")
    foreign = [option for option in (["data", "features"] if name == "points" else _FOR_POINTS) if option in given]
    if foreign:
        raise ValueError(f"--{foreign[0]} has no effect on {name}; leave it out.")
    if name != "points":
        folder = data and data.resolve()
        return People(name, folder, _features(name, folder, features) if features else None)
    _check(objects, "--objects", 4, MOST_OBJECTS, "there must be several questions to choose from")
    _check(dimensions, "--dimensions", 1, sys.maxsize, "points need at least one coordinate")
    _check_answers(people, given)
    points = Points(objects, dimensions, people)
    points.check_memory()
    return points


def _features(name: str, data: Path | None, texts: list[str]) -> dict[str, NDArray[np.float64]]:
    """The features of the objects of a data set; a sentence says what does not match."""
    from erkle.cli.features import KnownFeatures, Matched, read_files
    from erkle.datasets import load
    from erkle.triplets import Objects

    files = read_files(texts)
    # `record` loads the data set again, and its warnings are shown then.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        names = load(name, data).names
    found = Matched.of(files, Objects(names, names))
    known = KnownFeatures(found)
    for sentence in (known.ignored(name), known.without(names)):
        if sentence:
            console.print(sentence, style="yellow")
    return found.blocks


def _check_answers(people: AnswerModel, given: set[str]) -> None:
    """Refuse an answer model that makes no sense, and a power that has no effect."""
    most = people.highest()["lapse"]
    if not people.sensitivity > 0.0:
        raise ValueError(f"--sensitivity is {people.sensitivity:g}; pass a number above 0, or inf.")
    if not 0.0 <= people.power <= 1.0:
        raise ValueError(
            f"--power is {people.power:g}; pass a number from 0 (ratios of distances) to 1 (squared distances)."
        )
    if not 0.0 <= people.lapse <= most:
        raise ValueError(
            f"--lapse is {people.lapse:g}; pass a share of slips from 0 to {most:g}, because with half of the answers "
            "wrong they would say nothing."
        )
    if "power" in given and people.sensitivity == math.inf:
        raise ValueError("--power has no effect with an infinite sensitivity; pass --sensitivity too, such as 2.")


def _check(value: int, name: str, least: int, most: int, reason: str) -> None:
    """Refuse a number that is too small or too large; ``reason`` says why it must not be smaller."""
    from erkle.checks import whole

    if whole(value, name, least, reason) > most:
        raise ValueError(f"{name} is {value:,}; pass at most {most:,}.")


def _checked_strategies(text: str) -> list[str]:
    """Names of strategies from a text with commas."""
    from erkle.active.strategies import STRATEGIES

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in STRATEGIES:
            raise ValueError(f"--strategies contains {name!r}; choose from {', '.join(STRATEGIES)}.")
        if names.count(name) > 1:
            raise ValueError(f"--strategies contains {name} twice; name each strategy once.")
    return names


def _checked_plan(world: World, per_object: int, in_flight: int, rate: float, holdout: float) -> Plan:
    """The settings that all runs share; a data set that is missing is downloaded."""
    from erkle.checks import number, share
    from erkle.simulation.runs import Plan

    _check(per_object, "--per-object", 1, _MOST_PER_OBJECT, "there must be answers")
    _check(in_flight, "--in-flight", 1, _MOST_PARTICIPANTS, "at least one participant must answer")
    if number(rate, "--rate", "it is the number of answers per second") < _LOWEST_RATE:
        raise ValueError(f"--rate is {rate:g}; pass a number of answers per second of at least {_LOWEST_RATE:g}.")
    share(holdout, "--holdout")
    with warnings_as_sentences():
        return Plan(world, world.record(), per_object, in_flight, rate, holdout)


def run_simulation(plan: Plan, names: list[str], n_seeds: int, jobs: int, out: Path) -> bool:
    """Do the runs that are missing, then write and show the results; False if interrupted."""
    from erkle.online import ERKLE
    from erkle.simulation.report import Comparison, write_comparison
    from erkle.simulation.runs import Task, open_runs, read_run

    # Strategies alternate, so that an interrupted command has about equally many runs of each.
    tasks = [Task(name, seed) for seed in range(n_seeds) for name in names]
    runner = open_runs(out, plan)
    compile_first(ERKLE(3))
    each = f"{counted(plan.moments[-1], 'answer')} ({plan.per_object} per object)"
    console.print(f"{plan.world.title}: {counted(n_seeds, 'run')} of each strategy, with up to {each}.")
    try:
        with units_bar("Asking", len(tasks), len(runner.missing(tasks))) as advance:
            for task in runner.run(tasks, jobs):
                advance(task.strategy)
    except KeyboardInterrupt:
        after = f"Stopped after {len(tasks) - len(runner.missing(tasks))} of {counted(len(tasks), 'run')}"
        console.print(f"{after}; run the same command again to continue.")
        return False
    runs = {name: [read_run(task, runner) for task in tasks if task.strategy == name] for name in names}
    comparison = Comparison.of(runs, plan)
    write_comparison(comparison, out)
    _show(comparison)
    console.print(f"The curves are in {out / 'curves.png'}, the numbers in {out / 'curves.csv'}.", style="bold")
    return True


def _show(comparison: Comparison) -> None:
    """Print a table with a row for each strategy, and notes on it."""
    from erkle.simulation.report import SHOWN

    curves, ratios = comparison.curves, comparison.ratios
    shown = [mark for mark in SHOWN if mark <= comparison.plan.per_object]
    compared = [ratio.per_object for ratio in next(iter(ratios.values()), [])]
    headers = [f"error\nat {mark}" for mark in shown] + [f"random ×\nat {mark:g}" for mark in compared]
    rows = []
    for name, curve in curves.items():
        errors = ["not reached" if math.isnan(error := curve.at(mark)) else per_cent(error) for mark in shown]
        times = [ratio.text for ratio in ratios[name]] if name in ratios else [""] * len(compared)
        rows.append([name, *errors, *times, *(f"{wait:.1f}" for wait in comparison.waits[name])])
    print_table(["\nstrategy", *numbers(*headers, "p50\nms", "p95\nms")], rows)
    _explain(comparison)


def _explain(comparison: Comparison) -> None:
    from erkle.simulation.report import BASELINE

    plan = comparison.plan
    for name, curve in comparison.curves.items():
        if len(curve.n_answers) < len(plan.moments):
            last = counted(int(curve.n_answers[-1]), "answer")
            console.print(f"{name} was measured up to {last}: then too few questions were left.", style="yellow")
    if comparison.ratios:
        words = "random ×: how many times as many answers the random strategy needs for the same error"
        interval = " (95 % interval)" if next(iter(comparison.curves.values())).n_seeds > 1 else ""
        console.print(f"{words}{interval}.", style="dim")
    elif BASELINE not in comparison.curves:
        console.print("Add random to --strategies to see how many answers the others save.", style="dim")
    console.print(f"p50, p95: waiting time for the next question, at {plan.rate:g} answers per second.", style="dim")

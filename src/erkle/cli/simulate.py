"""`erkle simulate`: strategies against each other, with people who exist only here."""

from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from erkle.active.questions import MOST_OBJECTS
from erkle.active.strategies import STRATEGIES
from erkle.cli.comparison import Comparison, show_comparison, write_comparison
from erkle.cli.screen import compile_first, console, counted, warnings_as_sentences
from erkle.datasets import CATALOGUE
from erkle.kernels.low_rank import LowRank
from erkle.online import ERKLE
from erkle.parameters import number, share, whole
from erkle.simulation.courses import Plan, Task, open_folder, read_course, run_courses
from erkle.simulation.worlds import People, Points, World

__all__ = ["checked_plan", "checked_seeds", "checked_strategies", "checked_world", "simulate"]

_FOR_POINTS = ("objects", "dimensions", "slope", "flipped")
# A course may take minutes: the time left is judged by those of the last hour.
_LOOKS_BACK = 3600.0
# What nobody lives to see the end of is refused before it begins.
_MOST_AN_OBJECT, _MOST_PEOPLE, _MOST_SEEDS, _SLOWEST = 100_000, 100_000, 10_000, 1e-6


def checked_world(
    name: str, given: set[str], objects: int, dimensions: int, slope: float, flipped: float, data: Path | None
) -> World:
    """Points, or people; refuses options that mean nothing to it."""
    if name != "points" and name not in CATALOGUE:
        raise ValueError(f"There is no world {name!r}; pass points, or a data set: {', '.join(CATALOGUE)}.")
    foreign = [option for option in (["data"] if name == "points" else _FOR_POINTS) if option in given]
    if foreign:
        raise ValueError(f"--{foreign[0]} means nothing to {name}; leave it out.")
    if name != "points":
        return People(name, data and data.resolve())
    _few(whole(objects, "--objects", 4, "there must be something to choose"), "--objects", MOST_OBJECTS)
    whole(dimensions, "--dimensions", 1, "points need a coordinate")
    if not slope >= 0.0:
        raise ValueError(f"--slope is {slope:g}; pass at least 0, which tosses a coin; inf is always right.")
    points = Points(objects, dimensions, slope, share(flipped, "--flipped"))
    points.check_memory()
    return points


def _few(value: int, name: str, most: int) -> None:
    if value > most:
        raise ValueError(f"{name} is {value:,}; pass at most {most:,}.")


def checked_seeds(n_seeds: int) -> int:
    """How many courses there are of each strategy."""
    _few(whole(n_seeds, "--seeds", 1, "there must be a course"), "--seeds", _MOST_SEEDS)
    return n_seeds


def checked_strategies(text: str) -> list[str]:
    """Names of strategies, from a text that has commas between them."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in STRATEGIES:
            raise ValueError(f"--strategies has {name!r}; choose from {', '.join(STRATEGIES)}.")
        if names.count(name) > 1:
            raise ValueError(f"--strategies has {name} twice; name each strategy once.")
    return names


def checked_plan(world: World, per_object: int, in_flight: int, rate: float, holdout: float) -> Plan:
    """What all courses share; the data, if it takes any, is here or is fetched."""
    _few(whole(per_object, "--per-object", 1, "something must be answered"), "--per-object", _MOST_AN_OBJECT)
    _few(whole(in_flight, "--in-flight", 1, "somebody must answer"), "--in-flight", _MOST_PEOPLE)
    if number(rate, "--rate", "it counts answers a second") < _SLOWEST:
        raise ValueError(f"--rate is {rate:g}; pass the number of answers a second, at least {_SLOWEST:g}.")
    share(holdout, "--holdout")
    with warnings_as_sentences():
        return Plan(world, world.record(), per_object, in_flight, rate, holdout)


def simulate(plan: Plan, names: list[str], n_seeds: int, jobs: int, out: Path) -> bool:
    """Run what is missing, then write curves, pictures and a summary, and show them; False if it was interrupted."""
    # Seeds in turn, so that a run that is stopped has as many of each strategy.
    tasks = [Task(name, seed) for seed in range(n_seeds) for name in names]
    folder = open_folder(out, plan)
    compile_first(ERKLE(3, kernel=LowRank()))
    each = f"{counted(plan.moments[-1], 'answer')} ({plan.per_object} an object)"
    console.print(f"{plan.world.words}: {counted(n_seeds, 'course')} for each strategy, each of up to {each}.")
    try:
        _run(tasks, plan, folder, jobs)
    except KeyboardInterrupt:
        after = f"Stopped after {_n_kept(tasks, folder)} of {counted(len(tasks), 'course')}"
        console.print(f"{after}; the same command goes on there.")
        return False
    courses = {name: [read_course(task, folder) for task in tasks if task.strategy == name] for name in names}
    comparison = Comparison.of(courses, plan)
    write_comparison(comparison, out)
    show_comparison(comparison)
    console.print(f"Look at {out / 'curves.png'}; the numbers are in {out / 'curves.csv'}.", style="bold")
    return True


def _run(tasks: list[Task], plan: Plan, folder: Path, jobs: int) -> None:
    columns = (
        TextColumn("Asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[at]}"),
    )
    with Progress(*columns, console=console, speed_estimate_period=_LOOKS_BACK) as bar:
        shown = bar.add_task("", total=len(tasks), completed=_n_kept(tasks, folder), at="")
        run_courses(tasks, plan, folder, jobs, lambda task: bar.update(shown, advance=1, at=task.strategy))


def _n_kept(tasks: list[Task], folder: Path) -> int:
    return sum((folder / task.file).exists() for task in tasks)

"""What `erkle simulate` leaves behind: a tidy table, pictures, a summary, and a few lines on the screen."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from rich.console import Console
from rich.table import Table

from erkle.cli.screen import console, counted, per_cent
from erkle.files import write_text
from erkle.pictures import save
from erkle.simulation.comparing import Curve, Ratio, answers_to, compare
from erkle.simulation.courses import Plan
from erkle.simulation.drawing import curves_figure
from erkle.simulation.running import Course

__all__ = ["Comparison", "show_comparison", "write_comparison"]

_SHOWN = (5, 10, 20, 40)
_BASELINE = "random"


class Comparison(NamedTuple):
    """All that the files are made of, by strategy; waits are median and 95th percentile, in milliseconds."""

    plan: Plan
    curves: dict[str, Curve]
    ratios: dict[str, list[Ratio]]
    waits: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, courses: dict[str, list[Course]], plan: Plan) -> Self:
        """What the courses of each strategy, one a seed, have come to."""
        curves = {name: Curve.of(some, plan.n_objects) for name, some in courses.items()}
        others = [name for name in curves if name != _BASELINE] if _BASELINE in curves else []
        ratios = {name: compare(curves[_BASELINE], curves[name]) for name in others}
        waits = {}
        for name, some in courses.items():
            median, late = np.percentile(np.concatenate([course.waits for course in some]), [50, 95]).tolist()
            waits[name] = (1000 * median, 1000 * late)
        return cls(plan, curves, ratios, waits)


def write_comparison(comparison: Comparison, out: Path) -> None:
    """Write curves.csv, curves.png, curves.svg and summary.json."""
    write_text(out / "curves.csv", _table(comparison.curves))
    picture = curves_figure(comparison.curves, comparison.plan.world.words)
    for suffix in ("png", "svg"):
        save(picture, out / f"curves.{suffix}")
    write_text(out / "summary.json", json.dumps(_summary(comparison), indent=2, allow_nan=False) + "\n")


def show_comparison(comparison: Comparison) -> None:
    """Print a row for each strategy, on standard output, and what the table cannot say."""
    curves, ratios = comparison.curves, comparison.ratios
    shown = [mark for mark in _SHOWN if mark <= comparison.plan.per_object]
    compared = [ratio.per_object for ratio in next(iter(ratios.values()), [])]
    headers = [f"error\nat {mark}" for mark in shown] + [f"random ×\nat {mark:g}" for mark in compared]
    table = Table("\nstrategy", box=None, pad_edge=False)
    for header in [*headers, "p50\nms", "p95\nms"]:
        table.add_column(header, justify="right")
    for name, curve in curves.items():
        errors = ["not reached" if math.isnan(error := curve.at(mark)) else per_cent(error) for mark in shown]
        times = [ratio.words for ratio in ratios[name]] if name in ratios else [""] * len(compared)
        table.add_row(name, *errors, *times, *(f"{wait:.1f}" for wait in comparison.waits[name]))
    Console(highlight=False, markup=False).print(table)
    _explain(comparison)


def _explain(comparison: Comparison) -> None:
    plan = comparison.plan
    for name, curve in comparison.curves.items():
        if len(curve.n_answers) < len(plan.moments):
            last = counted(int(curve.n_answers[-1]), "answer")
            console.print(f"{name} was measured up to {last}: not enough was left to ask.", style="yellow")
    if comparison.ratios:
        words = "random ×: how many times as many answers random needs for the error it has at so many an object"
        interval = " (95 % interval)" if next(iter(comparison.curves.values())).n_seeds > 1 else ""
        console.print(f"{words}{interval}.", style="dim")
    elif _BASELINE not in comparison.curves:
        console.print("Add random to --strategies to see how many answers the others save.", style="dim")
    console.print(f"p50, p95: waits for the next question, at {plan.rate:g} answers a second.", style="dim")


def _table(curves: dict[str, Curve]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["strategy", "n_answers", "per_object", "error", "low", "high", "n_seeds", "estimate"])
    for name, curve in curves.items():
        numbers = (curve.per_object, curve.error, *curve.interval)
        for n_answers, estimate, *row in zip(curve.n_answers, curve.estimate, *numbers, strict=True):
            writer.writerow([name, int(n_answers), *map(_cell, row), curve.n_seeds, _cell(estimate)])
    return text.getvalue()


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def _summary(comparison: Comparison) -> dict[str, Any]:
    n_seeds = next(iter(comparison.curves.values())).n_seeds
    return {
        **comparison.plan.settings,
        "words": comparison.plan.world.words,
        "n_seeds": n_seeds,
        "strategies": {name: _facts(name, comparison) for name in comparison.curves},
    }


def _facts(name: str, comparison: Comparison) -> dict[str, Any]:
    curve = comparison.curves[name]
    median, late = comparison.waits[name]
    return {
        "n_answers": int(curve.n_answers[-1]),
        "error": float(curve.error[-1]),
        "error_at": {str(mark): None if math.isnan(error := curve.at(mark)) else error for mark in _SHOWN},
        "compared_with_random": [_comparison(ratio, curve) for ratio in comparison.ratios.get(name, [])],
        "wait_ms": {"p50": round(median, 3), "p95": round(late, 3)},
    }


def _comparison(ratio: Ratio, curve: Curve) -> dict[str, Any]:
    """JSON has neither NaN nor infinity: null, and the words say what it means."""
    needed = answers_to(curve, ratio.error)
    bounds = {name: getattr(ratio, name) or None for name in ("value", "low", "high")}
    return {
        "random_at": ratio.per_object,
        "error": ratio.error,
        "n_answers": needed if math.isfinite(needed) else None,
        "random_needs_times": {name: None if value != value else value for name, value in bounds.items()},
        "words": ratio.words,
    }

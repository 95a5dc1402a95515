"""What a simulation leaves behind: a tidy table of error curves, a picture of them and a summary."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from erkle import __version__
from erkle.files import csv_text, write_text
from erkle.pictures import save
from erkle.simulation.comparing import Curve, Ratio, answers_to, compare
from erkle.simulation.courses import Plan
from erkle.simulation.drawing import curves_figure
from erkle.simulation.running import Course

__all__ = ["BASELINE", "SHOWN", "Comparison", "write_comparison"]

# Answers per object at which errors are told.
SHOWN = (5, 10, 20, 40)
# The strategy that the others are compared with.
BASELINE = "random"


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
        others = [name for name in curves if name != BASELINE] if BASELINE in curves else []
        ratios = {name: compare(curves[BASELINE], curves[name]) for name in others}
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


def _table(curves: dict[str, Curve]) -> str:
    header = ["strategy", "n_answers", "per_object", "error", "low", "high", "n_seeds", "estimate"]
    rows: list[list[object]] = []
    for name, curve in curves.items():
        numbers = (curve.per_object, curve.error, *curve.interval)
        for n_answers, estimate, *row in zip(curve.n_answers, curve.estimate, *numbers, strict=True):
            rows.append([name, int(n_answers), *map(_cell, row), curve.n_seeds, _cell(estimate)])
    return csv_text(header, rows)


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def _summary(comparison: Comparison) -> dict[str, Any]:
    n_seeds = next(iter(comparison.curves.values())).n_seeds
    return {
        "erkle": __version__,
        "world": comparison.plan.record,
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
        "error_at": {str(mark): None if math.isnan(error := curve.at(mark)) else error for mark in SHOWN},
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

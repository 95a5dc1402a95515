"""The files that a simulation writes: a table of error curves, a picture of them, and a summary.

The picture shows mean errors with their 95 % intervals, on a logarithmic scale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from erkle import __version__
from erkle.csv_files import csv_text
from erkle.files import write_text
from erkle.pictures import save
from erkle.pictures.style import (
    COLOURS,
    SOFT,
    Label,
    add_axes,
    label_width,
    new_figure,
    picture_style,
    write_beside,
    write_title,
)
from erkle.simulation.comparing import Curve, Ratio, answers_to, compare
from erkle.simulation.runs import Plan
from erkle.simulation.study import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Answers per object at which the summary lists errors.
SHOWN = (5, 10, 20, 40)
# The strategy that the others are compared with.
BASELINE = "random"
# Size of the picture, in points.
_WIDTH, _HEIGHT = 620.0, 360.0
# Margins of the picture, in points.
_LEFT, _BOTTOM, _TOP = 50.0, 42.0, 50.0
# Height of the axes, in points.
_TALL = _HEIGHT - _BOTTOM - _TOP
# Smallest number of ticks.
_N_TICKS = 4
# Leading digits of the ticks; the first set with enough ticks is used.
_DIGITS = ((1, 2, 5), (1, 2, 3, 4, 5, 7), (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9))
# Lowest value of the axis, in per cent: a logarithmic axis cannot show an error of 0.
_LEAST = 1e-3


class Comparison(NamedTuple):
    """Everything that the files show, by strategy; waits are the median and the 95th percentile, in milliseconds."""

    plan: Plan
    curves: dict[str, Curve]
    ratios: dict[str, list[Ratio]]
    waits: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, runs: dict[str, list[Run]], plan: Plan) -> Self:
        """The comparison of the runs of each strategy, one run per seed."""
        curves = {name: Curve.of(some, plan.n_objects) for name, some in runs.items()}
        others = [name for name in curves if name != BASELINE] if BASELINE in curves else []
        ratios = {name: compare(curves[BASELINE], curves[name]) for name in others}
        waits = {}
        for name, some in runs.items():
            median, late = np.percentile(np.concatenate([run.waits for run in some]), [50, 95]).tolist()
            waits[name] = (1000 * median, 1000 * late)
        return cls(plan, curves, ratios, waits)


def write_comparison(comparison: Comparison, out: Path) -> None:
    """Write curves.csv, curves.png, curves.svg and summary.json."""
    write_text(out / "curves.csv", _table(comparison.curves))
    picture = curves_figure(comparison.curves, comparison.plan.world.title)
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
        "title": comparison.plan.world.title,
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
    """A ratio for the summary. JSON has neither NaN nor infinity: they become null, and the text says what is meant."""
    needed = answers_to(curve, ratio.error)
    bounds = {name: getattr(ratio, name) or None for name in ("value", "low", "high")}
    return {
        "random_at": ratio.per_object,
        "error": ratio.error,
        "n_answers": needed if math.isfinite(needed) else None,
        "ratio": {name: None if value != value else value for name, value in bounds.items()},
        "text": ratio.text,
    }


def curves_figure(curves: Mapping[str, Curve], title: str) -> Figure:
    """Errors of strategies, in per cent, over answers per object.

    >>> from erkle.simulation.study import Run
    >>> runs = [Run([10, 20], [0.4, 0.2], [0.4, 0.3], []), Run([10, 20], [0.3, 0.2], [0.4, 0.3], [])]
    >>> figure = curves_figure({"random": Curve.of(runs, n_objects=10)}, "10 points")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['random 20.0 %']
    """
    low, high = _limits(list(curves.values()))
    named = list(zip(curves.items(), cycle(COLOURS), strict=False))
    labels = [_label(name, curve, colour, low, high) for (name, curve), colour in named]
    with picture_style():
        figure = new_figure(_WIDTH, _HEIGHT)
        write_title(figure, title)
        axes = add_axes(figure, _LEFT, _BOTTOM, _WIDTH - _LEFT - label_width(labels), _TALL)
        _format_axes(axes, list(curves.values()), low, high)
        for (_, curve), colour in named:
            _draw(axes, curve, colour, low)
        write_beside(axes, labels, _TALL)
    return figure


def _limits(curves: list[Curve]) -> tuple[float, float]:
    """The lower and upper limit in per cent: they contain all means, and most of the intervals."""
    means = 100 * np.concatenate([curve.error for curve in curves])
    positive = means[means > 0]
    lowest = float(positive.min()) if len(positive) else 1.0
    return max(_LEAST, 0.7 * lowest), min(100.0, 1.2 * max(float(means.max()), 2 * lowest))


def _label(name: str, curve: Curve, colour: str, low: float, high: float) -> Label:
    last = 100 * float(curve.error[-1])
    height = np.log(max(last, low) / low) / np.log(high / low)
    return Label(f"{name} {last:{'.1f' if last >= 1 else '.2g'}} %", float(height), colour)


def _ticks(low: float, high: float) -> list[float]:
    found: list[float] = []
    for digits in _DIGITS:
        ticks = [digit * 10.0**power for power in range(-3, 3) for digit in digits]
        found = [tick for tick in ticks if low <= tick <= high]
        if len(found) >= _N_TICKS:
            break
    return found


def _format_axes(axes: Axes, curves: list[Curve], low: float, high: float) -> None:
    from matplotlib.ticker import MaxNLocator, NullLocator, StrMethodFormatter

    axes.set(xlim=(0.0, max(curve.per_object[-1] for curve in curves)), yscale="log", ylim=(low, high))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    axes.set_yticks(_ticks(low, high))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g} %"))
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("answers per object", loc="right")
    bands = "; bands are 95 % intervals" if curves[0].n_seeds > 1 else ""
    axes.set_title(f"error on test answers, logarithmic{bands}", loc="left", fontsize=9, color=SOFT, pad=10)


def _draw(axes: Axes, curve: Curve, colour: str, low: float) -> None:
    x, y = curve.per_object, np.maximum(100 * curve.error, low)
    if curve.n_seeds > 1:
        least, most = (np.maximum(100 * bound, low) for bound in curve.interval)
        axes.fill_between(x, least, most, color=colour, alpha=0.16, linewidth=0)
    axes.plot(x, y, color=colour, linewidth=1.7, solid_capstyle="round", clip_on=False)
    axes.plot(x, y, "o", color=colour, markersize=3.2, clip_on=False)

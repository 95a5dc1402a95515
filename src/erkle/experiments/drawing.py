"""A figure as a picture: the mean of each method with its 95 % interval, in the order of the paper's legend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from erkle.experiments.curves import Curves, MeanCurve
from erkle.experiments.figures import Figure
from erkle.pictures.look import COLOURS, FAINT, INK, SOFT, look, new_figure

if TYPE_CHECKING:
    import matplotlib.figure

__all__ = ["draw"]

_NAMES = {
    "answers": "answers learned",
    "passes": "passes over the answers",
    "test_error": "test error",
    "train_error": "training error",
    "rank": "rank of the kernel",
    "seconds": "seconds in all",
}
_DASHES = ("-", "--", ":")


def draw(figure: Figure, curves: Curves) -> matplotlib.figure.Figure:
    """The picture of a figure."""
    with look():
        picture = new_figure(460, 320)
        axes = picture.add_axes((0.11, 0.14, 0.58, 0.74))
        for i, method in enumerate(figure.methods):
            curve = curves.of(figure.world, method, figure.y, figure.x)
            _line(axes, curve, method, COLOURS[i % len(COLOURS)], _DASHES[i // len(COLOURS)])
        if figure.y == "seconds":
            axes.set_yscale("log")
        elif figure.y.endswith("error"):
            axes.set_ylim(0.0, min(1.0, _highest(figure, curves)))
        axes.set_xlabel(_NAMES[figure.x])
        axes.set_ylabel(_NAMES[figure.y])
        axes.grid(axis="y", color=FAINT, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=0)
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=7.5, labelcolor=INK)
        picture.text(0.11, 0.93, f"Figure {figure.name}. {figure.title}", fontsize=9, color=INK, weight="bold")
        if figure.note:
            picture.text(0.11, 0.015, figure.note, fontsize=5.5, color=SOFT)
    return picture


def _line(axes: object, curve: MeanCurve, name: str, colour: str, dash: str) -> None:
    few = len(curve.x) <= 12
    axes.plot(  # type: ignore[attr-defined]
        curve.x, curve.mean, dash, color=colour, linewidth=1.3, label=name, marker="o" if few else None, markersize=2.5
    )
    low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
    axes.fill_between(curve.x, low, high, color=colour, alpha=0.18, linewidth=0)  # type: ignore[attr-defined]


def _highest(figure: Figure, curves: Curves) -> float:
    """Room for all but the very beginning, where every error starts at one."""
    heights = []
    for method in figure.methods:
        mean = curves.of(figure.world, method, figure.y, figure.x).mean
        heights.append(np.sort(mean)[-1 - len(mean) // 20])
    return float(1.08 * max(heights))

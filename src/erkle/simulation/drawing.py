"""Strategies against each other as a picture: mean errors on a logarithmic scale, with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from erkle.pictures.beside import Label, room, write_beside
from erkle.pictures.look import COLOURS, SOFT, add_axes, look, new_figure, write_title
from erkle.simulation.comparing import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curves_figure"]

# In points.
_WIDTH, _HEIGHT = 620.0, 360.0
_LEFT, _BOTTOM, _TOP = 50.0, 42.0, 50.0
_TALL = _HEIGHT - _BOTTOM - _TOP
# Round numbers for the ticks: the first that give at least so many.
_DIGITS, _N_TICKS = ((1, 2, 5), (1, 2, 3, 4, 5, 7), (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9)), 4
# An error of 0 lies below everything; so does a bound of 0.
_LEAST = 1e-3


def curves_figure(curves: Mapping[str, Curve], title: str) -> Figure:
    """Errors of strategies, in per cent, over answers an object.

    >>> from erkle.simulation.running import Course
    >>> courses = [Course([10, 20], [0.4, 0.2], [0.4, 0.3], []), Course([10, 20], [0.3, 0.2], [0.4, 0.3], [])]
    >>> figure = curves_figure({"random": Curve.of(courses, n_objects=10)}, "10 points")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['random 20.0 %']
    """
    low, high = _limits(list(curves.values()))
    named = list(zip(curves.items(), cycle(COLOURS), strict=False))
    labels = [_label(name, curve, colour, low, high) for (name, curve), colour in named]
    with look():
        figure = new_figure(_WIDTH, _HEIGHT)
        write_title(figure, title)
        axes = add_axes(figure, _LEFT, _BOTTOM, _WIDTH - _LEFT - room(labels), _TALL)
        _furnish(axes, list(curves.values()), low, high)
        for (_, curve), colour in named:
            _draw(axes, curve, colour, low)
        write_beside(axes, labels, _TALL)
    return figure


def _limits(curves: list[Curve]) -> tuple[float, float]:
    """Per cent at the foot and at the top: around all means, with room for most of the bands."""
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


def _furnish(axes: Axes, curves: list[Curve], low: float, high: float) -> None:
    from matplotlib.ticker import MaxNLocator, NullLocator, StrMethodFormatter

    axes.set(xlim=(0.0, max(curve.per_object[-1] for curve in curves)), yscale="log", ylim=(low, high))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    axes.set_yticks(_ticks(low, high))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g} %"))
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("answers an object", loc="right")
    bands = "; bands are 95 % intervals" if curves[0].n_seeds > 1 else ""
    axes.set_title(f"error on test answers, logarithmic{bands}", loc="left", fontsize=9, color=SOFT, pad=10)


def _draw(axes: Axes, curve: Curve, colour: str, low: float) -> None:
    x, y = curve.per_object, np.maximum(100 * curve.error, low)
    if curve.n_seeds > 1:
        least, most = (np.maximum(100 * bound, low) for bound in curve.interval)
        axes.fill_between(x, least, most, color=colour, alpha=0.16, linewidth=0)
    axes.plot(x, y, color=colour, linewidth=1.7, solid_capstyle="round", clip_on=False)
    axes.plot(x, y, "o", color=colour, markersize=3.2, clip_on=False)

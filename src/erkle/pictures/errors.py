"""The error of a learner against the number of answers it has learned.

The name and the last value of a curve are written beside its end, in place of a legend.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from erkle.pictures.style import (
    COLOURS,
    SOFT,
    Label,
    add_axes,
    label_width,
    new_figure,
    picture_style,
    plain,
    write_beside,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

# Size of the picture without its title, in points.
WIDTH, HEIGHT = 620.0, 330.0
# Margins around the axes, in points. The right margin is as wide as the longest label.
LEFT, BOTTOM, TOP = 50.0, 42.0, 34.0
# Extra height for a title, in points.
TITLE_ROOM = 16.0
# Characters of a curve's name that are shown.
LONGEST_NAME = 36
# Error of guessing, in per cent.
CHANCE = 50.0
# Up to this many points, a curve is drawn whole, with a dot for each point.
FEW = 40
# Most points drawn of a curve, about as many as a screen has columns.
MANY = 2000
# Share of the answers left out at the start of a long curve: an average over a handful of answers is noise.
EARLY = 0.005


class DrawnCurve(NamedTuple):
    """A curve as it is drawn: its name, numbers of answers, and the error at each of them in per cent."""

    name: str
    x: Floats
    y: Floats


def errors_figure(n_answers: npt.ArrayLike, curves: Mapping[str, npt.ArrayLike], title: str | None = None) -> Figure:
    """Draw curves of the error, in per cent, over the number of answers learned.

    Parameters
    ----------
    n_answers : array of shape (n_points,)
        Numbers of answers, in increasing order.
    curves : mapping from names to arrays of shape (n_points,)
        Shares of wrong answers, from 0 to 1. Points that are NaN are left out of the curve.
    title : str, optional

    Examples
    --------
    >>> figure = errors_figure([10, 20, 30], {"held out": [0.4, 0.3, 0.25]})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['held out 25.0 %']
    """
    x = _checked_counts(n_answers)
    measured = [_curve(name, x, _checked_errors(name, y, len(x))) for name, y in curves.items()]
    shown = [curve for curve in measured if len(curve.x)]
    ceiling = _ceiling(shown)
    labels = [_label(curve, ceiling, colour) for curve, colour in zip(shown, cycle(COLOURS), strict=False)]
    if ceiling > CHANCE:
        labels.append(Label("guessing", CHANCE / ceiling, SOFT))
    with picture_style():
        figure = new_figure(WIDTH, HEIGHT + (TITLE_ROOM if title else 0.0))
        if title:
            write_title(figure, title)
        axes = add_axes(figure, LEFT, BOTTOM, WIDTH - LEFT - label_width(labels), HEIGHT - BOTTOM - TOP)
        _set_up_axes(axes, x[-1], ceiling)
        for curve, colour in zip(shown, cycle(COLOURS), strict=False):
            _draw(axes, curve, colour)
        write_beside(axes, labels, HEIGHT - BOTTOM - TOP)
    return figure


def _curve(name: str, x: Floats, y: Floats) -> DrawnCurve:
    """The part of a curve that is drawn, which always includes the last point."""
    there = np.isfinite(y)
    x, y = x[there], 100 * y[there]
    if len(x) > FEW:
        late = np.searchsorted(x, x[0] + EARLY * (x[-1] - x[0]))
        kept = np.unique(np.linspace(late, len(x) - 1, MANY).astype(int))
        x, y = x[kept], y[kept]
    return DrawnCurve(plain(name, LONGEST_NAME), x, y)


def _label(curve: DrawnCurve, ceiling: float, colour: str) -> Label:
    return Label(f"{curve.name} {curve.y[-1]:.1f} %".lstrip(), float(curve.y[-1]) / ceiling, colour)


def _ceiling(curves: list[DrawnCurve]) -> float:
    """The upper limit of the vertical axis: a round number above all curves."""
    highest = max((float(curve.y.max()) for curve in curves), default=CHANCE)
    step = 10.0 if highest > 25 else 5.0
    return float(min(100.0, step * np.ceil((1.05 * highest + 0.5) / step)))


def _set_up_axes(axes: Axes, most: float, ceiling: float) -> None:
    """Set limits, grid and ticks, and draw the line of guessing."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes.set(xlim=(0, max(1.0, most)), ylim=(0, ceiling))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g} %"))
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("answers", loc="right")
    axes.set_title("error", loc="left", fontsize=9, color=SOFT, pad=10)
    if ceiling > CHANCE:
        axes.axhline(CHANCE, color=SOFT, linewidth=0.9, linestyle=(0, (1, 3)))


def _draw(axes: Axes, curve: DrawnCurve, colour: str) -> None:
    """Draw a line with a dot at its end; a curve of few points gets a small dot at each of them."""
    axes.plot(curve.x, curve.y, color=colour, linewidth=1.7, solid_capstyle="round", clip_on=False)
    axes.plot(curve.x[-1:], curve.y[-1:], "o", color=colour, markersize=5.0, clip_on=False)
    if len(curve.x) <= FEW:
        axes.plot(curve.x, curve.y, "o", color=colour, markersize=3.2, clip_on=False)


def _checked_counts(n_answers: npt.ArrayLike) -> Floats:
    x = np.asarray(n_answers, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all() or x[0] < 0 or np.any(np.diff(x) <= 0):
        raise ValueError(
            f"Got n_answers of shape {x.shape} that are not increasing counts in one dimension; "
            "pass the number of answers at each point of the curves."
        )
    return x


def _checked_errors(name: str, y: npt.ArrayLike, n_points: int) -> Floats:
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (n_points,):
        raise ValueError(
            f"Got curve {name!r} of shape {y.shape}, but n_answers has shape ({n_points},); "
            "put NaN where the curve has no point."
        )
    if np.any((y < 0) | (y > 1)):
        raise ValueError(f"Got curve {name!r} with values outside 0 to 1; pass shares (per cent divided by 100).")
    return y

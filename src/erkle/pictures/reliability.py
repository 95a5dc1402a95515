"""How often a learner was right, against how sure it was.

Dots on the diagonal mean that confidence is calibrated. Above the diagonal the learner was right more often than it
claimed, below it less often. Bars below show the number of answers in each bin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from erkle.pictures.style import COLOURS, SOFT, add_axes, new_figure, picture_style, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

# Side of the square with the dots, in points.
SIDE = 300.0
# Height of the bars, and the gap between them and the dots, in points.
FOOT, GAP = 60.0, 34.0
# Margins around the axes, in points.
LEFT, RIGHT, BOTTOM, TOP = 52.0, 18.0, 42.0, 30.0
# Extra height for a title, in points.
TITLE_ROOM = 16.0


def reliability_figure(
    n_answers: npt.ArrayLike, confidence: npt.ArrayLike, accuracy: npt.ArrayLike, title: str | None = None
) -> Figure:
    """Draw accuracy over confidence, both in per cent, and the number of answers in each bin.

    Parameters
    ----------
    n_answers : array of shape (n_bins,)
        Number of answers in each bin. Empty bins are not drawn.
    confidence, accuracy : arrays of shape (n_bins,)
        Mean confidence, from 0.5 to 1, and share of correct predictions in each bin. Empty bins may be NaN.
    title : str, optional

    Examples
    --------
    >>> figure = reliability_figure([30, 70], [0.6, 0.9], [0.55, 0.9])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['right', 'answers']
    """
    n, x, y = _checked(n_answers, confidence, accuracy)
    height = SIDE + GAP + FOOT + BOTTOM + TOP + (TITLE_ROOM if title else 0.0)
    with picture_style():
        figure = new_figure(LEFT + SIDE + RIGHT, height)
        upper = add_axes(figure, LEFT, BOTTOM + FOOT + GAP, SIDE, SIDE)
        lower = add_axes(figure, LEFT, BOTTOM, SIDE, FOOT)
        for axes in (upper, lower):
            axes.set(xlim=(50.0, 100.0), xticks=[50, 60, 70, 80, 90, 100])
        if title:
            write_title(figure, title)
        _draw_dots(upper, n, x, y)
        _draw_bars(lower, n, x)
    return figure


def _draw_dots(axes: Axes, n: Floats, x: Floats, y: Floats) -> None:
    from matplotlib.ticker import StrMethodFormatter

    axes.plot([50.0, 100.0], [50.0, 100.0], color=SOFT, linewidth=0.9, linestyle=(0, (1, 3)))
    axes.plot(x, y, color=COLOURS[0], linewidth=1.2, alpha=0.5, clip_on=False)
    # The area of a dot grows with the number of answers in its bin.
    axes.scatter(x, y, s=12.0 + 60.0 * n / n.max(initial=1.0), color=COLOURS[0], zorder=3, clip_on=False)
    axes.set(ylim=(min(50.0, 10.0 * np.floor(y.min(initial=50.0) / 10.0)), 100.0), xticklabels=[])
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g} %"))
    _name(axes, "right")
    axes.annotate(
        "perfectly calibrated", (81.0, 81.0), (8.0, -14.0), textcoords="offset points", color=SOFT, fontsize=8
    )


def _draw_bars(axes: Axes, n: Floats, x: Floats) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes.bar(x, n, width=3.0, color=COLOURS[0])
    axes.set(ylim=(0.0, 1.05 * n.max(initial=1.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g} %"))
    axes.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _name(axes, "answers")
    axes.set_xlabel("how sure it was before learning", loc="right")


def _name(axes: Axes, what: str) -> None:
    axes.set_title(what, loc="left", fontsize=9, color=SOFT, pad=8, x=-0.14)


def _checked(n_answers: npt.ArrayLike, confidence: npt.ArrayLike, accuracy: npt.ArrayLike) -> tuple[Floats, ...]:
    n, x, y = (np.asarray(values, dtype=np.float64) for values in (n_answers, confidence, accuracy))
    if n.ndim != 1 or not n.shape == x.shape == y.shape:
        raise ValueError(
            f"Got n_answers, confidence and accuracy of shapes {n.shape}, {x.shape} and {y.shape}; "
            "pass three arrays with one number per bin, such as the fields of reliability_."
        )
    there = n > 0
    shares = np.concatenate([x[there], y[there]])
    if np.any(n < 0) or not np.all((shares >= 0) & (shares <= 1)):
        raise ValueError(
            "Got negative counts or shares outside 0 to 1; pass counts and shares, such as the fields of reliability_."
        )
    return n[there], 100 * x[there], 100 * y[there]

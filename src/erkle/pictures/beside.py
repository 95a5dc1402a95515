"""Names of curves beside their ends, in place of a legend to look up."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from erkle.pictures.look import SOFT, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In points: the letters, the room left and right of a label, and that from one line to the next.
SIZE, GAP, STEP = 9.0, 9.0, 13.0


class Label(NamedTuple):
    """Words to write at a height, as a share of that of the axes."""

    text: str
    height: float
    colour: str


def room(labels: Sequence[Label]) -> float:
    """Points that the labels need to the right of the axes."""
    return 2 * GAP + max((text_width(label.text, SIZE, "bold") for label in labels), default=0.0)


def write_beside(axes: Axes, labels: Sequence[Label], tall: float) -> None:
    """Labels at the right edge of axes so many points tall, as near their heights as they can be without touching."""
    from scipy.optimize import isotonic_regression

    if not labels:
        return
    labels = sorted(labels, key=attrgetter("height"))
    steps = STEP * np.arange(len(labels))
    wanted = np.array([label.height for label in labels]) * tall
    heights = np.clip(isotonic_regression(wanted - steps).x, 0.0, max(0.0, tall - steps[-1])) + steps
    for label, height in zip(labels, heights / tall, strict=True):
        axes.annotate(
            label.text,
            (1.0, height),
            (GAP, 0.0),
            "axes fraction",
            "offset points",
            va="center",
            fontsize=SIZE,
            fontweight="normal" if label.colour == SOFT else "bold",
            color=label.colour,
        )

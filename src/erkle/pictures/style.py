"""The style that all pictures share: white background, dark grey text, few colours, one typeface, labels beside curves.

A picture does not depend on the user's matplotlib settings, and does not change them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from erkle.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

INK, SOFT, FAINT = "#2b2f36", "#7a808a", "#e4e6ea"

# Any two of these colours can be told apart with each common kind of colour blindness.
COLOURS = ("#2f5d8c", "#d9822b", "#3f9c86", "#512f33", "#b596ee", "#9f4a12")

POINTS_PER_INCH = 72.0
DOTS_PER_INCH = 200
# Distance of a title from the edges of the picture, in points.
_MARGIN = 9.0
# Font size of labels beside curves, in points.
LABEL_SIZE = 9.0
# Space left and right of a label, in points.
LABEL_GAP = 9.0
# Distance between the lines of two labels, in points.
LABEL_STEP = 13.0

# DejaVu Sans comes with matplotlib. The others supply letters it lacks, if they are installed.
TYPEFACES = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Microsoft YaHei",
    "Hiragino Sans",
    "Arial Unicode MS",
    "Noto Emoji",
    "Segoe UI Symbol",
)

# Matplotlib's settings are global: two threads that change them at the same time would restore the wrong ones.
_lock = threading.RLock()


@contextmanager
def picture_style() -> Iterator[None]:
    """Use our matplotlib settings inside the block."""
    import matplotlib.style

    settings = {
        "font.family": typefaces(),
        "font.size": 9.0,
        "text.color": INK,
        "text.parse_math": False,
        "text.usetex": False,
        # With hinting, letters are drawn up to a seventh wider than `text_width` measures.
        "text.hinting": "none",
        "axes.edgecolor": FAINT,
        "axes.labelcolor": SOFT,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "figure.facecolor": "white",
        "axes.facecolor": "white",
        "savefig.dpi": DOTS_PER_INCH,
        "savefig.bbox": None,
        "svg.hashsalt": "erkle",
    }
    with _lock, matplotlib.style.context(["default", settings]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure without a window; width and height are in points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / POINTS_PER_INCH, height / POINTS_PER_INCH), dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Add axes, placed in points, with a faint grid and a line at the bottom only."""
    across, up = figure.get_size_inches() * POINTS_PER_INCH
    axes = figure.add_axes((left / across, bottom / up, width / across, height / up))
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.tick_params(length=0, pad=6, labelsize=8.5)
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def write_title(figure: Figure, title: str) -> None:
    """Write a title in the upper left corner."""
    across, up = figure.get_size_inches() * POINTS_PER_INCH
    place = (_MARGIN / across, 1 - _MARGIN / up)
    figure.text(*place, plain(title), fontsize=12, fontweight="bold", color=INK, va="top")


class Label(NamedTuple):
    """Text at a height, which is a share of the height of the axes."""

    text: str
    height: float
    colour: str


def label_width(labels: Sequence[Label]) -> float:
    """Width that the labels need to the right of the axes, in points."""
    return 2 * LABEL_GAP + max((text_width(label.text, LABEL_SIZE, "bold") for label in labels), default=0.0)


def write_beside(axes: Axes, labels: Sequence[Label], tall: float) -> None:
    """Write labels to the right of axes, as close to their heights as possible without touching.

    ``tall`` is the height of the axes in points.
    """
    from scipy.optimize import isotonic_regression

    if not labels:
        return
    labels = sorted(labels, key=attrgetter("height"))
    steps = LABEL_STEP * np.arange(len(labels))
    wanted = np.array([label.height for label in labels]) * tall
    heights = np.clip(isotonic_regression(wanted - steps).x, 0.0, max(0.0, tall - steps[-1])) + steps
    for label, height in zip(labels, heights / tall, strict=True):
        axes.annotate(
            label.text,
            (1.0, height),
            (LABEL_GAP, 0.0),
            "axes fraction",
            "offset points",
            va="center",
            fontsize=LABEL_SIZE,
            fontweight="normal" if label.colour == SOFT else "bold",
            color=label.colour,
        )


def plain(text: object, longest: int = 80) -> str:
    """Text on one line, cut to a length, with a box for each character that no installed typeface has.

    >>> plain("a   long name", longest=8)
    'a long…'
    """
    line = "".join(c for c in " ".join(str(text).split()) if c.isprintable())
    if len(line) > longest:
        line = line[: longest - 1].rstrip() + "…"
    return "".join(c if _drawable(c) else "□" for c in line)


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of a plain text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    letters = FontProperties(family=typefaces(), size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, letters, ismath=False)[0])


@cache
def typefaces() -> list[str]:
    """The `TYPEFACES` that are installed."""
    from matplotlib.font_manager import get_font_names

    return [name for name in TYPEFACES if name in set(get_font_names())]


@cache
def _fonts() -> tuple[FT2Font, ...]:
    from matplotlib.font_manager import findfont, get_font

    return tuple(get_font(findfont(name)) for name in typefaces())


def _drawable(character: str) -> bool:
    return any(font.get_char_index(ord(character)) for font in _fonts())


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file; its suffix gives the format: .png (200 dots per inch), .pdf or .svg.

    The file is replaced as a whole, so a reader never sees half a picture. The folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> from erkle.pictures import map_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(map_figure([[0, 0], [3, 1]]), f"{folder}/map.png").name
    'map.png'
    """
    path = Path(path)
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"Got the file name {path.name!r}, which has no suffix of a picture; use .png, .pdf or .svg.")
    with picture_style(), write_atomically(path) as file:
        figure.savefig(file, format=suffix)
    return path

"""Maps of objects: a single map, or the learned map beside the true one.

Only distances have a meaning in a map, so it has no ticks. Both axes, and both maps of a pair, have the same scale.

In a pair of maps, an object has the same colour in both, and neighbours have similar colours. Hue changes from west to
east (blue, violet, red, amber) and lightness from south to north. Lightness is perceived lightness (OKLCh), so north
and south can be told apart without seeing hue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from erkle.pictures import labels
from erkle.pictures.style import COLOURS, FAINT, INK, POINTS_PER_INCH, new_figure, picture_style, plain, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

# Characters of an object's name that are shown.
LONGEST_NAME = 24
# Smallest radius of a dot, in points.
SMALLEST = 0.8
# Names to place, spread evenly over the map; more never fit.
MOST_NAMES = 300

NOTE = "The colour shows the true place of each object, and a thin line leads to it."

# Colour of objects whose place means nothing.
GREY = "#b4b8bf"

# Space around each map, in points.
MARGIN = 14.0
# Height of the titles and of the note below a pair of maps, in points.
TITLE_ROOM, NOTE_ROOM = 18.0, 12.0
# Smallest width and height of a map, in points.
SHORTEST = np.array([320.0, 160.0])
# Space between the outermost dots and the frame, in points; it leaves room for names.
EDGE = np.array([44.0, 22.0])

# Hue of OKLCh at the western and eastern edge, in degrees.
WEST, EAST = 255.0, 430.0
# Lightness of OKLCh at the southern and northern edge.
SOUTH, NORTH = 0.42, 0.76
# Chroma of OKLCh.
CHROMA = 0.135

# From OKLab to cone responses, and from there to linear sRGB (Björn Ottosson, "A perceptual color space", 2020).
TO_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


class Page(NamedTuple):
    """place = (X − centre) · scale + middle: the size of a map in points, and the part of the plane it shows."""

    width: float
    height: float
    centre: Floats
    scale: float

    def places(self, X: Floats) -> Floats:
        """Positions in points, measured from the lower left corner of the map."""
        return np.asarray((X - self.centre) * self.scale + [self.width / 2, self.height / 2])

    def coordinates(self, places: Floats) -> Floats:
        """The inverse of `places`."""
        return np.asarray((places - [self.width / 2, self.height / 2]) / self.scale + self.centre)


def map_figure(
    X: npt.ArrayLike,
    names: Sequence[str] | None = None,
    title: str | None = None,
    note: str | None = None,
    grey: npt.ArrayLike | None = None,
) -> Figure:
    """Draw a map of objects with as many names as fit.

    Parameters
    ----------
    X : array of shape (n_objects, n_components)
        Coordinates. The first two columns are drawn; a single column is drawn as a line.
    names : sequence of n_objects strings, optional
    title : str, optional
    note : str, optional
        A line of small text below the map.
    grey : array of n_objects bool, optional
        Objects to draw in grey, for example those that no answer names.

    Examples
    --------
    >>> figure = map_figure([[0, 0], [3, 1], [1, 2]], names=["plum", "pear", "fig"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['plum', 'pear', 'fig']
    """
    X = _checked_map(X, "X")
    _check_names(names, len(X))
    page = _page(X, side=float(np.interp(len(X), [10, 60, 400], [420.0, 560.0, 840.0])))
    top, bottom = TITLE_ROOM if title else 0.0, NOTE_ROOM if note else 0.0
    with picture_style():
        figure = new_figure(page.width + 2 * MARGIN, page.height + top + bottom + 2 * MARGIN)
        axes = _panel(figure, page, MARGIN, MARGIN + bottom, title)
        if note:
            _write_note(axes, note)
        _draw(axes, page, X, _dot_colours(len(X), grey), names)
    return figure


def maps_figure(
    learned: npt.ArrayLike,
    truth: npt.ArrayLike,
    names: Sequence[str] | None = None,
    titles: tuple[str, str] = ("learned", "true"),
) -> Figure:
    """Draw the learned map beside the true one; each object has the colour of its true place.

    Parameters
    ----------
    learned, truth : arrays of shape (n_objects, n_components)
        Coordinates in the same units. Use `erkle.embedding.align` with ``scale=True`` to rotate and scale the
        learned map onto the true one first. Thin lines in the learned map lead to the true places.
    names : sequence of n_objects strings, optional
    titles : two strings
        Titles of the learned and the true map.

    Examples
    --------
    >>> figure = maps_figure([[0, 0], [3, 1], [1, 2]], [[0, 0], [3, 0], [1, 3]], ["plum", "pear", "fig"])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['learned', 'true']
    """
    X, Y = _checked_map(learned, "learned"), _checked_map(truth, "truth")
    if len(X) != len(Y):
        raise ValueError(
            f"Got a learned map of {len(X)} objects and a true map of {len(Y)}; pass two maps of the same objects."
        )
    _check_names(names, len(X))
    page = _page(np.vstack([X, Y]), side=440.0)
    colours = place_colours(Y)
    with picture_style():
        figure = new_figure(2 * page.width + 3 * MARGIN, page.height + TITLE_ROOM + NOTE_ROOM + 2 * MARGIN)
        left = _panel(figure, page, MARGIN, MARGIN + NOTE_ROOM, titles[0])
        right = _panel(figure, page, page.width + 2 * MARGIN, MARGIN + NOTE_ROOM, titles[1])
        _write_note(left, NOTE)
        _draw_lines_to_truth(left, X, Y, colours)
        _draw(left, page, X, colours, names)
        _draw(right, page, Y, colours, names)
    return figure


def place_colours(X: Floats) -> Floats:
    """Colours of places (n_objects, 2): red, green and blue from 0 to 1, shape (n_objects, 3).

    >>> place_colours(np.array([[0.0, 0.0], [1.0, 1.0]])).shape
    (2, 3)
    """
    extent = np.ptp(X, axis=0)
    east, north = ((X - X.min(axis=0)) / np.where(extent > 0, extent, 1.0)).T
    hue = np.radians(WEST + (EAST - WEST) * east)
    lightness = SOUTH + (NORTH - SOUTH) * north
    lab = np.stack([lightness, CHROMA * np.cos(hue), CHROMA * np.sin(hue)], axis=1)
    linear = np.clip((lab @ TO_CONES.T) ** 3 @ TO_LINEAR.T, 0.0, 1.0)
    gamma = 1.055 * linear ** (1 / 2.4) - 0.055
    return np.asarray(np.where(linear <= 0.0031308, 12.92 * linear, gamma), dtype=np.float64)


def _dot_colours(n_objects: int, grey: npt.ArrayLike | None) -> list[str]:
    mask = np.zeros(n_objects, np.bool_) if grey is None else np.asarray(grey, np.bool_)
    if mask.shape != (n_objects,):
        raise ValueError(f"Got grey of shape {mask.shape} for {n_objects} objects; pass True or False for each object.")
    return [GREY if is_grey else COLOURS[0] for is_grey in mask.tolist()]


def _write_note(axes: Axes, note: str) -> None:
    axes.set_xlabel(plain(note), loc="left", fontsize=8, labelpad=6)


def _draw(axes: Axes, page: Page, X: Floats, colours: list[str] | Floats, names: Sequence[str] | None) -> None:
    """Draw dots and names, smaller if there are more of them."""
    room = np.sqrt(page.width * page.height / len(X))
    radius = float(np.clip(room / 14, SMALLEST, 4.2))
    area = (2 * radius) ** 2
    # Crowded dots overlap: transparency shows how many there are, and white rims would hide it.
    rims, strength = (0.0, 0.5) if radius == SMALLEST else (0.6, 1.0)
    axes.scatter(X[:, 0], X[:, 1], s=area, c=colours, linewidths=rims, edgecolors="white", alpha=strength, zorder=3)
    if names is not None:
        _write_names(axes, page, X, names, radius, size=float(np.clip(room / 7, 6.5, 8.5)))


def _write_names(axes: Axes, page: Page, X: Floats, names: Sequence[str], radius: float, size: float) -> None:
    from matplotlib.patheffects import withStroke

    places = page.places(X)
    named = labels.spread(places, MOST_NAMES)
    shown = [plain(names[i], LONGEST_NAME) for i in named]
    sizes = np.array([(text_width(name, size), 1.05 * size) for name in shown])
    corners = labels.place(places, named, sizes, (page.width, page.height), radius + 1.5)
    baselines = page.coordinates(corners + np.array([0.0, 0.25 * size]))
    halo = [withStroke(linewidth=2.0, foreground="white")]
    for name, (x, y) in zip(shown, baselines, strict=True):
        if name and np.isfinite(x):
            axes.text(x, y, name, fontsize=size, color=INK, zorder=4, path_effects=halo)


def _draw_lines_to_truth(axes: Axes, X: Floats, Y: Floats, colours: Floats) -> None:
    """Draw thin lines from the learned places to the true ones."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(np.stack([X, Y], axis=1)), colors=colours, linewidths=0.8, alpha=0.45))


def _panel(figure: Figure, page: Page, left: float, bottom: float, title: str | None) -> Axes:
    """Add axes without ticks that show the page; ``left`` and ``bottom`` are in points."""
    width, height = figure.get_size_inches() * POINTS_PER_INCH
    axes = figure.add_axes((left / width, bottom / height, page.width / width, page.height / height))
    (x0, y0), (x1, y1) = page.coordinates(np.array([[0.0, 0.0], [page.width, page.height]]))
    axes.set(xlim=(x0, x1), ylim=(y0, y1), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_color(FAINT)
    axes.set_autoscale_on(False)
    if title:
        axes.set_title(plain(title), loc="left", fontsize=12, fontweight="bold", color=INK, pad=8)
    return axes


def _page(X: Floats, side: float) -> Page:
    """A page that shows all of X, at most ``side`` points wide and high, with room for names at the edges."""
    low, high = X.min(axis=0), X.max(axis=0)
    extent = high - low
    wide = extent > 1e-9 * np.abs(X).max()
    scale = float(np.min((side - 2 * EDGE)[wide] / extent[wide])) if wide.any() else 1.0
    width, height = np.maximum(SHORTEST, extent * scale + 2 * EDGE)
    return Page(float(width), float(height), (low + high) / 2, scale)


def _checked_map(X: npt.ArrayLike, name: str) -> Floats:
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise ValueError(f"Got {name} of shape {X.shape}, wanted (n_objects, n_components); pass one row per object.")
    if not np.isfinite(X).all():
        raise ValueError(f"Got {name} with NaN or infinite coordinates; leave these objects out of the map.")
    return np.pad(X[:, :2], ((0, 0), (0, max(0, 2 - X.shape[1]))))


def _check_names(names: Sequence[str] | None, n_objects: int) -> None:
    if names is not None and len(names) != n_objects:
        raise ValueError(
            f"Got {len(names)} names for {n_objects} objects; pass one name per object, in the same order."
        )

"""Places for the names of points, so that no name covers a point or another name.

A name goes beside, above or below its point, or is left out. Names are placed greedily: the next position chosen is
the one that conflicts with the fewest others, so that many names fit.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

# Directions from a point to its name: right, left, above and below, then diagonally.
SIDES = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)]
CORNERS = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
BETWEEN = [(x, y) for a, b in CORNERS for x, y in ((a, b / 2), (a / 2, b))]
DIRECTIONS = np.array(SIDES + CORNERS + BETWEEN)
# Cost of each direction, in the unit of one conflict with another possible name.
COSTS = np.array([0.0, 2.0, 3.0, 3.0] + 4 * [5.0] + 8 * [6.0])

# Space between two names on the same line, in points.
SPACE = 4.0

# With more points than this, their positions are rounded to half a point of the page, which saves time.
MANY = 5000


def place(points: Floats, named: Indices, sizes: Floats, page: tuple[float, float], gap: float) -> Floats:
    """Lower left corners of the names; NaN for a name that does not fit.

    Parameters
    ----------
    points : array of shape (n_points, 2)
        Positions on the page, measured from its lower left corner.
    named : integer array of shape (n_names,)
        Indices of the points that have a name.
    sizes : array of shape (n_names, 2)
        Width and height of each name.
    page : tuple of two floats
        Width and height of the page.
    gap : float
        Distance from the centre of a point to its name.

    Returns
    -------
    array of shape (n_names, 2)

    Examples
    --------
    >>> points = np.array([[10.0, 10.0], [14.0, 10.0]])
    >>> place(points, np.arange(2), np.array([[20.0, 8.0], [20.0, 8.0]]), page=(60.0, 20.0), gap=3.0)
    array([[nan, nan], [17.,  6.]])
    """
    corners = np.full(sizes.shape, np.nan)
    low = _candidates(points[named], sizes, gap)
    high = low + sizes[:, None]
    free = np.all((low >= 0) & (high <= page), axis=2) & ~_covers(low, high, points, gap)
    owner, direction = np.nonzero(free)
    low, high = low[free], high[free]
    conflicts = _overlaps(low, high) | (owner[:, None] == owner)
    for i in _improved(_independent(conflicts, COSTS[direction]), conflicts, owner, COSTS[direction]):
        corners[owner[i]] = low[i]
    return corners


def spread(points: Floats, most: int) -> Indices:
    """Indices of at most ``most`` points, chosen so that each is the farthest from those chosen before it.

    >>> spread(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]]), most=2)
    array([0, 2])
    """
    if len(points) <= most:
        return np.arange(len(points))
    chosen = [0]
    distance = np.full(len(points), np.inf)
    while len(chosen) < most:
        distance = np.minimum(distance, np.sum((points - points[chosen[-1]]) ** 2, axis=1))
        chosen.append(int(np.argmax(distance)))
    return np.unique(chosen)


def _candidates(points: Floats, sizes: Floats, gap: float) -> Floats:
    """Lower left corners, (n_points, n_directions, 2), at the same distance from the point in all directions."""
    reach = gap / np.maximum(1.0, np.linalg.norm(DIRECTIONS, axis=1, keepdims=True))
    centres = points[:, None] + DIRECTIONS * (reach + sizes[:, None] / 2)
    return np.asarray(centres - sizes[:, None] / 2, dtype=np.float64)


def _covers(low: Floats, high: Floats, points: Floats, gap: float) -> Mask:
    """Whether a box comes close to any point; its own point is just far enough away."""
    radius = 0.7 * gap
    if len(points) > MANY:
        points = np.unique(np.round(2 * points), axis=0) / 2
    covered = np.zeros(low.shape[:2], dtype=np.bool_)
    for i in range(len(low)):
        # Compare only points near the name: there may be a hundred thousand points.
        around = (points > low[i].min(axis=0) - radius) & (points < high[i].max(axis=0) + radius)
        near = points[np.all(around, axis=1)]
        inside = (near > low[i, :, None] - radius) & (near < high[i, :, None] + radius)
        covered[i] = np.all(inside, axis=2).any(axis=1)
    return covered


def _overlaps(low: Floats, high: Floats) -> Mask:
    high = high + np.array([SPACE, 0.0])
    apart = (low[:, None] >= high) | (low >= high[:, None])
    return np.asarray(~np.any(apart, axis=2))


def _independent(conflicts: Mask, costs: Floats) -> list[int]:
    """Candidates without conflicts between them, chosen greedily by the number of their conflicts."""
    left = np.ones(len(costs), dtype=np.bool_)
    degree = conflicts.sum(axis=1)
    chosen = []
    while left.any():
        best = int(np.argmin(np.where(left, degree + costs, np.inf)))
        chosen.append(best)
        gone = left & conflicts[best]
        left &= ~gone
        degree = degree - conflicts[:, gone].sum(axis=1)
    return chosen


def _improved(chosen: list[int], conflicts: Mask, owner: Indices, costs: Floats) -> list[int]:
    """The same names, each moved to the best direction that is still free."""
    taken = conflicts[chosen].sum(axis=0)
    for k, i in enumerate(chosen):
        free = (owner == owner[i]) & (taken == conflicts[i])
        chosen[k] = int(np.argmin(np.where(free, costs, np.inf)))
        taken += conflicts[chosen[k]].astype(int) - conflicts[i]
    return chosen

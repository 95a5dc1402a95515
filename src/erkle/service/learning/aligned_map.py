"""The map in the plane that people watch: each map is turned onto the one before, so that it does not jump."""

import math

import numpy as np
from numpy.typing import NDArray

from erkle.embedding import align, principal
from erkle.service.learning.view import View

Floats = NDArray[np.float64]

# A new axis replaces one of the map before only if its variance is larger by this share of the largest variance.
_INERTIA = 0.15


def aligned_map(view: View, before: Floats | None) -> Floats:
    """Coordinates in the plane, (n, 2), of mean length 1, aligned with the map before.

    Parameters
    ----------
    view : View
        What has been learned.
    before : (n, 2) array, optional
        The map before. Of two projections that show about as much, the one that looks more like it is taken.
    """
    X = view.places - view.places.mean(axis=0)
    X = np.pad(X, ((0, 0), (0, max(0, 2 - X.shape[1]))))
    if before is not None and before.shape != (len(X), 2):
        before = None
    variances = X.T @ X
    if before is not None:
        # Axes of almost equal length change places from answer to answer: favour those of the map before.
        axes, strengths, _ = np.linalg.svd(X.T @ before)
        axes = axes[:, :2][:, strengths > 0.0]
        variances += _INERTIA * np.linalg.norm(variances, 2) * axes @ axes.T
    _, vectors = np.linalg.eigh(variances)
    Y = X @ vectors[:, :-3:-1]
    size = math.sqrt(float((Y**2).sum(axis=1).mean()))
    Y = Y / size if size > 0.0 else Y
    return principal(Y) if before is None else align(Y, before)

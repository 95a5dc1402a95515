"""The two-dimensional map on the dashboard. Each map is aligned with the previous one, so that it does not jump."""

import math

import numpy as np
from numpy.typing import NDArray

from erkle.embedding import align, principal
from erkle.service.learning.view import View

Floats = NDArray[np.float64]

# A new axis replaces an axis of the previous map only if its variance is larger by 15 % of the largest variance.
_INERTIA = 0.15


def aligned_map(view: View, previous: Floats | None) -> Floats:
    """Return two-dimensional coordinates, (n, 2), of mean length 1, aligned with the previous map.

    Parameters
    ----------
    view : View
        What has been learned.
    previous : (n, 2) array, optional
        The previous map. Of two projections with about the same variance, the one more similar to it is returned.
    """
    X = view.places - view.places.mean(axis=0)
    X = np.pad(X, ((0, 0), (0, max(0, 2 - X.shape[1]))))
    if previous is not None and previous.shape != (len(X), 2):
        previous = None
    variances = X.T @ X
    if previous is not None:
        # Axes of almost equal variance would swap from answer to answer, so those of the previous map get a bonus.
        axes, strengths, _ = np.linalg.svd(X.T @ previous)
        axes = axes[:, :2][:, strengths > 0.0]
        variances += _INERTIA * np.linalg.norm(variances, 2) * axes @ axes.T
    _, vectors = np.linalg.eigh(variances)
    Y = X @ vectors[:, :-3:-1]
    size = math.sqrt(float((Y**2).sum(axis=1).mean()))
    Y = Y / size if size > 0.0 else Y
    return principal(Y) if previous is None else align(Y, previous)

"""Measure how well a kernel predicts answers, and how similar two kernels or maps are.

A kernel satisfies a triplet (a, b, c) if d²(a,b) < d²(a,c). A tie does not satisfy it, so the identity has error 1.
Scaling a kernel by a positive number does not change its error, rank and alignment.
"""

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.spatial

from erkle import triplets
from erkle.checks import check_kernel, check_map, whole

__all__ = ["alignment", "decision_values", "prequential_error", "procrustes_disparity", "rank", "triplet_error"]

Floats = npt.NDArray[np.float64]


def decision_values(K: npt.ArrayLike, T: npt.ArrayLike) -> Floats:
    """d²(a,c) − d²(a,b) for each triplet. It is positive if the kernel agrees with the answer.

    Parameters
    ----------
    K : array of shape (n_objects, n_objects)
        The kernel, symmetric and finite.
    T : integer array of shape (n_triplets, 3)
        Rows of anchor, near, far.

    Returns
    -------
    array of shape (n_triplets,)

    Examples
    --------
    >>> decision_values([[0, 0, 0], [0, 1, 0], [0, 0, 4]], [[0, 1, 2], [2, 0, 1]])
    array([3., 1.])
    """
    K = check_kernel(K)
    a, b, c = triplets.check(T, len(K)).T
    # K_aa is part of both distances. Without it, there is less rounding.
    return np.asarray((K[c, c] - 2 * K[a, c]) - (K[b, b] - 2 * K[a, b]), dtype=np.float64)


def triplet_error(K: npt.ArrayLike, T: npt.ArrayLike) -> float:
    """The share of triplets that the kernel does not satisfy. A tie does not satisfy a triplet.

    Parameters
    ----------
    K : array of shape (n_objects, n_objects)
        The kernel, symmetric and finite.
    T : integer array of shape (n_triplets, 3)
        Rows of anchor, near, far. There must be at least one row.

    Examples
    --------
    >>> triplet_error([[0, 0, 0], [0, 1, 0], [0, 0, 4]], [[0, 1, 2], [0, 2, 1]])
    0.5
    >>> triplet_error([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2]])
    1.0
    """
    values = decision_values(K, T)
    if not len(values):
        raise ValueError("Got no triplets, wanted at least one; pass the answers to predict.")
    return float(np.mean(values <= 0))


def prequential_error(decisions: npt.ArrayLike, window: int | None = None) -> Floats:
    """The running error of a learner that predicts each answer before it learns it.

    Parameters
    ----------
    decisions : array of shape (n_triplets,)
        The decision value of each answer before it was learned. Zero, negative values and NaN count as wrong.
    window : int, optional
        Average over this many of the latest answers, instead of over all answers so far.

    Returns
    -------
    array of shape (n_triplets,)

    Examples
    --------
    >>> prequential_error([-1, 2, 0, 3])
    array([1. , 0.5 , 0.66666667, 0.5 ])
    >>> prequential_error([-1, 2, 0, 3], window=2)
    array([1. , 0.5, 0.5, 0.5])
    """
    decisions = np.asarray(decisions, dtype=np.float64)
    if decisions.ndim != 1:
        raise ValueError(f"Got decisions of shape {decisions.shape}, wanted one number per answer; pass a flat array.")
    wrong = np.cumsum(~(decisions > 0), dtype=np.int64)
    seen = np.arange(1, len(wrong) + 1)
    if window is not None:
        whole(window, "window", 1, "None averages over all answers")
        wrong[window:] -= wrong[:-window].copy()
        seen = np.minimum(seen, window)
    return np.asarray(wrong / seen, dtype=np.float64)


def rank(K: npt.ArrayLike, tol: float | None = None) -> int:
    """The number of eigenvalues above ``tol`` times the largest eigenvalue.

    Parameters
    ----------
    K : array of shape (n_objects, n_objects)
        The kernel, symmetric and finite.
    tol : float, optional
        The default is n_objects times the machine epsilon, as in `numpy.linalg.matrix_rank`.

    Examples
    --------
    >>> rank([[1, 1, 0], [1, 1, 0], [0, 0, 2]])
    2
    """
    K = check_kernel(K)
    if tol is None:
        tol = len(K) * float(np.finfo(np.float64).eps)
    if not 0 <= tol < 1:
        raise ValueError(
            f"Got tol={tol}, wanted a share of the largest eigenvalue, at least 0 and below 1; "
            "pass None for the default."
        )
    eigenvalues = scipy.linalg.eigvalsh(K)
    return int(np.sum(eigenvalues > tol * max(eigenvalues[-1], 0.0)))


def alignment(K: npt.ArrayLike, L: npt.ArrayLike, center: bool = True) -> float:
    """⟨K, L⟩ / (‖K‖ ‖L‖), the kernel alignment (if centred: Cortes, Mohri and Rostamizadeh, 2012).

    Parameters
    ----------
    K, L : arrays of shape (n_objects, n_objects)
        Two kernels of the same objects, symmetric and finite.
    center : bool
        First move the mean of the objects to the origin, so that only distances matter.

    Returns
    -------
    float
        From -1 to 1. It is 1 if the kernels are equal up to scale.

    Examples
    --------
    >>> alignment([[1, 0], [0, 1]], [[2, -2], [-2, 2]])
    1.0
    """
    K, L = check_kernel(K), check_kernel(L, "L")
    _check_same_objects(K, L, "kernels")
    cosine = np.vdot(_direction(K, "K", center), _direction(L, "L", center))
    return float(np.clip(cosine, -1.0, 1.0))


def procrustes_disparity(X: npt.ArrayLike, Y: npt.ArrayLike) -> float:
    """The squared difference of two maps after the best shift, scaling, rotation and reflection.

    Parameters
    ----------
    X, Y : arrays of shape (n_objects, n_components)
        Coordinates of the same objects. Columns of zeros are added to the narrower array.

    Returns
    -------
    float
        From 0 (the same shape) to 1, as in `scipy.spatial.procrustes`.

    Examples
    --------
    >>> round(procrustes_disparity([[0], [1], [3]], [[0, 0], [0, -2], [0, -6]]), 12)
    0.0
    """
    X, Y = _check_spread(X, "X"), _check_spread(Y, "Y")
    _check_same_objects(X, Y, "maps")
    width = max(X.shape[1], Y.shape[1])
    padded = [np.pad(Z, ((0, 0), (0, width - Z.shape[1]))) for Z in (X, Y)]
    return float(scipy.spatial.procrustes(*padded)[2])


def _check_same_objects(X: Floats, Y: Floats, noun: str) -> None:
    if len(X) != len(Y):
        raise ValueError(
            f"Got {noun} of {len(X)} and {len(Y)} objects, wanted the same objects in both; "
            "keep only the objects that both have."
        )


def _direction(K: Floats, name: str, center: bool) -> Floats:
    """K / ‖K‖, optionally centred."""
    largest = np.abs(K).max()
    K = K / (largest or 1.0)
    floor = len(K) * np.finfo(np.float64).eps * np.linalg.norm(K)
    if center:
        K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    norm = np.linalg.norm(K)
    if norm <= floor:
        raise ValueError(
            f"Got a kernel {name} in which all objects {'coincide' if center else 'are zero'}, "
            "wanted different objects; learn answers before comparing."
        )
    return np.asarray(K / norm, dtype=np.float64)


def _check_spread(X: npt.ArrayLike, name: str) -> Floats:
    X = check_map(X, name)
    if not len(X) or not np.ptp(X, axis=0).any():
        raise ValueError(
            f"Got a map {name} in which all objects coincide, wanted different objects; learn answers before comparing."
        )
    return X

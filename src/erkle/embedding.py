"""Compute coordinates from a kernel (classical multidimensional scaling), and align maps with each other.

The full embedding of a kernel has the kernel's distances. A kernel does not determine the rotation, reflection and
position of a map. `embed` fixes them by a rule, and `align` takes them from another map.
"""

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse.linalg

from erkle.checks import check_kernel, check_map, whole

__all__ = ["align", "embed", "principal"]

Floats = npt.NDArray[np.float64]

# From this number of objects on, ARPACK computes the first few coordinates, without copies of the kernel.
_ITERATIVE_FROM = 4000
# Most coordinates that ARPACK computes.
_FEW = 10
# Vectors that ARPACK keeps. With twice the usual 20, it also converges when many variances are nearly equal.
_BASIS = 40


def embed(K: npt.ArrayLike, n_components: int | None = None) -> Floats:
    """Coordinates with the distances of the kernel: classical scaling of the centred kernel.

    Parameters
    ----------
    K : array of shape (n_objects, n_objects)
        The kernel, symmetric and finite. Negative eigenvalues count as zero.
    n_components : int, optional
        Number of columns. By default, all columns whose variance exceeds rounding errors. Further columns are
        zero.

    Returns
    -------
    array of shape (n_objects, n_components)
        Centred columns, sorted by decreasing variance. The entry with the largest magnitude (or the first of several)
        in each column is positive.

    Examples
    --------
    >>> places = [0, 1, 5, 6]
    >>> embed(np.outer(places, places)).round(6)
    array([[ 3.], [ 2.], [-2.], [-3.]])
    """
    K = check_kernel(K)
    n_objects = len(K)
    wanted = n_objects if n_components is None else whole(n_components, "n_components", 1, "2 gives a flat map")
    variances, V = _largest_pairs(K, min(wanted, n_objects))
    variances, V = variances[::-1], V[:, ::-1]
    # Relative to K, not to the centred kernel: centring leaves only rounding of a constant kernel.
    rounding = n_objects * np.finfo(np.float64).eps * np.linalg.norm(K)
    kept = int(np.sum(variances > rounding))
    X = V[:, :kept] * _signs(V[:, :kept]) * np.sqrt(variances[:kept])
    return X if n_components is None else np.pad(X, ((0, 0), (0, n_components - kept)))


def _largest_pairs(K: Floats, wanted: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of the centred kernel in ascending order, and their eigenvectors."""
    n = len(K)
    if n >= _ITERATIVE_FROM and wanted <= _FEW:
        try:
            return _largest_pairs_iteratively(K, wanted)
        except scipy.sparse.linalg.ArpackError:
            # No convergence, or a kernel without variance.
            pass
    centred = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    variances, V = scipy.linalg.eigh(centred, subset_by_index=(n - wanted, n - 1))
    return variances, V


def _largest_pairs_iteratively(K: Floats, wanted: int) -> tuple[Floats, Floats]:
    def multiply(x: Floats) -> Floats:
        product = K @ (x.ravel() - x.mean())
        return np.asarray(product - product.mean())

    n = len(K)
    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)
    variances, V = scipy.sparse.linalg.eigsh(operator, wanted, which="LA", v0=start, ncv=_BASIS, maxiter=50)
    order = np.argsort(variances)
    return variances[order], V[:, order]


def principal(X: npt.ArrayLike) -> Floats:
    """The map centred and rotated to its principal axes, as `embed` returns it for the map's kernel.

    Parameters
    ----------
    X : array of shape (n_objects, n_components)

    Returns
    -------
    array of shape (n_objects, n_components)
        Centred columns, sorted by decreasing variance. The entry with the largest magnitude (or the first of several)
        in each column is positive.

    Examples
    --------
    >>> principal([[0], [1], [5], [6]]).round(6)
    array([[ 3.], [ 2.], [-2.], [-3.]])
    """
    X = check_map(X)
    U, spreads, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    turned = U * _signs(U) * spreads
    return np.pad(turned, ((0, 0), (0, X.shape[1] - turned.shape[1])))


def align(X: npt.ArrayLike, reference: npt.ArrayLike, scale: bool = False) -> Floats:
    """Rotate, reflect and move X onto the reference, so that a live map does not jump.

    Parameters
    ----------
    X : array of shape (n_objects, n_components)
        The new map.
    reference : array of shape (n_reference, any width)
        The earlier map of the first ``n_reference`` objects; X may have more objects. A narrower reference gets columns
        of zeros, and a wider one loses its last columns.
    scale : bool
        Also scale X. By default, all distances in X are kept.

    Returns
    -------
    array of shape (n_objects, n_components)

    Examples
    --------
    >>> align([[0, 0], [0, 2], [1, 0], [1, 1]], [[5, 5], [7, 5], [5, 6]]).round(6)
    array([[5., 5.], [7., 5.], [5., 6.], [6., 6.]])
    """
    X, reference = check_map(X, "X"), check_map(reference, "reference")
    if not 0 < len(reference) <= len(X):
        raise ValueError(
            f"Got a reference of {len(reference)} objects, wanted 1 to {len(X)}, because X has {len(X)} objects; "
            "remove the other objects from the reference."
        )
    n, width = len(reference), X.shape[1]
    reference = np.pad(reference[:, :width], ((0, 0), (0, max(0, width - reference.shape[1]))))
    old, new = X[:n].mean(axis=0), reference.mean(axis=0)
    moved = (X - old) @ _turn(X[:n] - old, reference - new)
    if scale:
        # The factor of the best fit. It is undefined if all objects of a map coincide.
        here, there = moved[:n], reference - new
        moved *= float(np.sum(here * there) / np.sum(here * here)) if np.any(here) and np.any(there) else 1.0
    return np.asarray(moved + new, dtype=np.float64)


def _turn(X: Floats, Y: Floats) -> Floats:
    """The orthogonal matrix that brings X closest to Y.

    In directions that Y does not determine, it rotates as little as possible.
    """
    U, strengths, Vt = np.linalg.svd(X.T @ Y)
    rounding = 1e-12 * np.linalg.norm(X) * np.linalg.norm(Y)
    decided = int(np.sum(strengths > rounding))
    turn = U[:, :decided] @ Vt[:decided]
    if decided < len(turn):
        least, _ = scipy.linalg.orthogonal_procrustes(U[:, decided:], Vt[decided:].T)
        turn += U[:, decided:] @ least @ Vt[decided:]
    return np.asarray(turn, dtype=np.float64)


def _signs(V: Floats) -> Floats:
    sizes = np.abs(V)
    # Without this tolerance, rounding would decide between entries of equal size.
    first = np.argmax(sizes >= (1 - 1e-8) * sizes.max(axis=0, initial=0.0), axis=0)
    return np.asarray(np.sign(V[first, np.arange(V.shape[1])]), dtype=np.float64)

"""The boundary for matrices: a kernel is square, symmetric and finite, a map has a row for each object."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_kernel", "check_map", "shaped"]

# What single precision leaves of a symmetric matrix, as a share of the largest entry.
_SYMMETRY = 1e-6


def check_kernel(K: ArrayLike, name: str = "K") -> NDArray[np.float64]:
    """K as an array of floats, or a `ValueError` that says why it is no kernel; eigenvalues are not looked at.

    >>> check_kernel([[1, 0], [0, 1]]).shape
    (2, 2)
    """
    K = _check_numbers(K, name)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise ValueError(
            f"Got {name} of shape {K.shape}, wanted (n_objects, n_objects); pass a kernel, not coordinates."
        )
    if np.abs(K - K.T).max() > _SYMMETRY * np.abs(K).max():
        raise ValueError(
            f"Got {name} that is not symmetric, wanted a kernel; pass ({name} + {name}.T) / 2 if that is what you mean."
        )
    return K


def check_map(X: ArrayLike, name: str = "X") -> NDArray[np.float64]:
    """X as an array of floats with a row for each object, or a `ValueError` that says why it is not.

    >>> check_map([[0, 1], [2, 3], [4, 5]]).shape
    (3, 2)
    """
    X = _check_numbers(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"Got {name} of shape {X.shape}, wanted (n_objects, n_components); pass one row for each object."
        )
    return X


def _check_numbers(A: ArrayLike, name: str) -> NDArray[np.float64]:
    A = np.asarray(A)
    if A.dtype.kind not in "buif" or not np.isfinite(A).all():
        raise ValueError(f"Got {name} with entries that are not finite numbers; remove NaN, infinity and text from it.")
    return A.astype(np.float64, copy=False)


def shaped(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """A copy of one of the arrays read from a file, or a `ValueError` if it has another shape or type.

    >>> shaped({"K": np.eye(2)}, "K", (3, 3))
    Traceback (most recent call last):
    ValueError: K has shape (2, 2) and type float64, wanted (3, 3) and float64
    """
    array = arrays[name]
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}, wanted {shape} and {np.dtype(dtype).name}"
        )
    return np.array(array, order="C")

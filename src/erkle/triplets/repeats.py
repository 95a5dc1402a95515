"""Find repeated questions and repeated answers.

Two rows ask the same question if they have the same anchor and the same two candidates, in either order. They are the
same answer if the order is also the same.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.triplets.checking import check

# Three ids of 21 bits fill one 64-bit key.
_BITS = 21
_MASK = (1 << _BITS) - 1
_WIDE = np.dtype([("anchor", np.int64), ("low", np.int64), ("high", np.int64)])

Keys = TypeVar("Keys", int, NDArray[Any])


def question_keys(T: ArrayLike, n_objects: int | None = None) -> NDArray[Any]:
    """One key per row. Two keys are equal if and only if the rows ask the same question.

    Parameters
    ----------
    T : array-like of shape (m, 3)
    n_objects : int, optional
        Number of objects. The default is one more than the largest id in T. Pass it to compare keys of several
        arrays, because it determines the type of the keys.

    Returns
    -------
    ndarray of shape (m,)
        uint64 for up to 2**21 objects; for more, a structured type (anchor, low, high), which sorts slowly.

    Examples
    --------
    >>> question_keys([[0, 1, 2], [0, 2, 1], [1, 0, 2]]).tolist()
    [2097154, 2097154, 4398046511106]
    """
    T = check(T, n_objects)
    low, high = np.minimum(T[:, 1], T[:, 2]), np.maximum(T[:, 1], T[:, 2])
    return _pack(T[:, 0], low, high, n_objects)


def ids_of_keys(keys: Keys) -> tuple[Keys, Keys, Keys]:
    """The anchor, the smaller and the larger candidate of a key or of an array of keys.

    Parameters
    ----------
    keys : int or array of uint64
        Keys from `question_keys` with at most 2**21 objects.

    Examples
    --------
    >>> ids_of_keys(4398046511106)
    (1, 0, 2)
    """
    return keys >> 2 * _BITS, keys >> _BITS & _MASK, keys & _MASK


def questions(T: ArrayLike) -> NDArray[np.int64]:
    """The question number of each row, from 0. Pass them as ``groups`` to scikit-learn's splitters.

    Parameters
    ----------
    T : array-like of shape (m, 3)

    Returns
    -------
    ndarray of shape (m,), int64

    Examples
    --------
    >>> questions([[0, 1, 2], [5, 1, 2], [0, 2, 1]])
    array([0, 1, 0])
    """
    groups: NDArray[np.int64] = np.unique(question_keys(T), return_inverse=True)[1].astype(np.int64)
    return groups


def duplicates(T: ArrayLike) -> NDArray[np.bool_]:
    """Mask of the rows that repeat an earlier row.

    Parameters
    ----------
    T : array-like of shape (m, 3)

    Returns
    -------
    ndarray of shape (m,), bool

    Examples
    --------
    >>> duplicates([[0, 1, 2], [0, 1, 2], [0, 2, 1]])
    array([False,  True, False])
    """
    T = check(T)
    repeats = np.ones(len(T), dtype=np.bool_)
    repeats[np.unique(_pack(*T.T), return_index=True)[1]] = False
    return repeats


def _pack(
    anchor: NDArray[np.int64], b: NDArray[np.int64], c: NDArray[np.int64], n_objects: int | None = None
) -> NDArray[Any]:
    if n_objects is None:
        n_objects = 1 + max(int(ids.max(initial=0)) for ids in (anchor, b, c))
    if n_objects <= 1 << _BITS:
        return ((anchor << (2 * _BITS)) | (b << _BITS) | c).astype(np.uint64)
    keys = np.empty(len(anchor), dtype=_WIDE)
    keys["anchor"], keys["low"], keys["high"] = anchor, b, c
    return keys

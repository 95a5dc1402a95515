"""Splits into training and test answers that no chunking and no repetition can upset.

Whether a row is held out depends on its question and a seed, and on nothing else: no state, no other row.
So duplicates and contradictions of an answer land on the side of that answer, and the split of a stream is
the split of its pieces.
"""

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import checks
from erkle.triplets.checking import check

# Constants of splitmix64 (Steele, Lea, Flood 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def held_out(T: ArrayLike, share: float, seed: int = 0) -> NDArray[np.bool_]:
    """Mask of the rows that belong to the test set.

    A hash of the question (anchor and unordered candidates) and the seed falls below ``share`` or not. The
    share holds in expectation over questions: a given array has somewhat more or fewer rows held out, the
    more so the fewer questions it has.

    Parameters
    ----------
    T : array-like of shape (m, 3)
    share : float
        Expected share of questions held out, from 0 (none) to 1 (all). Rows held out at one share are held
        out at every larger one.
    seed : int
        Another seed gives an independent split.

    Returns
    -------
    ndarray of shape (m,), bool

    Examples
    --------
    >>> held_out([[0, 1, 2], [0, 2, 1], [1, 0, 2]], share=0.5)
    array([ True,  True, False])
    """
    checks.share(share, "share")
    T = check(T)
    key = np.array([operator.index(seed) % 2**64], dtype=np.uint64)
    for ids in (T[:, 0], np.minimum(T[:, 1], T[:, 2]), np.maximum(T[:, 1], T[:, 2])):
        key = _mix(key) ^ ids.astype(np.uint64)
    # The upper 53 bits are a float in [0, 1) without rounding, so that shares 0 and 1 are exact.
    return (_mix(key) >> np.uint64(11)) * 2.0**-53 < share


def split(T: ArrayLike, test_share: float = 0.2, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training and test answers, no question on both sides.

    The share holds in expectation; see `held_out`, which decides.

    Parameters
    ----------
    T : array-like of shape (m, 3)
    test_share : float
    seed : int

    Returns
    -------
    train, test : ndarrays of shape (., 3), int64
        Both in the order of T.

    Examples
    --------
    >>> train, test = split([[0, 1, 2], [0, 2, 1], [1, 0, 2]], test_share=0.5)
    >>> train.tolist(), test.tolist()
    ([[1, 0, 2]], [[0, 1, 2], [0, 2, 1]])
    """
    T = check(T)
    test = held_out(T, test_share, seed)
    return T[~test], T[test]


def _mix(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of splitmix64 from each state."""
    key = key + _GOLDEN
    key = (key ^ (key >> np.uint64(30))) * _FIRST
    key = (key ^ (key >> np.uint64(27))) * _SECOND
    return key ^ (key >> np.uint64(31))

"""Split answers into training and test answers.

Whether a row is held out depends only on its question and on ``random_state``, not on other rows. So duplicates and
contradictions of an answer are on the same side as the answer, and a stream can be split piece by piece.
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


def held_out(T: ArrayLike, share: float, random_state: int = 0) -> NDArray[np.bool_]:
    """Mask of the rows that belong to the test set.

    A row is held out if a hash of its question and ``random_state``, scaled to [0, 1), is below ``share``. So the share
    is only expected: the actual share of an array differs a little, and more if it has few questions.

    Parameters
    ----------
    T : array-like of shape (m, 3)
    share : float
        Expected share of questions held out, from 0 (none) to 1 (all). Rows that are held out at one share are also
        held out at every larger share.
    random_state : int
        Different numbers give independent splits.

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
    key = np.array([operator.index(random_state) % 2**64], dtype=np.uint64)
    for ids in (T[:, 0], np.minimum(T[:, 1], T[:, 2]), np.maximum(T[:, 1], T[:, 2])):
        key = splitmix64(key) ^ ids.astype(np.uint64)
    # The upper 53 bits become a float in [0, 1) without rounding, so shares of 0 and 1 are exact.
    return (splitmix64(key) >> np.uint64(11)) * 2.0**-53 < share


def split(T: ArrayLike, test_share: float = 0.2, random_state: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split answers into training and test answers, with no question on both sides.

    The split is that of `held_out`.

    Parameters
    ----------
    T : array-like of shape (m, 3)
    test_share : float
        Expected share of test questions, from 0 to 1.
    random_state : int
        Different numbers give independent splits.

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
    test = held_out(T, test_share, random_state)
    return T[~test], T[test]


def splitmix64(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The splitmix64 hash of each key."""
    key = key + _GOLDEN
    key = (key ^ (key >> np.uint64(30))) * _FIRST
    key = (key ^ (key >> np.uint64(27))) * _SECOND
    return key ^ (key >> np.uint64(31))

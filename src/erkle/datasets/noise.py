"""Wrong answers, made from right ones.

Noise turns some rows round and changes nothing else: the questions and their order stay. `flip` errs on all
questions alike; people err on the hard ones, which is what `answered` with a slope does.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.checks import random_generator

__all__ = ["flip"]


def flip(T: ArrayLike, probability: float, random_state: int | np.random.Generator | None = None) -> NDArray[np.int64]:
    """Each answer turned round with the same probability, independently of the others.

    Parameters
    ----------
    T : array-like of shape (m, 3)
    probability : float
        From 0 (none) to 1 (all).
    random_state : int, Generator or None
        Seed of the choice.

    Returns
    -------
    ndarray of shape (m, 3), int64
        A new array.

    Examples
    --------
    >>> flip([[0, 1, 2], [1, 0, 2]], probability=1.0)
    array([[0, 2, 1],
           [1, 2, 0]])
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"Got probability={probability}, wanted 0 to 1; pass 0.2 for one answer in five.")
    rng = random_generator(random_state, "random_state")
    T = triplets.check(T)
    return triplets.orient(T, rng.random(len(T)) >= probability)

"""Draw random triples of objects.

All ordered triples of distinct objects are equally likely. A triple takes exactly three draws; none is rejected.
"""

import numpy as np
from numpy.typing import NDArray

from erkle.checks import random_generator, whole


def sample(n_objects: int, size: int, random_state: int | np.random.Generator | None = None) -> NDArray[np.int64]:
    """Draw triples uniformly, with replacement, from all ordered triples of distinct objects.

    Parameters
    ----------
    n_objects : int
        At least 3.
    size : int
        Number of triples.
    random_state : int, Generator or None
        A seed, a generator, or None for a different result each time.

    Returns
    -------
    ndarray of shape (size, 3), int64

    Examples
    --------
    >>> sample(3, 2, random_state=0)
    array([[2, 1, 0],
           [1, 0, 2]])
    """
    whole(n_objects, "n_objects", 3, "a question needs three objects")
    whole(size, "size", 0, "it is the number of triples")
    rng = random_generator(random_state, "random_state")
    a = rng.integers(n_objects, size=size)
    b = rng.integers(n_objects - 1, size=size)
    c = rng.integers(n_objects - 2, size=size)
    b += b >= a
    c += c >= np.minimum(a, b)
    c += c >= np.maximum(a, b)
    return np.stack((a, b, c), axis=1)

"""Simulated answers, right and wrong: the synthetic sets of the paper, points N(0, I) compared by distance.

A question is an anchor and a pair of candidates, and no question is asked twice. So any two parts of a set, cut
anywhere, are training and test answers without a question in common.

Noise turns some rows round and changes nothing else: the questions and their order stay. `flip` errs on all
questions alike; people err on the hard ones, which is what `answered` with a slope does.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from erkle import triplets
from erkle.checks import random_generator, share, whole

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Seed = int | np.random.Generator | None

# A gigabyte of rows.
_MOST_ANSWERS = 40_000_000


class Gaussian(NamedTuple):
    """Answers, shape (m, 3), and the points they are about, shape (n_objects, n_components)."""

    triplets: Ids
    points: Floats


def make_gaussian(
    n_objects: int = 100, n_components: int = 50, n_answers: int | None = None, random_state: Seed = None
) -> Gaussian:
    """Points drawn from N(0, I) and right answers to questions about them, in random order.

    The small set of the paper has 100 points in 50 dimensions and all 485,100 answers, the large one 5000 points
    and 10,000 answers. Make answers wrong with `flip`, or ask again with `answered` and a slope.

    Parameters
    ----------
    n_objects : int
        At least 3.
    n_components : int
        Dimensions of the points.
    n_answers : int, optional
        How many different questions to draw; by default all n (n - 1) (n - 2) / 2.
    random_state : int, Generator or None
        Seed of points and questions.

    Returns
    -------
    Gaussian
        ``triplets`` of shape (n_answers, 3) and ``points`` of shape (n_objects, n_components).

    Examples
    --------
    >>> make_gaussian(n_objects=10, random_state=0).triplets.shape
    (360, 3)
    >>> small = make_gaussian(n_answers=1000, random_state=0)
    >>> small.triplets.shape, small.points.shape
    ((1000, 3), (100, 50))
    """
    whole(n_components, "n_components", 1, "points need a coordinate")
    n_questions = _count(n_objects)
    wanted = n_questions if n_answers is None else n_answers
    if not 0 <= wanted <= n_questions:
        raise ValueError(
            f"Got n_answers={n_answers}, but {n_objects} objects have {n_questions:,} questions;"
            f" pass a number from 0 to {n_questions}."
        )
    if wanted > _MOST_ANSWERS:
        raise ValueError(f"{wanted:,} answers do not fit into memory; pass n_answers, at most {_MOST_ANSWERS}.")
    rng = random_generator(random_state, "random_state")
    points = rng.standard_normal((n_objects, n_components))
    T = _questions(rng.choice(n_questions, size=wanted, replace=False), n_objects)
    return Gaussian(answered(T, points), points)


def all_questions(n_objects: int) -> Ids:
    """Every question once: rows (a, b, c) with b < c, by anchor.

    Parameters
    ----------
    n_objects : int
        At least 3.

    Returns
    -------
    ndarray of shape (n (n - 1) (n - 2) / 2, 3), int64

    Examples
    --------
    >>> all_questions(3)
    array([[0, 1, 2],
           [1, 0, 2],
           [2, 0, 1]])
    """
    return _questions(np.arange(_count(n_objects)), n_objects)


def answered(T: ArrayLike, points: ArrayLike, slope: float = math.inf, random_state: Seed = None) -> Ids:
    """Questions answered by distance: always rightly, or the more surely the more the distances differ.

    Of the candidates b and c of an anchor a, b is called nearer with the probability
    1 / (1 + exp(slope (d(a,b) - d(a,c)))), d being Euclidean distances. At slope 0 answers are coin tosses, at
    slope infinity right.

    Parameters
    ----------
    T : array-like of shape (m, 3)
        Questions; which candidate comes first does not matter.
    points : array-like of shape (n_objects, n_components)
    slope : float
        From 0 to infinity, in units of one over the points' own.
    random_state : int, Generator or None
        Seed of the answers; not used at slope infinity.

    Returns
    -------
    ndarray of shape (m, 3), int64
        Rows (anchor, near, far).

    Examples
    --------
    >>> answered([[0, 2, 1], [1, 2, 0]], [[0.0], [1.0], [3.0]])
    array([[0, 1, 2],
           [1, 0, 2]])
    """
    if not slope >= 0:
        raise ValueError(f"Got slope={slope}, wanted 0 or more; pass math.inf for right answers.")
    X = np.asarray(points, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"Points have shape {X.shape}, wanted a row for each object; pass shape (n_objects, d).")
    a, b, c = triplets.check(T, len(X)).T
    excess = _distances(X, a, b) - _distances(X, a, c)
    if slope == math.inf:
        return triplets.orient(T, excess < 0)
    # A logistic variable is below -slope · excess with just that probability, and nothing can overflow.
    rng = random_generator(random_state, "random_state")
    return triplets.orient(T, rng.logistic(size=len(excess)) < -slope * excess)


def flip(T: ArrayLike, probability: float, random_state: Seed = None) -> Ids:
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
    share(probability, "probability")
    rng = random_generator(random_state, "random_state")
    T = triplets.check(T)
    return triplets.orient(T, rng.random(len(T)) >= probability)


def _distances(X: Floats, a: Ids, b: Ids) -> Floats:
    if len(X) ** 2 > len(a):
        return np.asarray(np.linalg.norm(X[a] - X[b], axis=1))
    return np.asarray(cdist(X, X)[a, b])


def _count(n_objects: int) -> int:
    whole(n_objects, "n_objects", 3, "a question needs three objects")
    return n_objects * (n_objects - 1) * (n_objects - 2) // 2


def _questions(numbers: Ids, n_objects: int) -> Ids:
    """Questions by their numbers: anchors in turn, and under each all pairs (0,1), (0,2), (1,2), (0,3), ..."""
    a, pair = np.divmod(numbers, (n_objects - 1) * (n_objects - 2) // 2)
    c = ((1 + np.sqrt(1 + 8 * pair.astype(np.float64))) / 2).astype(np.int64)
    # The square root may round to the other side of a whole number.
    c -= c * (c - 1) // 2 > pair
    c += c * (c + 1) // 2 <= pair
    b = pair - c * (c - 1) // 2
    return np.stack((a, b + (b >= a), c + (c >= a)), axis=1)

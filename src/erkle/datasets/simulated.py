"""Simulated answers: the synthetic data of the paper, with points drawn from N(0, I) and compared by distance.

No question is asked twice, so any two disjoint parts of a data set can serve as training and test answers.

Noise reverses some answers. It leaves the questions and their order unchanged. `flip` reverses every answer with the
same probability. `answered` with an answer model is wrong more often on hard questions, as people are.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from erkle import triplets
from erkle.answer_models import AnswerModel
from erkle.checks import check_part, random_generator, share, whole

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Seed = int | np.random.Generator | None

# Largest number of answers: one gigabyte of rows.
_MOST_ANSWERS = 40_000_000
# All answers are right.
RIGHT = AnswerModel(math.inf)


class Gaussian(NamedTuple):
    """Answers, shape (m, 3), and the points they compare, shape (n_objects, n_components)."""

    triplets: Ids
    points: Floats


def make_gaussian(
    n_objects: int = 100, n_components: int = 50, n_answers: int | None = None, random_state: Seed = None
) -> Gaussian:
    """Draw points from N(0, I), and give right answers to questions about them, in random order.

    The small data set of the paper has 100 points in 50 dimensions and all 485,100 answers. The large one has 5000
    points and 10,000 answers. Add wrong answers with `flip`, or with `answered` and an answer model.

    Parameters
    ----------
    n_objects : int
        At least 3.
    n_components : int
        Number of dimensions.
    n_answers : int, optional
        Number of different questions to draw. By default all n (n - 1) (n - 2) / 2 questions.
    random_state : int, Generator or None
        Seed of the points and questions.

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
    whole(n_components, "n_components", 1, "points need at least one coordinate")
    n_questions = _count(n_objects)
    wanted = n_questions if n_answers is None else n_answers
    if not 0 <= wanted <= n_questions:
        raise ValueError(
            f"Got n_answers={n_answers}, but {n_objects} objects have {n_questions:,} questions;"
            f" pass a number from 0 to {n_questions}."
        )
    if wanted > _MOST_ANSWERS:
        raise ValueError(f"Got {wanted:,} answers, which may not fit in memory; pass n_answers <= {_MOST_ANSWERS}.")
    rng = random_generator(random_state, "random_state")
    points = rng.standard_normal((n_objects, n_components))
    T = _questions(rng.choice(n_questions, size=wanted, replace=False), n_objects)
    return Gaussian(answered(T, points), points)


def all_questions(n_objects: int) -> Ids:
    """Every question once, as rows (a, b, c) with b < c, sorted by anchor.

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


def answered(T: ArrayLike, points: ArrayLike, answer_model: AnswerModel = RIGHT, random_state: Seed = None) -> Ids:
    """Answer questions according to the distances between points: always rightly, or as an answer model says.

    Parameters
    ----------
    T : array-like of shape (m, 3)
        Questions. The order of the two candidates does not matter.
    points : array-like of shape (n_objects, n_components)
    answer_model : AnswerModel
        How the squared distances of the points become answers. Its sensitivity may be infinite: then answers are wrong
        only by slips. By default there are no slips either, and all answers are right.
    random_state : int, Generator or None
        Seed of the answers. It has no effect if all answers are right.

    Returns
    -------
    ndarray of shape (m, 3), int64
        Rows (anchor, near, far).

    Examples
    --------
    >>> answered([[0, 2, 1], [1, 2, 0]], [[0.0], [1.0], [3.0]])
    array([[0, 1, 2],
           [1, 0, 2]])
    >>> answered([[0, 2, 1], [1, 2, 0]], [[0.0], [1.0], [3.0]], AnswerModel(2.0, 0.5, 0.1), random_state=0).shape
    (2, 3)
    """
    check_answer_model(answer_model)
    X = np.asarray(points, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"Points have shape {X.shape}, wanted one row per object; pass shape (n_objects, d).")
    a, b, c = triplets.check(T, len(X)).T
    to_b, to_c = _distances(X, a, b), _distances(X, a, c)
    if answer_model == RIGHT:
        return triplets.orient(T, to_b < to_c)
    if answer_model.sensitivity == math.inf:
        likely = np.where(to_b < to_c, 1.0 - answer_model.lapse, answer_model.lapse)
    else:
        likely = answer_model.probability(to_b**2, to_c**2)
    rng = random_generator(random_state, "random_state")
    return triplets.orient(T, rng.random(len(likely)) < likely)


def check_answer_model(answer_model: AnswerModel) -> None:
    """Raise an error unless the numbers make sense. Unlike that of a learner, the sensitivity may be infinite.

    >>> check_answer_model(AnswerModel(math.inf, 2.0))
    Traceback (most recent call last):
    ValueError: AnswerModel has power=2.0; pass a number from 0 to 1.
    """
    infinite = getattr(answer_model, "sensitivity", 0.0) == math.inf
    check_part(answer_model._replace(sensitivity=1.0) if infinite else answer_model, "answer model", ("probability",))


def flip(T: ArrayLike, probability: float, random_state: Seed = None) -> Ids:
    """Reverse each answer with the same probability, independently of the others.

    Parameters
    ----------
    T : array-like of shape (m, 3)
    probability : float
        From 0 (reverse none) to 1 (reverse all).
    random_state : int, Generator or None
        Seed of the choice of answers.

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
    """Rows of the questions with these numbers. They are numbered by anchor, then as (0,1), (0,2), (1,2), (0,3), ..."""
    a, pair = np.divmod(numbers, (n_objects - 1) * (n_objects - 2) // 2)
    c = ((1 + np.sqrt(1 + 8 * pair.astype(np.float64))) / 2).astype(np.int64)
    # Rounding can move the square root across a whole number.
    c -= c * (c - 1) // 2 > pair
    c += c * (c + 1) // 2 <= pair
    b = pair - c * (c - 1) // 2
    return np.stack((a, b + (b >= a), c + (c >= a)), axis=1)

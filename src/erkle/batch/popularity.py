"""Popularity: the baseline that ignores the anchor.

Some objects are often the nearer one, whatever the anchor is. Counting alone predicts many answers, and a learner of
similarity has to do better.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from erkle import triplets
from erkle.checks import whole
from erkle.estimators import TripletLearner, answers


class Popularity(TripletLearner, BaseEstimator):  # type: ignore[misc]
    """(times near - times far) / (times near + times far + 2): the object with the higher score is predicted.

    Parameters
    ----------
    n_objects : int
        Number of objects; ids in triplets run from 0 to n_objects - 1.

    Attributes
    ----------
    scores_ : (n_objects,) array
        Scores from -1 to 1; 0 for objects that have not been seen.
    n_near_, n_far_ : (n_objects,) arrays of integers
        How often each object was near, and how often it was far.

    Examples
    --------
    >>> from erkle import Popularity
    >>> learner = Popularity(n_objects=4).fit([(0, 1, 2), (3, 1, 2), (0, 3, 2)])
    >>> learner.scores_
    array([ 0.        ,  0.5       , -0.6       ,  0.33333333])
    >>> learner.predict([(0, 1, 3), (1, 2, 0)])
    array([ True, False])
    """

    _remedy = "fit or partial_fit"

    def __init__(self, n_objects: int) -> None:
        self.n_objects = n_objects

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Count X, starting from zero.

        Parameters
        ----------
        X : (m, 3) array of integers
            Answers (anchor, near, far); with ``y``, questions (anchor, b, c).
        y : (m,) array of booleans, of 0 and 1 or of -1 and 1, optional
            True where the anchor is nearer to b.
        """
        n = whole(self.n_objects, "n_objects", 3, "a question needs three objects")
        T = answers(X, y, n)
        self.n_near_, self.n_far_ = np.zeros(n, np.int64), np.zeros(n, np.int64)
        return self.partial_fit(T)

    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Add X to the counts. The parameters are those of `fit`."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y)
        _, near, far = answers(X, y, self.n_objects_).T
        self.n_near_ += np.bincount(near, minlength=self.n_objects_)
        self.n_far_ += np.bincount(far, minlength=self.n_objects_)
        self.n_features_in_ = 3
        return self

    @property
    def scores_(self) -> NDArray[np.float64]:
        """The score of each object, from -1 to 1."""
        near, far = self._fitted().n_near_, self.n_far_
        return np.asarray((near - far) / (near + far + 2))

    @property
    def n_objects_(self) -> int:
        """Number of objects."""
        return len(self._fitted().n_near_)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The score of b minus the score of c, for each row (a, b, c)."""
        _, b, c = triplets.check(X, self.n_objects_).T
        scores = self.scores_
        return np.asarray(scores[b] - scores[c])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_near_")

"""The base class of all learners: predictions and scores follow from the decision values of a learner."""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from erkle import triplets

Floats = NDArray[np.float64]


def answers(X: ArrayLike, y: ArrayLike | None, n_objects: int) -> NDArray[np.int64]:
    """Rows (anchor, near, far) from the arguments of `fit` and `score`.

    >>> answers([(0, 1, 2)], [False], n_objects=3)
    array([[0, 2, 1]])
    """
    if hasattr(X, "toarray"):
        raise TypeError("Triplets are a sparse matrix; pass a dense array, X.toarray().")
    T = triplets.check(X, n_objects)
    return T if y is None else triplets.orient(T, y)


class TripletLearner(ABC):
    """Predictions and scores from ``decision_function``."""

    _remedy = "fit"

    @property
    @abstractmethod
    def n_objects_(self) -> int:
        """Number of objects."""

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> Floats:
        """A number for each row (a, b, c): positive where a is nearer to b."""

    def predict(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Whether a is nearer to b than to c, for each row (a, b, c); a tie is False."""
        return self.decision_function(X) > 0.0

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """The share of answers that are predicted correctly, 1 - triplet error; a tie counts as wrong."""
        T = answers(X, y, self.n_objects_)
        if not len(T):
            raise ValueError("There are no triplets to score; pass at least one.")
        return float(np.mean(self.predict(T)))

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool:
        """Whether the learner can predict."""

    def _fitted(self) -> Self:
        """The learner itself, or a `NotFittedError` if it has learned nothing."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} has learned nothing yet; call {self._remedy} first.")
        return self

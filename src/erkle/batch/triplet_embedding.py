"""TripletEmbedding: coordinates of a chosen dimension that fit all answers."""

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from erkle import embedding, triplets
from erkle.batch.minimisers import quasi_newton
from erkle.batch.objective import ByMap, terms_of
from erkle.batch.solving import Callback, check_settings, solve
from erkle.checks import check_map, random_generator, whole
from erkle.estimators import TripletLearner, answers
from erkle.kernels.lapack import one_thread
from erkle.losses import STE, Loss

Floats = NDArray[np.float64]

# Standard deviation of a random start. Small: the answers, and not the start, then decide what lies where.
_SMALL = 0.01


class TripletEmbedding(TripletLearner, BaseEstimator):  # type: ignore[misc]
    """min sum of loss(X, t) + ridge * sum of x_ik² over coordinates X, (n_objects, n_components), by L-BFGS.

    `STE`, `GNMDS`, `CKL`, `TSTE` and `SOE` are each the loss of an embedding method of that name. The ridge is a
    weight on the trace of the kernel XX', as in `RCKL`. The problem is not convex: ``n_init`` random starts can be
    tried, and the best is kept.

    Parameters
    ----------
    n_objects : int
        Number of objects; ids in triplets run from 0 to n_objects - 1.
    n_components : int
        Number of coordinates.
    loss : Loss
        `STE`, `GNMDS`, `CKL`, `TSTE`, `SOE` or your own. A loss of your own should be smooth; of ours the hinge of
        GNMDS is not, and is minimised by the method of multipliers.
    ridge : float
        Weight of the squared coordinates.
    max_iter : int
        Largest number of iterations of each start; running into it is a `ConvergenceWarning`.
    tol : float
        Stop when ten iterations have lowered the objective by no more than this share of it; for GNMDS, when the
        smooth sum that is minimised in its place is no further off than a thousand times this share.
    n_init : int
        Number of starts.
    warm_start : bool
        Begin at the coordinates of the last `fit`, if there was one, instead of at random.
    initial_embedding : (n_objects, n_components) array or None
        Where to begin; None is at random: independent normal coordinates with standard deviation 0.01.
    random_state : int, Generator or None
        Draws the starts; an integer makes the fit repeatable.
    callback : function of two arguments or None
        Is told the number of each iteration and the objective after it.

    Attributes
    ----------
    embedding_ : (n_objects, n_components) array
        The coordinates: centred columns by falling variance.
    objective_ : float
        What was minimised, at `embedding_`.
    objectives_ : (n_iter_ + 1,) array
        The objective of the best start, at its beginning and after each iteration; it never rises.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> from erkle import TripletEmbedding
    >>> learner = TripletEmbedding(n_objects=4, n_components=1, random_state=0)
    >>> learner = learner.fit([(0, 1, 2), (1, 0, 3), (2, 3, 1), (3, 2, 0)])
    >>> learner.embedding_.shape
    (4, 1)
    >>> learner.predict([(0, 1, 3), (0, 2, 1)])
    array([ True, False])
    """

    def __init__(
        self,
        n_objects: int,
        n_components: int = 2,
        loss: Loss = STE(),
        ridge: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_init: int = 1,
        warm_start: bool = False,
        initial_embedding: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_objects = n_objects
        self.n_components = n_components
        self.loss = loss
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.initial_embedding = initial_embedding
        self.random_state = random_state
        self.callback = callback

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn X, all at once; the order of the answers does not matter.

        Parameters
        ----------
        X : (m, 3) array of integers
            Answers (anchor, near, far); with ``y``, questions (anchor, b, c).
        y : (m,) array of booleans, of 0 and 1 or of -1 and 1, optional
            True where the anchor is nearer to b.
        """
        settings = check_settings(self, "ridge")
        starts = self._starts(settings.n_objects)
        objective = ByMap(terms_of(answers(X, y, settings.n_objects), settings.loss), settings.weight)
        fits = (solve(objective, start, quasi_newton, settings) for start in starts)
        with one_thread(settings.n_objects):
            progress = min(fits, key=lambda fit: fit.objectives[-1])
        # Turning changes no distance, and the origin in the middle is what the ridge wants.
        self.embedding_ = embedding.principal(progress.best)
        self.objective_ = objective(self.embedding_)[0]
        self.objectives_, self.n_iter_ = np.array(progress.objectives), progress.n_iter
        self.converged_, self.n_features_in_ = progress.converged, 3
        progress.warn_unless_converged()
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """d²(a, c) - d²(a, b) of each row (a, b, c): positive where a is nearer to b."""
        T = triplets.check(X, self.n_objects_)
        a, b, c = self.embedding_[T.T]
        return np.asarray(((a - c) ** 2).sum(axis=1) - ((a - b) ** 2).sum(axis=1))

    @property
    def n_objects_(self) -> int:
        """Number of objects."""
        return len(self._fitted().embedding_)

    def kernel_matrix(self) -> Floats:
        """The kernel XX', (n, n), positive semidefinite, of rank n_components or less."""
        X = self._fitted().embedding_
        return np.asarray(X @ X.T)

    def embedding(self, n_components: int | None = None) -> Floats:
        """Coordinates, ordered by decreasing variance: all of them, or the first ``n_components``.

        Columns beyond the learned coordinates are zeros.
        """
        if n_components is None:
            return self._fitted().embedding_.copy()
        whole(n_components, "n_components", 1, "a map needs a coordinate")
        X = self._fitted().embedding_[:, :n_components]
        return np.pad(X, ((0, 0), (0, n_components - X.shape[1])))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def _starts(self, n_objects: int) -> Iterator[Floats]:
        shape = (n_objects, whole(self.n_components, "n_components", 1, "a map needs a coordinate"))
        n_init = whole(self.n_init, "n_init", 1, "there is no fit without a start")
        given = self.embedding_ if self.warm_start and hasattr(self, "embedding_") else self.initial_embedding
        if given is None:
            rng = random_generator(self.random_state, "random_state")
            return (_SMALL * rng.standard_normal(shape) for _ in range(n_init))
        given = check_map(given, "initial_embedding")
        if given.shape != shape:
            raise ValueError(f"The coordinates to start from have shape {given.shape}; pass some of shape {shape}.")
        return iter([given])

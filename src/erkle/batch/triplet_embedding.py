"""TripletEmbedding: coordinates of a chosen dimension that fit all answers."""

from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from erkle import embedding, triplets
from erkle.batch.minimisers import quasi_newton
from erkle.batch.objective import ByFeatures, ByMap, terms_of
from erkle.batch.solving import Callback, Progress, Settings, check_settings, solve
from erkle.checks import check_map, random_generator, share, whole
from erkle.estimators import TripletLearner, answers
from erkle.features import Features
from erkle.features.features import Vectors
from erkle.features.priors import FeaturePrior, Shares
from erkle.kernels.lapack import one_thread
from erkle.losses import STE, Loss

Floats = NDArray[np.float64]

# Standard deviation of a random start; it is small so that the answers, not the start, decide the result.
_START_SCALE = 0.01


class TripletEmbedding(TripletLearner, BaseEstimator):  # type: ignore[misc]
    """min sum of loss(X, t) + ridge * sum of x_ik² over coordinates X, (n_objects, n_components), by L-BFGS.

    `STE`, `GNMDS`, `CKL`, `TSTE` and `SOE` are the losses of the embedding methods of these names. The ridge is the
    weight of the trace of the kernel XX', as in `RCKL`. The problem is not convex, so several random starts
    (``n_init``) can be tried; the best one is kept.

    Parameters
    ----------
    n_objects : int
        Number of objects; ids in triplets run from 0 to n_objects - 1.
    n_components : int
        Number of coordinates.
    loss : Loss
        `STE`, `GNMDS`, `CKL`, `TSTE`, `SOE` or a loss of your own, which should be smooth. The hinge of GNMDS is not
        smooth; the method of multipliers minimises it.
    ridge : float
        Weight of the sum of squared coordinates.
    max_iter : int
        Most iterations of each start; reaching this number gives a `ConvergenceWarning`.
    tol : float
        Stop when the last ten iterations have lowered the objective by no more than this share of it. For GNMDS, stop
        when the smooth sum that is minimised instead is at most a thousand times this share below the objective.
    n_init : int
        Number of random starts.
    warm_start : bool
        Start from the coordinates of the last `fit`, if there is one.
    initial_embedding : (n_objects, n_components) array or None
        Coordinates to start from; None draws normal coordinates with standard deviation 0.01.
    random_state : int, Generator or None
        Draws the starts; an integer makes the fit repeatable.
    callback : function of two arguments or None
        Called with the number of the iteration and the objective, after each iteration.
    features : (n_objects, d) array, mapping from names to such arrays, Features or None
        What is known about the objects besides answers. Coordinates are then F·(W + B) + E: the features as they are
        (W), what answers change about them (B), and what answers say beyond them (E), with a ridge on B and one on E.
        `ERKLE` chooses how much features count; here you do.
    feature_share : float or mapping from names to floats
        The share of the variance of coordinates that features explain before any answer, between 0 and 1: the ridge
        of B is ridge / share, that of E about ridge / (1 - share). Several blocks divide a single number equally.

    Attributes
    ----------
    embedding_ : (n_objects, n_components) array
        The coordinates, with centred columns ordered by decreasing variance.
    objective_ : float
        The objective at `embedding_`.
    objectives_ : (n_iter_ + 1,) array
        The objective of the best start, at the beginning and after each iteration; it never rises.
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

    # What `place` needs: the features of the last fit, and the map from their axes to coordinates.
    _placing: tuple[Features, Floats] | None

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
        features: Vectors | Features | None = None,
        feature_share: float | Mapping[str, float] = 0.7,
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
        self.features = features
        self.feature_share = feature_share

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn all answers at once; their order does not matter.

        Parameters
        ----------
        X : (m, 3) array of integers
            Answers (anchor, near, far); with ``y``, questions (anchor, b, c).
        y : (m,) array of booleans, of 0 and 1 or of -1 and 1, optional
            True where the anchor is nearer to b.
        """
        settings = check_settings(self, "ridge")
        terms = terms_of(answers(X, y, settings.n_objects), settings.loss)
        if self.features is None:
            progress = self._solved(ByMap(terms, settings.weight), self._starts(settings.n_objects), settings)
            # A rotation changes no distance, and centring lowers the ridge.
            self.embedding_ = embedding.principal(progress.best)
            self.objective_ = ByMap(terms, settings.weight)(self.embedding_)[0]
            self._placing = None
        else:
            features, prior = self._prior(settings)
            objective = ByFeatures(terms, settings.weight, prior.compiled(settings.weight))
            progress = self._solved(objective, self._starts_beside(prior, settings), settings)
            self.embedding_ = embedding.principal(objective.coordinates(progress.best))
            self.objective_ = progress.objectives[-1]
            self._placing = features, prior.in_frame_of(self.embedding_).explained(self.embedding_)
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

    def _solved(self, objective: ByMap | ByFeatures, starts: Iterator[Floats], settings: Settings) -> Progress:
        """The best of the fits from these starts."""
        with one_thread(settings.n_objects):
            fits = (solve(objective, start, quasi_newton, settings) for start in starts)
            return min(fits, key=lambda fit: fit.objectives[-1])

    def place(self, features: Vectors) -> Floats:
        """Coordinates of objects that were not fitted, from their features, (n, n_components)."""
        placing = self._fitted()._placing
        if placing is None:
            raise ValueError("place needs a fit with features; pass features= to TripletEmbedding.")
        known, weights = placing
        return np.asarray(known.rows(features).axes @ weights)

    def _prior(self, settings: Settings) -> tuple[Features, FeaturePrior]:
        features = Features.of(self.features, settings.n_objects)  # type: ignore[arg-type]
        if settings.weight == 0.0:
            raise ValueError("ridge is 0, but features need a ridge above 0, which they divide among them.")
        shares = _shares(self.feature_share, features.names)
        return features, FeaturePrior.of(features, shares).with_rank(_n_components(self.n_components))

    def _starts_beside(self, prior: FeaturePrior, settings: Settings) -> Iterator[Floats]:
        """Standardised coordinates to start from: the given ones, or small numbers, which are near the features."""
        given = self.embedding_ if self.warm_start and hasattr(self, "embedding_") else self.initial_embedding
        for start in self._starts(settings.n_objects):
            if given is None:
                yield start
            else:
                yield prior.standardised(np.pad(start, ((0, 0), (0, 1))), settings.weight)[:, :-1].copy()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def _starts(self, n_objects: int) -> Iterator[Floats]:
        shape = (n_objects, _n_components(self.n_components))
        n_init = whole(self.n_init, "n_init", 1, "there is no fit without a start")
        given = self.embedding_ if self.warm_start and hasattr(self, "embedding_") else self.initial_embedding
        if self.initial_embedding is not None and n_init > 1:
            raise ValueError(f"n_init is {n_init}, but initial_embedding is the only start; leave one of them out.")
        if given is None:
            rng = random_generator(self.random_state, "random_state")
            return (_START_SCALE * rng.standard_normal(shape) for _ in range(n_init))
        given = check_map(given, "initial_embedding")
        if given.shape != shape:
            raise ValueError(f"The coordinates to start from have shape {given.shape}; pass an array of shape {shape}.")
        return iter([given])


def _n_components(value: int) -> int:
    return whole(value, "n_components", 1, "a map needs a coordinate")


def _shares(value: float | Mapping[str, float], names: tuple[str, ...]) -> Shares:
    """The share of each block; their sum is between 0 and 1."""
    if isinstance(value, Mapping):
        shares = {name: share(each, f"feature_share of {name!r}") for name, each in value.items()}
    else:
        shares = dict.fromkeys(names, share(value, "feature_share") / len(names))
    if unknown := [name for name in shares if name not in names]:
        raise ValueError(f"feature_share names {unknown[0]!r}, but the features are {' and '.join(names)}.")
    if not all(each > 0.0 for each in shares.values()) or not 0.0 < sum(shares.values()) < 1.0:
        raise ValueError(f"feature_share is {value!r}; pass shares above 0 whose sum is below 1.")
    return tuple(shares.items())

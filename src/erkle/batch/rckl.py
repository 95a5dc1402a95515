"""RCKL: the kernel that fits all answers best, with a penalty on its trace."""

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from erkle import embedding, metrics
from erkle.batch.minimisers import projected_gradient
from erkle.batch.objective import ByKernel, terms_of
from erkle.batch.solving import Callback, check_settings, solve
from erkle.checks import number
from erkle.estimators import TripletLearner, answers
from erkle.kernels.initial import check_initial_kernel
from erkle.kernels.lapack import one_thread
from erkle.losses import STE, Loss

Floats = NDArray[np.float64]


class RCKL(TripletLearner, BaseEstimator):  # type: ignore[misc]
    """min sum of loss(K, t) + trace * trace(K) over K ⪰ 0: Relative Comparison Kernel Learning.

    ``RCKL(n, STE())`` is STE and ``RCKL(n, GNMDS())`` is GNMDS; both are convex. ``RCKL(n, CKL())`` is CKL, which is
    not convex. Each iteration lowers the objective, and costs a pass over the answers and an eigendecomposition.

    Parameters
    ----------
    n_objects : int
        Number of objects; ids in triplets run from 0 to n_objects - 1.
    loss : Loss
        `STE`, `GNMDS`, `CKL`, `TSTE`, `SOE` or a loss of your own, which should be smooth. The hinge of GNMDS is not
        smooth; the method of multipliers minimises it.
    trace : float
        Weight of the trace, the same number as the ``ridge`` of `TripletEmbedding`. A larger weight gives a smaller
        kernel of lower rank. The best weight depends on the data: `fit_path` tries several.
    max_iter : int
        Most iterations; reaching this number gives a `ConvergenceWarning`.
    tol : float
        Stop when the last ten iterations have lowered the objective by no more than this share of it. For GNMDS, stop
        when the objective is at most a thousand times this share above the optimum.
    warm_start : bool
        Start from the kernel of the last `fit`, if there is one.
    initial_kernel : (n_objects, n_objects) array or None
        The positive semidefinite matrix to start from; None is the identity. It is centred, which changes no distance.
    callback : function of two arguments or None
        Called with the number of the iteration and the objective, after each iteration.

    Attributes
    ----------
    kernel_ : (n_objects, n_objects) array
        The kernel, centred: its rows sum to zero.
    objective_ : float
        The objective at `kernel_`.
    objectives_ : (n_iter_ + 1,) array
        The objective at the start and after each iteration; it never rises.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> from erkle import RCKL
    >>> learner = RCKL(n_objects=4, trace=0.1).fit([(0, 1, 2), (0, 1, 3), (2, 3, 0)])
    >>> learner.predict([(0, 1, 2), (0, 3, 1)])
    array([ True, False])
    >>> learner.embedding(2).shape
    (4, 2)
    """

    def __init__(
        self,
        n_objects: int,
        loss: Loss = STE(),
        trace: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-7,
        warm_start: bool = False,
        initial_kernel: ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_objects = n_objects
        self.loss = loss
        self.trace = trace
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.initial_kernel = initial_kernel
        self.callback = callback

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn all answers at once; their order does not matter.

        Parameters
        ----------
        X : (m, 3) array of integers
            Answers (anchor, near, far); with ``y``, questions (anchor, b, c).
        y : (m,) array of booleans, of 0 and 1 or of -1 and 1, optional
            True where the anchor is nearer to b.
        """
        settings = check_settings(self, "trace")
        T = answers(X, y, settings.n_objects)
        objective = ByKernel(terms_of(T, settings.loss), settings.weight)
        with one_thread(settings.n_objects):
            start = _centred(self._start(settings.n_objects))
            progress = solve(objective, start, projected_gradient, settings)
        self.kernel_ = progress.best
        self.objectives_ = np.array(progress.objectives)
        self.objective_, self.n_iter_ = progress.objectives[-1], progress.n_iter
        self.converged_, self.n_features_in_ = progress.converged, 3
        progress.warn_unless_converged()
        return self

    def fit_path(self, X: ArrayLike, traces: Iterable[float], y: ArrayLike | None = None) -> list[Self]:
        """Fit several weights of the trace, from the largest to the smallest; each fit starts from the kernel before.

        This is faster than separate fits: large weights converge quickly, and each kernel is a good start for the next.

        Parameters
        ----------
        X, y
            As for `fit`.
        traces : numbers
            The weights to try.

        Returns
        -------
        list of RCKL
            A fitted learner for each weight, in the order given. The learner itself does not change.

        Examples
        --------
        >>> path = RCKL(n_objects=4).fit_path([(0, 1, 2), (0, 1, 3), (2, 3, 0)], traces=[0.1, 1, 10])
        >>> [round(learner.objective_, 2) for learner in path]
        [0.37, 1.73, 2.08]
        """
        weights = [number(trace, "trace", "0 leaves the size of the kernel free") for trace in traces]
        fits: dict[int, Self] = {}
        before: Self | None = None
        for i in sorted(range(len(weights)), key=lambda i: -weights[i]):
            learner: Self = clone(self).set_params(trace=weights[i], warm_start=True)
            if before is not None:
                learner.kernel_ = before.kernel_
            fits[i] = before = learner.fit(X, y).set_params(warm_start=self.warm_start)
        return [fits[i] for i in range(len(weights))]

    @property
    def n_objects_(self) -> int:
        """Number of objects."""
        return len(self._fitted().kernel_)

    def decision_function(self, X: ArrayLike) -> Floats:
        """d²(a, c) - d²(a, b) of each row (a, b, c): positive where a is nearer to b."""
        return metrics.decision_values(self._fitted().kernel_, X)

    def kernel_matrix(self) -> Floats:
        """The kernel, (n, n): a copy of `kernel_`."""
        return self._fitted().kernel_.copy()

    def embedding(self, n_components: int | None = None) -> Floats:
        """Coordinates, ordered by decreasing variance: all of them, (n, rank), or the first ``n_components``."""
        return embedding.embed(self._fitted().kernel_, n_components)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")

    def _start(self, n_objects: int) -> Floats:
        if self.warm_start and hasattr(self, "kernel_"):
            if len(self.kernel_) != n_objects:
                raise ValueError(
                    f"The kernel to start from has {len(self.kernel_)} objects, but n_objects is {n_objects}; "
                    "pass warm_start=False."
                )
            return self.kernel_
        return check_initial_kernel(self.initial_kernel, n_objects)


def _centred(K: Floats) -> Floats:
    """The kernel with the same distances and the mean of all objects at the origin; it has the smallest trace."""
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    return np.asarray(0.5 * (centred + centred.T))

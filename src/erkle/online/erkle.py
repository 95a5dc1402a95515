"""ERKLE: a kernel kept up to date one answer at a time.

Law: any split of a stream into `partial_fit` and `learn_one` calls, saved and loaded anywhere in between,
gives the same kernel to the last bit.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from erkle.estimators import KernelLearner, answers
from erkle.kernels.dense import DenseKernel, Projection
from erkle.kernels.lapack import one_thread, projected
from erkle.losses import GNMDS, Loss
from erkle.online import saving
from erkle.online.replay import Replay, generator
from erkle.online.settings import Settings, check_settings
from erkle.steps import PassiveAggressive, Step

__all__ = ["ERKLE"]

# Rows handed to the compiled loop at once: bounds memory under replay, and how long Ctrl-C has to wait.
_BLOCK = 8192


class ERKLE(KernelLearner, BaseEstimator):  # type: ignore[misc]
    """K <- projection of K - gamma D onto the positive semidefinite cone, answer by answer (Heim et al. 2015).

    ``ERKLE(n)`` is PA-ERKLE of the paper; ``ERKLE(n, loss=STE(), step=Constant(1.0))`` is STE-ERKLE.

    Parameters
    ----------
    n_objects : int
        Number of objects; ids in triplets run from 0 to n_objects - 1.
    loss : Loss
        `STE`, `GNMDS`, `CKL`, `TSTE` or your own: how wrong an answer is, and so which way to move.
    step : Step
        `PassiveAggressive`, `PassiveAggressiveI`, `PassiveAggressiveII`, `Constant`, `Inverse`, `InverseSqrt`
        or your own: how far to move.
    direction : {"canonical", "gradient"}
        The paper's sparse matrix G, or the Frobenius gradient, whose off-diagonal entries are half of G's.
    passes : int
        With beta > 1 passes, each new answer is followed by beta - 1 drawn from those already seen.
    tol : float
        Relative residual of the eigenpair each projection takes away.
    random_state : int, Generator or None
        Draws the answers to replay; without effect for one pass.
    initial_kernel : (n_objects, n_objects) array or None
        Where to start, positive semidefinite; None is the identity.
    projection : {"inverse", "eigh"}
        How to find that eigenpair: Lanczos on a maintained inverse, or LAPACK every time, the literal algorithm.

    Examples
    --------
    >>> from erkle import ERKLE
    >>> learner = ERKLE(n_objects=4).fit([(0, 1, 2), (0, 1, 3), (2, 3, 0)])
    >>> learner.predict([(0, 1, 2), (0, 3, 1)])
    array([ True, False])
    >>> learner.learn_one((1, 0, 3))
    >>> learner.predict_one((1, 0, 3))
    True
    >>> learner.n_triplets_seen_
    4
    """

    _remedy = "fit, partial_fit or learn_one"

    def __init__(
        self,
        n_objects: int,
        loss: Loss = GNMDS(),
        step: Step = PassiveAggressive(),
        direction: Literal["canonical", "gradient"] = "canonical",
        passes: int = 1,
        tol: float = 1e-2,
        random_state: int | np.random.Generator | None = None,
        initial_kernel: ArrayLike | None = None,
        projection: Projection = "inverse",
    ) -> None:
        self.n_objects = n_objects
        self.loss = loss
        self.step = step
        self.direction = direction
        self.passes = passes
        self.tol = tol
        self.random_state = random_state
        self.initial_kernel = initial_kernel
        self.projection = projection

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Forget everything, then learn X in order.

        Parameters
        ----------
        X : (m, 3) array of integers
            Answers (anchor, near, far); with ``y``, questions (anchor, b, c).
        y : (m,) array of booleans, of 0 and 1 or of -1 and 1, optional
            True where the anchor is nearer to b.
        """
        settings = check_settings(self)
        T = answers(X, y, len(settings.initial_kernel))
        self._reset(settings)
        return self.partial_fit(T)

    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn X in order, on top of what is known. Same parameters as `fit`."""
        self.prequential(X, y)
        return self

    def learn_one(self, triplet: Sequence[int] | NDArray[np.integer[Any]], answer: bool = True) -> None:
        """Learn one answer: of the three objects the first is nearer to the second (or to the third, if False)."""
        self.prequential(_one_row(triplet), None if answer else [False])

    def prequential(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[np.float64]:
        """Learn X in order, and return the decision value each answer had just before it was learned.

        These are honest: no answer was known when it was predicted. `erkle.metrics.prequential_error` turns
        them into a running error.
        """
        self._start()
        T = answers(X, y, self.n_objects_)
        decisions = np.full(len(T), np.nan)
        block = max(1, _BLOCK // self._replay.passes)
        for start in range(0, len(T), block):
            self._learn(T[start : start + block], decisions[start : start + block])
        return decisions

    def _learn(self, T: NDArray[np.int64], decisions: NDArray[np.float64]) -> None:
        loss, step, canonical = self._settings()
        rows, numbers, new = self._replay.schedule(T)
        excess = np.full(len(rows), np.nan)
        self._kernel_cache: NDArray[np.float64] | None = None
        try:
            self._kernel.learn(loss, step, canonical, rows, numbers, excess)
        finally:
            # Also after an interruption or an overflow: what has been learned is counted, and nothing else.
            decisions[:] = -excess[new]
            self._replay.forget(int(np.count_nonzero(np.isnan(decisions))))
            self.n_mistakes_ += int(np.count_nonzero(decisions <= 0.0))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """d²(a, c) - d²(a, b) of each row (a, b, c): positive where a is nearer to b."""
        self._check_fitted()
        return -self._kernel.excess(answers(X, None, self.n_objects_))

    def predict_one(self, triplet: Sequence[int] | NDArray[np.integer[Any]]) -> bool:
        """Whether the first object is nearer to the second than to the third. Before any answer: False, a tie."""
        self._start()
        return bool(self.predict(_one_row(triplet))[0])

    def add_objects(self, n_new: int = 1) -> Self:
        """Make room for new objects; their ids follow the old ones, and they are like nothing else yet."""
        if isinstance(n_new, bool) or not isinstance(n_new, int | np.integer) or n_new < 0:
            raise ValueError(f"The number of new objects is {n_new!r}; pass an integer of at least 0.")
        self._start()
        self._kernel.grow(int(n_new))
        self._kernel_cache = None
        return self

    @property
    def kernel_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The kernel, (n, n), positive semidefinite to rounding (a last exact projection, if needed, is kept)."""
        self._check_fitted()
        if self._kernel_cache is None:
            with one_thread(self.n_objects_):
                self._kernel_cache = projected(self._kernel.matrix())
            self._kernel_cache.flags.writeable = False
        return self._kernel_cache

    @property
    def n_objects_(self) -> int:
        """Number of objects, those added included."""
        self._check_fitted()
        return self._kernel.n_objects

    @property
    def n_triplets_seen_(self) -> int:
        """Number of answers learned; replayed ones do not count again."""
        self._check_fitted()
        return self._replay.seen

    @property
    def n_active_(self) -> int:
        """Number of answers, replayed ones included, that moved the kernel."""
        self._check_fitted()
        return self._kernel.count("n_active")

    @property
    def n_eigenpairs_(self) -> int:
        """Number of eigenpairs computed: moves the skip rule did not show to be harmless."""
        self._check_fitted()
        return self._kernel.count("n_eigenpairs")

    @property
    def n_projections_(self) -> int:
        """Number of moves that made an eigenvalue negative, and were projected."""
        self._check_fitted()
        return self._kernel.count("n_projections")

    @property
    def prequential_error_(self) -> float:
        """Share of answers that were predicted wrongly just before they were learned; NaN before the first."""
        return self.n_mistakes_ / self.n_triplets_seen_ if self.n_triplets_seen_ else float("nan")

    def save(self, path: str | PathLike[str], labels: list[str] | None = None) -> None:
        """Write everything to an .npz file of plain arrays, atomically; `load` goes on exactly from here.

        ``numpy.load(path)["kernel"]`` is `kernel_`; ``labels``, if given, are the objects' names.
        """
        self._check_fitted()
        saving.save(self, path, labels)

    @classmethod
    def load(cls, path: str | PathLike[str], loss: Loss | None = None, step: Step | None = None) -> Self:
        """The learner that `save` wrote. A loss or step of your own must be given again: no code is loaded."""
        learner: Self = saving.load(cls, path, loss, step)
        return learner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.positive_only = True  # X holds ids
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_kernel")

    def _start(self) -> None:
        if not hasattr(self, "_kernel"):
            self._reset(check_settings(self))

    def _reset(self, settings: Settings) -> None:
        kernel = DenseKernel(settings.initial_kernel, settings.tol, self.projection)
        self._begin(kernel, Replay(settings.passes, generator(self.random_state)))

    def _begin(self, kernel: DenseKernel, replay: Replay, n_mistakes: int = 0) -> None:
        self._kernel, self._replay, self.n_mistakes_ = kernel, replay, n_mistakes
        self._kernel_cache = None
        self._given: tuple[Any, ...] = (None, None, None)
        self.n_features_in_ = 3

    def _settings(self) -> tuple[Loss, Step, bool]:
        """Loss, step and direction as compiled code wants them; checked again only when one has been set anew."""
        given = (self.loss, self.step, self.direction)
        if any(new is not old for new, old in zip(given, self._given, strict=True)):
            settings = check_settings(self)
            self._given, self._parts = given, (settings.loss, settings.step, self.direction == "canonical")
        return self._parts


def _one_row(triplet: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[Any]:
    row = np.asarray(triplet)
    if row.shape != (3,):
        raise ValueError(f"A triplet of shape {row.shape} was given; pass three ids, (anchor, near, far).")
    return row[None]

"""ERKLE: a kernel kept up to date one answer at a time.

Law: any split of a stream into `partial_fit` and `learn_one` calls, saved and loaded anywhere in between,
gives the same kernel to the last bit.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from os import PathLike, fspath
from typing import Any, Literal, Self

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from erkle import conflicts
from erkle.checks import whole
from erkle.conflicts import Conflicts
from erkle.estimators import TripletLearner, answers
from erkle.files import load_npz, save_npz
from erkle.kernels.dense import Projection
from erkle.kernels.lapack import one_thread
from erkle.kernels.low_rank import LowRank
from erkle.losses import GNMDS, Loss
from erkle.online import saving
from erkle.online.background import Background
from erkle.online.forecast import Forecast, forecast
from erkle.online.models import Model, Refitting, Single, model_for, most_kept
from erkle.online.record import Curve, Record
from erkle.online.replay import Replay, generator
from erkle.online.selection.candidates import Candidate
from erkle.online.selection.evidence import Reliability
from erkle.online.settings import Settings, check_settings
from erkle.steps import PassiveAggressive, Step

# Rows handed to the compiled loop at once: bounds memory under replay, and how long Ctrl-C has to wait.
_BLOCK = 8192


class ERKLE(TripletLearner, BaseEstimator):  # type: ignore[misc]
    """K <- projection of K - gamma D onto the positive semidefinite cone, answer by answer (Heim et al. 2015).

    ``ERKLE(n, kernel=LowRank())`` is the learner for people's answers: it needs no other parameter.
    ``ERKLE(n)`` is PA-ERKLE of the paper; ``ERKLE(n, loss=STE(), step=Constant(1.0))`` is STE-ERKLE.

    Parameters
    ----------
    n_objects : int
        Number of objects; ids in triplets run from 0 to n_objects - 1.
    loss : Loss
        `STE`, `GNMDS`, `CKL`, `TSTE` or your own: how wrong an answer is, and so which way to move. A `LowRank` that
        chooses or fits has a loss, a step and a direction of its own, and refuses yours.
    step : Step
        `PassiveAggressive`, `PassiveAggressiveI`, `PassiveAggressiveII`, `Constant`, `Inverse`, `InverseSqrt`
        or your own: how far to move.
    direction : {"canonical", "gradient"}
        The paper's sparse matrix G, or the Frobenius gradient, whose off-diagonal entries are half of G's.
    passes : int
        With beta > 1 passes, each new answer is followed by beta - 1 drawn from those already seen. Where all answers
        are fitted again now and then (see `LowRank`), that is so for the steps in between; a fit takes each once.
    tol : float
        Relative residual of the eigenpair each projection takes away; without effect for a low-rank kernel.
    random_state : int, Generator or None
        Draws the answers to replay, and where fits begin; without effect for one pass and no fits.
    initial_kernel : (n_objects, n_objects) array or None
        Where to start, positive semidefinite; None is the identity.
    projection : {"inverse", "eigh"}
        How to find that eigenpair: Lanczos on a maintained inverse, or LAPACK every time, the literal algorithm;
        without effect for a low-rank kernel.
    kernel : LowRank or None
        None is the exact kernel of the paper, n × n, started at the identity. `LowRank` is one of low rank, whose
        cost per answer does not grow with n; ``LowRank()`` chooses rank, regularisation and steps while learning.

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
    _model: Model
    _replay: Replay
    _record: Record
    _job: Background | None
    _kernel_cache: NDArray[np.float64] | None
    n_mistakes_: int

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
        kernel: LowRank | None = None,
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
        self.kernel = kernel

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
        T = answers(X, y, settings.n_objects)
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
        done = 0
        while done < len(T):
            self._review()
            room = min(max(1, _BLOCK // self._replay.passes), self._model.next_review - self._replay.seen)
            self._learn(T[done : done + room], decisions[done : done + room])
            done += room
        self._review()
        return decisions

    def _learn(self, T: NDArray[np.int64], decisions: NDArray[np.float64]) -> None:
        self._follow_parameters()
        stretch = self._replay.schedule(T)
        self._kernel_cache = None
        try:
            self._model.learn(stretch)
        finally:
            # Also after an interruption or an overflow: what has been learned is counted, and nothing else.
            decisions[:] = -stretch.excess[stretch.new]
            learned = int(np.count_nonzero(~np.isnan(decisions)))
            self._replay.forget(len(T) - learned)
            self._record.add(T[:learned], decisions[:learned], self._replay.seen - learned)
            self.n_mistakes_ += int(np.count_nonzero(decisions <= 0.0))

    def _review(self) -> None:
        """Take over a fit that has ended in the background, and let the model choose if it is time to."""
        self._adopt()
        if self._replay.seen == self._model.next_review:
            with one_thread(self.n_objects_):
                self._model.review(self._replay.seen, self._replay.history)
            self._kernel_cache = None

    def consolidate(self, background: bool = False) -> Future[None] | None:
        """Fit all answers again, to the end, and go on from there; needs a kernel that keeps them (see `LowRank`).

        Parameters
        ----------
        background : bool
            Fit in a thread of its own, and return at once with its future. Learning can go on; the next call that
            learns (or `consolidate`, or `save`) after the future is done takes the result over, having learned on it
            what came in between. When that is depends on the clock, so that two runs need not give the same kernel.
        """
        self._start()
        self._adopt()
        if not isinstance(self._model, Refitting):
            raise ValueError(
                "This learner keeps no answers to fit; pass kernel=LowRank(), or LowRank(10, consolidate=0.05)."
            )
        if background:
            self._job = self._job or Background(self._model, self._replay.history)
            return self._job.future
        self._model.finish(self._replay.history)
        # One in the background would know less than this one.
        self._job = None
        self._kernel_cache = None
        return None

    def _adopt(self) -> None:
        if self._job is not None and self._job.future.done():
            job, self._job = self._job, None
            if isinstance(self._model, Refitting):
                self._model = job.result(self._model, self._replay.history)
            self._kernel_cache = None

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """d²(a, c) - d²(a, b) of each row (a, b, c): positive where a is nearer to b."""
        return -self._fitted()._model.kernel.excess(answers(X, None, self.n_objects_))

    def predict_one(self, triplet: Sequence[int] | NDArray[np.integer[Any]]) -> bool:
        """Whether the first object is nearer to the second than to the third. Before any answer: False, a tie."""
        return bool(self.knowledge().predict(_one_row(triplet))[0])

    def knowledge(self) -> Self:
        """The learner itself, or a started copy of it if it has learned nothing yet; the learner is not changed."""
        if hasattr(self, "_model"):
            return self
        copy: Self = clone(self)
        copy._start()
        return copy

    def add_objects(self, n_new: int = 1) -> Self:
        """Make room for new objects; their ids follow the old ones, and they are like nothing else yet."""
        n_new = whole(n_new, "n_new", 0, "objects cannot be removed")
        self._start()
        self._model.grow(n_new)
        self._record.grow(n_new)
        self._kernel_cache = None
        return self

    @property
    def kernel_(self) -> NDArray[np.float64]:
        """The kernel, (n, n), positive semidefinite to rounding (a last exact projection, if needed, is kept)."""
        self._fitted()
        if self._kernel_cache is None:
            self._kernel_cache = self._model.kernel.matrix()
            self._kernel_cache.flags.writeable = False
        return self._kernel_cache

    @property
    def embedding_(self) -> NDArray[np.float64]:
        """All coordinates, (n, rank), by falling variance: their distances are the kernel's.

        ``LowRank()`` may find that some objects are farther from all others alike; that stands on the diagonal of
        the kernel, and in no coordinate.
        """
        return self._fitted()._model.kernel.embedding()

    def embedding(self, n_components: int = 2) -> NDArray[np.float64]:
        """The first coordinates, (n, n_components): a map."""
        kernel = self._fitted()._model.kernel
        return kernel.embedding(whole(n_components, "n_components", 1, "a map needs a coordinate"))

    def coordinates(self, ids: ArrayLike) -> NDArray[np.float64]:
        """Coordinates of some objects, one row for each id: those of `embedding_`, turned and moved in some way.

        Of a low-rank kernel that costs nothing that grows with the number of objects.
        """
        return self._fitted()._model.kernel.coordinates(np.asarray(ids))

    @property
    def shifts_(self) -> NDArray[np.float64]:
        """How much farther each object is, squared, from all others alike than its coordinates say, (n,)."""
        return self._fitted()._model.kernel.shifts

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities, (m, 2), of a being nearer to c and of a being nearer to b, for each row (a, b, c).

        They are calibrated while learning, on answers predicted before they were known: of those predicted with 0.8,
        about 0.8 come true (`reliability_` shows how well that has held).
        """
        near = scipy.special.expit(self.decision_function(X) / self.temperature_)
        return np.column_stack([1.0 - near, near])

    @property
    def temperature_(self) -> float:
        """What decision values are divided by before they become probabilities."""
        return self._fitted()._model.evidence.temperature

    @property
    def reliability_(self) -> Reliability:
        """Answers by how sure the learner was of them just before it learned them, and how often it was right."""
        return self._fitted()._model.evidence.reliability()

    @property
    def selection_(self) -> list[Candidate]:
        """Candidates of ``LowRank()``, the best first: setting, weight, loss and error on answers before they were
        known (the recent ones counting most), and whether it leads, runs or has been given up."""
        return self._fitted()._model.selection()

    @property
    def conflicts_(self) -> Conflicts:
        """What the answers say against each other; of a low-rank kernel without fits, the last million."""
        return conflicts.find(self.history_)

    @property
    def history_(self) -> NDArray[np.int32]:
        """The answers that are kept, in order; of a low-rank kernel without fits, the last million."""
        history = self.kept_answers()
        if history is None:
            raise AttributeError("The exact kernel keeps no answers; pass kernel=LowRank(), or keep them yourself.")
        return history

    def kept_answers(self) -> NDArray[np.int32] | None:
        """What `history_` gives, or None for the exact kernel, which keeps no answers."""
        if self._fitted()._replay.keep == 0:
            return None
        history = self._replay.history
        history.flags.writeable = False
        return history

    @property
    def n_objects_(self) -> int:
        """Number of objects, those added included."""
        return self._fitted()._model.kernel.n_objects

    @property
    def n_triplets_seen_(self) -> int:
        """Number of answers learned; replayed ones do not count again."""
        return self._fitted()._replay.seen

    @property
    def n_heads_(self) -> NDArray[np.int64]:
        """How often each object was the first of an answer, the one that was asked about."""
        return self._fitted()._record.heads.copy()

    @property
    def n_appearances_(self) -> NDArray[np.int64]:
        """How often each object was in an answer."""
        return self._fitted()._record.appearances.copy()

    @property
    def curve_(self) -> Curve:
        """Errors just before learning, by the number of answers learned."""
        return Curve.of_bins(self._fitted()._record.bins)

    def answers_needed(self, target: float, curve: Curve | None = None) -> Forecast:
        """How many more answers it takes until the share of wrong predictions is down to ``target``.

        Parameters
        ----------
        target : float
            The error wanted, between 0 and 1.
        curve : Curve or None
            None is `curve_`, which is right where questions come at random. Where a strategy chooses them only those
            held out tell the error on all questions: pass the ``curve`` of the asker.
        """
        return forecast(self.curve_ if curve is None else curve, target, self.n_triplets_seen_)

    @property
    def n_active_(self) -> int:
        """Number of answers, replayed ones included, that moved the kernel."""
        return self._fitted()._model.kernel.count("n_active")

    @property
    def n_eigenpairs_(self) -> int:
        """Number of eigenpairs computed: moves the skip rule did not show to be harmless."""
        return self._fitted()._model.kernel.count("n_eigenpairs")

    @property
    def n_projections_(self) -> int:
        """Number of moves that made an eigenvalue negative, and were projected."""
        return self._fitted()._model.kernel.count("n_projections")

    @property
    def prequential_error_(self) -> float:
        """Share of answers that were predicted wrongly just before they were learned; NaN before the first."""
        return self.n_mistakes_ / self.n_triplets_seen_ if self.n_triplets_seen_ else float("nan")

    def save(self, path: str | PathLike[str], labels: list[str] | None = None) -> None:
        """Write everything to an .npz file of plain arrays, atomically; `load` goes on exactly from here.

        ``numpy.load(path)["kernel"]`` is `kernel_`; ``labels``, if given, are the objects' names.
        """
        self._fitted()._adopt()
        save_npz(path, *saving.file_contents(self, labels))

    @classmethod
    def load(cls, path: str | PathLike[str], loss: Loss | None = None, step: Step | None = None) -> Self:
        """The learner that `save` wrote. A loss or step of your own must be given again: no code is loaded."""
        return saving.unpack(cls, load_npz(path), fspath(path), loss, step)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.positive_only = True  # X holds ids
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _start(self) -> None:
        if not hasattr(self, "_model"):
            self._reset(check_settings(self))

    def _reset(self, settings: Settings) -> None:
        rng = generator(self.random_state)
        model = model_for(settings, rng)
        self._begin(model, Replay(settings.passes, rng, most_kept(settings)), Record(settings.n_objects))

    def _begin(self, model: Model, replay: Replay, record: Record, n_mistakes: int = 0) -> None:
        self._model, self._replay, self._record, self.n_mistakes_ = model, replay, record, n_mistakes
        self._kernel_cache = None
        self._job = None
        self._given = (self.loss, self.step, self.direction)
        self.n_features_in_ = 3

    def _follow_parameters(self) -> None:
        """Check loss, step and direction again if one of them has been set anew, and learn by them."""
        given = (self.loss, self.step, self.direction)
        if any(new is not old for new, old in zip(given, self._given, strict=True)):
            rule = check_settings(self).rule
            if isinstance(self._model, Single):
                self._model.rule = rule
            self._given = given

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        # A thread cannot be copied; its result would be lost on the copy, and nothing else.
        return {**state, "_job": None} if "_job" in state else state


def _one_row(triplet: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[Any]:
    row = np.asarray(triplet)
    if row.shape != (3,):
        raise ValueError(f"A triplet of shape {row.shape} was given; pass three ids, (anchor, near, far).")
    return row[None]

"""ERKLE: a kernel that is updated after every answer.

Law: any split of a stream into `partial_fit` and `learn_one` calls, with saving and loading in between, gives the same
kernel to the last bit.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from os import PathLike, fspath
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from erkle.answer_models import AnswerModel, Lapse
from erkle.checks import whole
from erkle.estimators import TripletLearner, answers
from erkle.features import Features, FeatureWorth
from erkle.features.features import Vectors
from erkle.interruption import uninterrupted
from erkle.kernels.dense import Dense
from erkle.kernels.kernel import Counters
from erkle.kernels.lapack import one_thread
from erkle.kernels.low_rank import LowRank
from erkle.losses import Loss
from erkle.npz_files import load_npz, save_npz
from erkle.online import saving
from erkle.online.background import Background
from erkle.online.forecast import Forecast, TooEarly, forecast
from erkle.online.models import Answers, Model, Refitting, Single, model_for, most_kept
from erkle.online.participants import ParticipantLapses, Participants, participant_names
from erkle.online.record import Curve, Record
from erkle.online.replay import Replay, generator
from erkle.online.selection.candidates import Candidate
from erkle.online.selection.evidence import Reliability
from erkle.online.settings import Settings, check_settings
from erkle.steps import Step


class ERKLE(TripletLearner, BaseEstimator):  # type: ignore[misc]
    """K ← projection of K - γD onto the positive semidefinite cone, answer by answer (Heim et al. 2015).

    ``ERKLE(n)`` needs no other parameter. It learns a low-rank kernel, chooses its own settings, and fits all answers
    again from time to time. ``ERKLE(n, kernel=Dense())`` is PA-ERKLE of the paper, and
    ``ERKLE(n, kernel=Dense(), loss=STE(), step=Constant(1.0))`` is STE-ERKLE.

    Parameters
    ----------
    n_objects : int
        Number of objects; ids in triplets run from 0 to n_objects - 1.
    kernel : LowRank or Dense
        `LowRank` learns a kernel of low rank, at a cost per answer that does not grow with n. ``LowRank()`` chooses
        rank, regularisation and steps while learning. `Dense` learns the n × n kernel of the paper.
    loss : Loss or None
        How wrong an answer is: `STE`, `GNMDS`, `CKL`, `TSTE`, `SOE` or your own. None is `GNMDS`. A `LowRank` that
        chooses its settings or fits all answers again has its own loss, step and direction, and refuses yours.
    step : Step or None
        How far an answer moves the kernel: `PassiveAggressive`, `PassiveAggressiveI`, `PassiveAggressiveII`,
        `Constant`, `Inverse`, `InverseSqrt` or your own. None is `PassiveAggressive`.
    direction : {"canonical", "gradient"} or None
        The direction of a move: the paper's matrix G, or the Frobenius gradient, whose off-diagonal entries are half
        of G's. None is "canonical".
    passes : int
        With more than one pass, each new answer is followed by ``passes - 1`` answers drawn from all seen so far.
        This concerns online steps; a fit of all answers uses each answer once.
    random_state : int, Generator or None
        Draws the answers to replay and the starting points of fits. An integer makes learning repeatable.
    features : (n_objects, d) array, mapping from names to such arrays, Features or None
        What is known about the objects besides answers: image embeddings, word vectors, measurements, ratings. A row
        of NaN is an object without features. How much each block of features counts is chosen while learning, and may
        be nothing; `features_` reports it. Only ``LowRank()`` uses features.

    Notes
    -----
    If `set_params` changes the loss, step or direction after learning has begun, the change takes effect with the next
    answer. Changes of the other parameters take effect with the next `fit`.

    Examples
    --------
    >>> from erkle import ERKLE
    >>> learner = ERKLE(n_objects=4, random_state=0).fit([(0, 1, 2), (0, 1, 3), (2, 3, 0)])
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
    _participants: Participants
    _job: Background | None
    _n_mistakes: int
    # The features that the model began with; `set_params` may have changed the parameter since.
    _known: Vectors | Features | None

    def __init__(
        self,
        n_objects: int,
        *,
        kernel: LowRank | Dense = LowRank(),
        loss: Loss | None = None,
        step: Step | None = None,
        direction: Literal["canonical", "gradient"] | None = None,
        passes: int = 1,
        random_state: int | np.random.Generator | None = None,
        features: Vectors | Features | None = None,
    ) -> None:
        self.n_objects = n_objects
        self.kernel = kernel
        self.loss = loss
        self.step = step
        self.direction = direction
        self.passes = passes
        self.random_state = random_state
        self.features = features

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, participants: ArrayLike | None = None) -> Self:
        """Forget everything, then learn X in order.

        Parameters
        ----------
        X : (m, 3) array of integers
            Answers (anchor, near, far); with ``y``, questions (anchor, b, c).
        y : (m,) array of booleans, of 0 and 1 or of -1 and 1, optional
            True where the anchor is nearer to b.
        participants : (m,) array of names or numbers, optional
            Who gave each answer. The learner estimates how often each participant slips (`participants_`), and answers
            of participants who slip more count less in its fits. None, NaN and "" are unknown participants.
        """
        settings = check_settings(self)
        T = answers(X, y, settings.n_objects)
        names = None if participants is None else participant_names(participants, len(T))
        self._reset(settings)
        return self.partial_fit(T, participants=names)

    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None, participants: ArrayLike | None = None) -> Self:
        """Learn X in order, in addition to what has been learned. Takes the same parameters as `fit`."""
        self.prequential(X, y, participants)
        return self

    def learn_one(
        self,
        triplet: Sequence[int] | NDArray[np.integer[Any]],
        answer: bool = True,
        participant: str | int | None = None,
    ) -> None:
        """Learn one answer: the first object is nearer to the second (if True) or to the third (if False).

        ``participant`` is the name or number of whoever gave the answer.
        """
        who = None if participant is None else np.array([participant], np.object_)
        self.prequential(_one_row(triplet), None if answer is True else [answer], who)

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        participants: ArrayLike | None = None,
        out: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Learn X in order, and return the decision value of each answer just before it was learned.

        These values are honest predictions: no answer was known when it was predicted.
        `erkle.metrics.prequential_error` turns them into a running error. They are written to ``out``, (m,), if it is
        given; after an interruption, the values of answers that were not learned are NaN.
        """
        self._start()
        T = answers(X, y, self.n_objects_)
        names = None if participants is None else participant_names(participants, len(T))
        decisions = np.empty(len(T)) if out is None else _checked_out(out, len(T))
        decisions[:] = np.nan
        done = 0
        while done < len(T):
            self._review()
            most = max(1, self._model.kernel.block // self._replay.passes)
            piece = slice(done, done + min(most, self._model.next_review - self._replay.seen))
            with uninterrupted():
                self._learn(T[piece], names and names[piece], decisions[piece])
            done = piece.stop
        self._review()
        return decisions

    def _learn(self, T: NDArray[np.int64], names: list[str] | None, decisions: NDArray[np.float64]) -> None:
        self._follow_parameters()
        before = self._replay.seen
        try:
            numbers = self._participants.number(names, len(T))
            stretch = self._replay.schedule(T, numbers)
            try:
                self._model.learn(stretch)
            finally:
                # After an overflow, count exactly the answers that have been learned.
                values = -stretch.excess[stretch.new]
                learned = int(np.count_nonzero(~np.isnan(values)))
                self._replay.forget(len(T) - learned)
                self._record.add(T[:learned], values[:learned], before)
                self._participants.add(numbers[:learned], stretch.likely[:learned], before, self.n_objects_)
                self._n_mistakes += int(np.count_nonzero(values <= 0.0))
                decisions[:] = values
        finally:
            self._participants.drop_silent()

    def _review(self) -> None:
        """Take over a fit that has finished in the background, and review the model if a review is due."""
        self._adopt()
        if self._replay.seen == self._model.next_review:
            with one_thread(self.n_objects_):
                self._model.review(self._replay.seen, self._answers())

    def _answers(self) -> Answers:
        """All answers so far, with the lapses of those who gave them."""
        lapses = self._participants.lapses(self.lapse_.rate)
        typical = self._participants.typical_lapse(lapses)
        return Answers(self._replay.history, lapses[self._replay.participants], typical)

    def consolidate(self, background: bool = False) -> Future[None] | None:
        """Fit all answers again until convergence, and continue from there.

        The learner must keep its answers, as ``LowRank()`` and ``LowRank(10, consolidate=0.05)`` do.

        Parameters
        ----------
        background : bool
            Fit in a thread and return its future at once. Learning can continue meanwhile. The first call that learns,
            consolidates or saves after the future is done takes over the result and learns on it what came in between.
            When this happens depends on the clock, so two runs may give different kernels.
        """
        self._start()
        self._adopt()
        if not isinstance(self._model, Refitting):
            raise ValueError(
                "This learner began with a kernel that keeps no answers to fit; "
                "begin with kernel=LowRank() or LowRank(10, consolidate=0.05)."
            )
        if background:
            self._job = self._job or Background(self._model, self._answers())
            return self._job.future
        self._model.finish(self._answers())
        # A fit in the background has fewer answers than this one.
        self._job = None
        return None

    def _adopt(self) -> None:
        if self._job is not None and self._job.future.done():
            with uninterrupted():
                job, self._job = self._job, None
                if isinstance(self._model, Refitting):
                    self._model = job.result(self._model, self._replay.history)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """d²(a, c) - d²(a, b) for each row (a, b, c): positive where a is nearer to b."""
        return -self._fitted()._model.kernel.excess(answers(X, None, self.n_objects_))

    def distances(self, X: ArrayLike) -> NDArray[np.float64]:
        """d²(a, b) and d²(a, c) for each row (a, b, c), (m, 2)."""
        return self._fitted()._model.kernel.distances(answers(X, None, self.n_objects_))

    def predict_one(self, triplet: Sequence[int] | NDArray[np.integer[Any]]) -> bool:
        """Whether the first object is nearer to the second than to the third. False (a tie) before any answer."""
        return bool(self.knowledge().predict(_one_row(triplet))[0])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probabilities, (m, 2), that a is nearer to c and that a is nearer to b, for each row (a, b, c).

        They are calibrated on answers that were predicted before they were learned: of the answers predicted with
        probability 0.8, about 80 % come true. `reliability_` shows how well this has held.
        """
        near = self.answer_model_.probability(*self.distances(X).T)
        return np.column_stack([1.0 - near, near])

    def knowledge(self) -> Self:
        """What a strategy may read: the learner itself, or a started copy if it has learned nothing yet."""
        if hasattr(self, "_model"):
            return self
        copy: Self = clone(self)
        copy._start()
        return copy

    def add_objects(self, n_new: int | None = None, features: Vectors | None = None) -> Self:
        """Add objects, whose ids follow the existing ones.

        Parameters
        ----------
        n_new : int or None
            Number of new objects. None is one, or the number of rows of ``features``.
        features : (n_new, d) array or mapping from names to such arrays, optional
            Features of the new objects, of the same kind as those of the learner. They place the objects at once.
            Nothing is known about the place of objects without features.
        """
        if n_new is not None:
            n_new = whole(n_new, "n_new", 0, "objects cannot be removed")
        self._start()
        if features is None:
            n_new = 1 if n_new is None else n_new
            grow = partial(self._model.grow, n_new)
        else:
            model = self._with_features("features")
            rows = model.rows(features, n_new)
            n_new = len(rows.axes)
            grow = partial(model.grow, n_new, rows)
        # Growing moves the kernel into another frame, which rounds.
        if n_new:
            with uninterrupted():
                grow()
                self._record.grow(n_new)
        return self

    def place(self, features: Vectors) -> NDArray[np.float64]:
        """Coordinates of objects outside the kernel, from their features, (n, rank), in the frame of `embedding`."""
        model = self.knowledge()._with_features("place")
        return model.place(model.rows(features))

    def _with_features(self, what: str) -> Refitting:
        if isinstance(self._model, Refitting) and self._model.features is not None:
            return self._model
        raise ValueError(f"{what} needs a learner with features; pass features= to ERKLE before it learns.")

    @property
    def features_(self) -> list[FeatureWorth]:
        """What each block of features is worth: print one for a sentence. Empty without features."""
        model = self._fitted()._model
        return model.worth() if isinstance(model, Refitting) else []

    @property
    def feature_map_(self) -> dict[str, NDArray[np.float64]]:
        """The linear map from each block of prepared features to `embedding`, (d, rank), by the name of the block.

        Features are prepared by subtracting the mean and scaling; vectors with 32 columns or more get length one and
        are centred again. The map is zero if features predict nothing. `place` applies it.
        """
        model = self._fitted()._with_features("feature_map_")
        assert model.features is not None
        blocks = model.features.blocks
        ends = np.cumsum([block.axes.shape[1] for block in blocks])[:-1]
        parts = zip(blocks, np.split(model.feature_map(), ends), strict=True)
        return {block.name: block.axes @ part for block, part in parts}

    def kernel_matrix(self) -> NDArray[np.float64]:
        """The kernel, (n, n), positive semidefinite up to rounding."""
        return self._fitted()._model.kernel.matrix()

    def embedding(self, n_components: int | None = None) -> NDArray[np.float64]:
        """Coordinates of the objects, ordered by decreasing variance.

        ``embedding(2)`` is a map. ``embedding()`` returns all coordinates, (n, rank); their distances are those of the
        kernel, except for `shifts_`.
        """
        kernel = self._fitted()._model.kernel
        if n_components is None:
            return kernel.embedding()
        return kernel.embedding(whole(n_components, "n_components", 1, "a map needs a coordinate"))

    def coordinates(self, ids: ArrayLike) -> NDArray[np.float64]:
        """Coordinates of some objects, one row per id: rows of `embedding`, rotated and translated in some way.

        With a low-rank kernel the cost does not grow with the number of objects.
        """
        return self._fitted()._model.kernel.coordinates(np.asarray(ids))

    @property
    def shifts_(self) -> NDArray[np.float64]:
        """Squared distance, (n,), that each object has from all others in addition to what coordinates say.

        Only ``LowRank()`` learns shifts. They are on the diagonal of the kernel.
        """
        return self._fitted()._model.kernel.shifts

    @property
    def answer_model_(self) -> AnswerModel:
        """How the distances of the kernel become answers, estimated from predictions made before learning."""
        return self._fitted()._model.evidence.answer_model

    @property
    def lapse_(self) -> Lapse:
        """The share of answers that are slips, with a 95 % interval: ``print(learner.lapse_)`` says it in words."""
        return self._fitted()._model.evidence.lapse

    @property
    def participants_(self) -> ParticipantLapses:
        """How often each participant slips, from predictions made before their answers were learned."""
        return self._fitted()._participants.table(self.lapse_.rate)

    @property
    def reliability_(self) -> Reliability:
        """How often predictions were right, grouped by how confident they were."""
        return self._fitted()._model.evidence.reliability()

    @property
    def selection_(self) -> list[Candidate]:
        """The settings that ``LowRank()`` has tried, the best first. Empty if nothing is chosen."""
        return self._fitted()._model.selection()

    @property
    def history_(self) -> NDArray[np.int32] | None:
        """The answers that are kept, (m, 3), in order; None with `Dense` and one pass, which keep none.

        All answers are kept if they are fitted again or replayed in several passes; otherwise `LowRank` keeps the last
        million. The array is a read-only view that is valid until the next answer is learned.
        """
        if self._fitted()._replay.keep == 0:
            return None
        history = self._replay.history
        history.flags.writeable = False
        return history

    @property
    def history_participants_(self) -> NDArray[np.int32]:
        """Who gave each answer of `history_`, (m,): i for the i-th name of `participants_`, 0 if unknown."""
        return self._fitted()._replay.participants.copy()

    @property
    def n_objects_(self) -> int:
        """Number of objects, including added ones."""
        return self._fitted()._model.kernel.n_objects

    @property
    def n_triplets_seen_(self) -> int:
        """Number of answers learned, not counting replays."""
        return self._fitted()._replay.seen

    @property
    def n_anchored_(self) -> NDArray[np.int64]:
        """How often each object was the anchor of an answer, (n,)."""
        return self._fitted()._record.anchored.copy()

    @property
    def n_appearances_(self) -> NDArray[np.int64]:
        """How often each object was in an answer, (n,)."""
        return self._fitted()._record.appearances.copy()

    @property
    def counters_(self) -> Counters:
        """How often answers moved the kernel, and what the moves cost."""
        return self._fitted()._model.kernel.counters

    @property
    def curve_(self) -> Curve:
        """Errors of predictions made just before learning, by the number of answers learned."""
        return Curve.of_bins(self._fitted()._record.bins)

    @property
    def prequential_error_(self) -> float:
        """Share of answers that were predicted wrongly just before they were learned; NaN before the first answer."""
        return self._n_mistakes / self.n_triplets_seen_ if self.n_triplets_seen_ else float("nan")

    def answers_needed(self, target: float | None = None, curve: Curve | None = None) -> Forecast | TooEarly:
        """The error now, and how many more answers it takes to reduce it to ``target``.

        The result is a `TooEarly` while there are fewer than five answers per object, or fewer than 30 predictions for
        random questions.

        Parameters
        ----------
        target : float or None
            The error to reach, between 0 and 1: the share of answers to random questions that are predicted wrongly.
            None is a tenth less than the current error.
        curve : Curve or None
            None is `curve_`, which is right if questions are drawn at random. If a strategy chooses them, only
            held-out questions measure the error on all questions: pass the ``curve`` of the asker.
        """
        measured = self.curve_ if curve is None else curve
        return forecast(measured, self.n_objects_, self.n_triplets_seen_, self.lapse_.low, target)

    def save(self, path: str | PathLike[str], labels: list[str] | None = None) -> None:
        """Write the whole learner to an .npz file of plain arrays, atomically. `load` continues exactly from there.

        ``numpy.load(path)["kernel"]`` is the kernel (up to 5,000 objects); ``labels`` are the names of the objects.
        """
        self._fitted()._adopt()
        with uninterrupted():
            save_npz(path, *saving.file_contents(self, labels))

    @classmethod
    def load(cls, path: str | PathLike[str], loss: Loss | None = None, step: Step | None = None) -> Self:
        """Read a learner that `save` wrote.

        Pass a loss or step of your own again, because files contain no code. A loss or step that you pass replaces the
        saved one.
        """
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
        replay, record = Replay(settings.passes, rng, most_kept(settings)), Record(settings.n_objects)
        self._begin(model, replay, record, Participants())

    def _begin(
        self, model: Model, replay: Replay, record: Record, participants: Participants, n_mistakes: int = 0
    ) -> None:
        self._replay, self._record, self._n_mistakes = replay, record, n_mistakes
        self._participants = participants
        self._job = None
        self._given = (self.loss, self.step, self.direction)
        self._known = self.features
        self.n_features_in_ = 3
        # The model comes last: a learner that has one has everything.
        self._model = model

    def _follow_parameters(self) -> None:
        """Check loss, step and direction if `set_params` has changed one of them, and use them from now on."""
        given = (self.loss, self.step, self.direction)
        if any(new is not old for new, old in zip(given, self._given, strict=True)):
            rule = check_settings(self).rule
            if isinstance(self._model, Single):
                self._model.rule = rule
            self._given = given

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        # A thread cannot be copied. The copy loses the fit in the background and nothing else.
        return {**state, "_job": None} if "_job" in state else state


def _checked_out(out: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    fits = isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == (n,) and out.flags.writeable
    if not fits:
        got = f"an array of {out.dtype} and shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out is {got}; pass a writeable array of float64 and shape ({n},), or leave it out.")
    return out


def _one_row(triplet: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[Any]:
    row = np.asarray(triplet)
    if row.shape != (3,):
        raise ValueError(f"The triplet has shape {row.shape}; pass three ids, (anchor, near, far).")
    return row[None]

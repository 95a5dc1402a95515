"""Amortised refitting: all answers are fitted again from time to time, with online steps in between.

A fit is a map with a ridge, computed by L-BFGS, and starts from the previous fit. Fits take place at reviews, and the
number of answers grows by a share (`automatic_share`) from one review to the next. All fits together therefore cost a
constant number of iterations per answer. The model is about as good as a batch fit that lacks only the last few per
cent of the answers.

Each candidate is a fit with its own rank, ridge, shifts and answer model. At a review, every candidate predicts the
answers since its last fit, and the leader is the candidate that predicts best. The kernel is a mixture of the
candidates, weighted by how well they predict.

A ridge on coordinates X and a weight on the trace of K = XX' are the same penalty, because tr(K) = |X|². Here a
``ridge`` is the weight in a whole fit, next to the sum of the losses of all answers; a ``trace`` is the weight in the
loss of one answer. So ridge = trace × number of answers. `Refitting._with_ridge` and `Refitting._mix` convert between
them.
"""

import copy
import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled.fitting import NO_PRIOR
from erkle.answer_models import AnswerModel
from erkle.checks import shaped
from erkle.features import Features, FeatureWorth
from erkle.features.blocks import Rows
from erkle.features.features import Vectors
from erkle.kernels.lapack import one_thread
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.npz_files import Arrays, Packed, prefixed, under
from erkle.online.models.base import Answers, ChoosingModel
from erkle.online.models.feature_use import feature_map, unexplained, worth
from erkle.online.models.fit_proposals import FitProposals
from erkle.online.models.fits import TUNING, FitSetting, is_alive, largest_rank, predicted_distances
from erkle.online.models.minimising import Minimiser, Terms, fit_all
from erkle.online.selection.candidates import Candidates, Entry, next_review
from erkle.online.selection.evidence import Evidence
from erkle.steps import Constant
from erkle.threads import Flag, side_by_side

Floats = NDArray[np.float64]


def automatic_share(seen: int, n_objects: int) -> float:
    """The share by which the number of answers grows between two fits.

    It is at least 4 %. It is larger with many answers or objects, because each iteration then takes longer; an object
    costs about as much as ten answers. It is also larger with few answers per object, because a fit then costs more per
    answer.
    """
    few = 1.0 + TUNING.review_few * n_objects / seen
    rarer = _size_factor(seen, n_objects) * math.sqrt(max(1.0, n_objects / TUNING.many_objects))
    return min(1.0, TUNING.review_share * rarer) * few


def _size_factor(seen: int, n_objects: int) -> float:
    """How much rarer fits are because of the time that one iteration takes."""
    size = (seen + TUNING.object_cost * n_objects) / TUNING.review_size
    return math.pow(max(1.0, size), TUNING.review_growth)


class Refitting(ChoosingModel):
    """Candidates that are fitted to all answers at each review. Their mixture learns online until the next review.

    Parameters
    ----------
    n_objects : int
    share : float or None
        Share by which the number of answers grows between two fits; None uses `automatic_share`.
    seed : int
        Seed of the random starting points of fits.
    rank : int or None
        The rank; None chooses rank and ridge.
    trace : float
        Weight of the trace in the loss of one answer, if the rank is given.
    features : Features or None
        What is known about the objects besides answers; only if the rank is chosen.
    """

    kernel: LowRankKernel

    def __init__(
        self,
        n_objects: int,
        share: float | None,
        seed: int,
        rank: int | None = None,
        trace: float = 0.0,
        features: Features | None = None,
    ) -> None:
        self.share, self.seed, self.rank, self.trace = share, seed, rank, trace
        self.proposals = FitProposals(seed, self.fixed, features, {})
        # With a given rank, the ridge is trace × number of answers, so it is 0 before the first answer.
        fits = self.proposals.first(n_objects) if rank is None else [FitSetting(rank, 0)]
        entries = [Entry(fit, self._before_answers(n_objects, fit), Evidence(fixed=fit.answer_model)) for fit in fits]
        self.candidates: Candidates[FitSetting, Floats] = Candidates(entries, self.proposals, TUNING.elimination_margin)
        self.kernel = self._first_kernel(n_objects)
        self.evidence = Evidence()
        self.next_review = max(TUNING.first_review, n_objects // TUNING.first_review_objects)
        self.next_restart = 0.0
        self.answer_model = self.evidence.answer_model
        self.shift_of_new = float(self.kernel.shifts.mean())

    def _before_answers(self, n_objects: int, setting: FitSetting) -> Floats:
        """The coordinates of a candidate before the first answer: those of the features, or the origin."""
        model, prior = np.zeros((n_objects, setting.rank + 1)), self.proposals.prior(setting)
        if prior is not None:
            model[:, :-1] = prior.mean
        return model

    def _first_kernel(self, n_objects: int) -> LowRankKernel:
        """The kernel of the features: objects with similar features are similar until answers say otherwise."""
        leader = self.candidates.leader.setting
        prior = self.proposals.prior(leader)
        if prior is None:
            return LowRankKernel(n_objects, leader.rank)
        rank = min(TUNING.widest, largest_rank(n_objects))
        prior = prior.with_rank(rank)
        return LowRankKernel.of_map(prior.mean, rank, 0.0, prior.outside())

    @property
    def features(self) -> Features | None:
        """What is known about the objects besides answers."""
        return self.proposals.features

    @property
    def fixed(self) -> bool:
        """Whether the user has set the rank."""
        return self.rank is not None

    def learn(self, stretch: Stretch) -> None:
        """Learn the rows online."""
        try:
            self.kernel.learn(Rule(self.answer_model, Constant(TUNING.step), False), stretch)
        finally:
            # After an overflow, add evidence for exactly the answers that have been learned.
            self.add_evidence(stretch)

    def _review(self, seen: int, answers: Answers) -> None:
        """Choose the leader, then fit all answers again with every candidate."""
        n = self.n_objects
        # If the user sets the share, there may be too few fits to converge with ``brief_iterations`` each.
        exact = seen >= TUNING.exact_at * n or self.share is not None
        self._judge(answers)
        new = self.candidates.review(seen, _most_candidates(seen, n, self.features is not None))
        self._follow_leader(seen)
        leading = self.candidates.scale(self.candidates.leader, answers.T)
        self._fit_all(answers, self.candidates.entries, _iterations(exact, seen, n), TUNING.tol)
        for entry in new if leading else ():
            # Its predictions so far are those of the leader; bring them to its own scale.
            entry.evidence.window *= np.float32(self.candidates.scale(entry, answers.T) / leading)
        self._mix(answers.T)
        self.next_review = next_review(seen, automatic_share(seen, n) if self.share is None else self.share)

    def _follow_leader(self, seen: int) -> None:
        """Give each candidate that shows what a block is worth the leader's setting without this block.

        It keeps its evidence, so that all of it comes from predictions without the block.
        """
        entries, leader = self.candidates.entries, self.candidates.leader.setting
        taken = {entry.setting for entry in entries}
        for entry, left_out in [*self.proposals.without_block(entries)]:
            shares = tuple((name, share) for name, share in leader.shares if name != left_out)
            wanted = leader._replace(shares=shares)
            if shares and wanted not in taken:
                entry.model = self.proposals.begin(wanted, entry.model, seen)
                entry.evidence = entry.evidence.under(wanted.answer_model)
                entry.setting = wanted
                taken.add(wanted)

    def finish(self, answers: Answers) -> None:
        """Fit the candidates of the mixture to all answers until convergence, and mix them again."""
        if not len(answers.T):
            return
        draft = self._draft()
        draft._judge(answers)
        entries = [entry for entry, weight in draft._parts() if weight > 0.0]
        # `ERKLE` limits the BLAS threads for reviews, but `consolidate` calls this outside a review.
        with one_thread(self.n_objects):
            draft._fit_all(answers, entries, TUNING.final_iterations, TUNING.final_tol)
            draft._mix(answers.T)
        self._become(draft)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.kernel.n_objects

    def _judge(self, answers: Answers) -> None:
        """Add the predictions of each candidate's last fit to its evidence, for all answers since that fit.

        The losses use the lapses that participants have by now, so a participant who tosses coins hardly counts.
        """
        entries = self.candidates.entries
        first = entries[0].evidence.n_answers
        since = answers._replace(T=np.ascontiguousarray(answers.T[first:]), lapses=answers.lapses[first:])
        judged = side_by_side(partial(_judged, entry, since) for entry in entries)
        for entry, evidence in zip(entries, judged, strict=True):
            entry.evidence = evidence

    def _fit_all(self, answers: Answers, entries: list[Entry[FitSetting, Floats]], iterations: int, tol: float) -> None:
        seen = len(answers.T)
        widest = max(self.candidates.entries, key=lambda entry: entry.setting.rank)
        restart = widest.model if seen >= self.next_restart and is_alive(widest.model) else None
        # The slowest fits come first, so that no thread has to wait long for the last one.
        entries = sorted(entries, key=lambda entry: -entry.setting.rank)
        # Priors use BLAS, and its number of threads changes the last bits.
        with one_thread(0):
            fits = fit_all(
                answers,
                [partial(self._fit, entry, None if entry is widest else restart, iterations, tol) for entry in entries],
            )
        for entry, fit in zip(entries, fits, strict=True):
            entry.model = fit
        for entry in self.candidates.entries:
            entry.setting = self._with_ridge(entry.setting, seen)
        eliminated = self.candidates.eliminated.items()
        self.candidates.eliminated = {self._with_ridge(setting, seen): when for setting, when in eliminated}
        if seen >= self.next_restart:
            self.next_restart = TUNING.restart * seen

    def _with_ridge(self, setting: FitSetting, seen: int) -> FitSetting:
        """The setting of a fit of ``seen`` answers: with a given rank, its ridge is trace × number of answers."""
        return setting._replace(ridge=self.trace * seen) if self.fixed else setting

    def _fit(
        self,
        entry: Entry[FitSetting, Floats],
        other: Floats | None,
        iterations: int,
        tol: float,
        minimiser: Minimiser,
        answers: Answers,
        stop: Flag,
    ) -> Floats:
        """The fit of a candidate, from its last fit or from ``other``, whichever leads to a lower objective."""
        seen = len(answers.T)
        setting = self._with_ridge(entry.setting, seen)
        starts = [entry.model.copy() if is_alive(entry.model) else self.proposals.begin(setting, entry.model, seen)]
        if other is not None:
            starts.append(self.proposals.begin(setting, other, seen))
        model, lapses = entry.evidence.answer_model, setting.lapses(answers)
        prior = self.proposals.prior(setting)
        if prior is not None:
            starts = [prior.standardised(start, setting.ridge) for start in starts]
        compiled = NO_PRIOR if prior is None else prior.compiled(setting.ridge)
        terms = Terms(model, np.where(np.isnan(lapses), model.lapse, lapses), setting.penalty, compiled)
        reached = minimiser.lower(terms, starts, iterations, tol, stop)
        best = starts[int(np.argmin(reached))]
        return best if prior is None else prior.coordinates(best, setting.ridge)

    def _parts(self) -> Iterator[tuple[Entry[FitSetting, Floats], float]]:
        return zip(self.candidates.entries, self.candidates.weights(), strict=True)

    def _mix(self, T: NDArray[np.int32]) -> None:
        """Mix the candidates' kernels into one low-rank kernel, which then learns online; see `Candidates.shares`.

        The same mixture of the candidates' predictions gives its answer model.
        """
        seen = len(T)
        # Since the last review another candidate may have overtaken the leader.
        best, parts, ridge = max(self._parts(), key=lambda part: part[1])[0].setting, [], 0.0
        shifts, window = np.zeros(self.n_objects), np.zeros_like(self.evidence.window)
        for (entry, weight), share in zip(self._parts(), self.candidates.shares(T), strict=True):
            if weight > 0.0:
                parts.append(math.sqrt(share) * entry.model[:, :-1])
                window += share * entry.evidence.window
                if entry.setting.shift:
                    shifts += share * np.exp(entry.model[:, -1])
                ridge += weight * entry.setting.ridge
        widest = min(TUNING.widest, largest_rank(self.n_objects))
        rank = best.rank if self.fixed else max(widest, best.rank)
        trace = self.trace if self.fixed else ridge / seen
        X = np.concatenate(parts, axis=1)
        X -= X.mean(axis=0)
        # Leave room for two more directions than the mixture uses.
        values = np.linalg.eigvalsh(X.T @ X)
        used = int(np.count_nonzero(values > 1e-4 * max(values[-1], 1e-200)))
        shift_rate = _shift_rate(seen / self.n_objects) if shifts.any() else 0.0
        self.kernel = LowRankKernel.of_map(X, min(rank, used + 2), trace, shifts, shift_rate)
        self.evidence = self.evidence.with_window(window)
        self.answer_model = self.evidence.answer_model
        if self.features is not None:
            self._move_unanswered_away(self.features, T)

    def _move_unanswered_away(self, features: Features, T: NDArray[np.int32]) -> None:
        """Let the distances of objects without answers show that nobody knows exactly where they are."""
        is_answered = np.zeros(self.n_objects, np.bool_)
        is_answered[T] = True
        by = unexplained(self.kernel.embedding(), features, self.proposals, self._ranked(), is_answered)
        self.shift_of_new = float(self.kernel.shifts.mean()) + by
        self.kernel.move_away(np.flatnonzero(~is_answered), by)

    def rows(self, vectors: Vectors, n_new: int | None = None) -> Rows:
        """The rows of further objects with these features."""
        assert self.features is not None
        return self.features.rows(vectors, n_new)

    def place(self, rows: Rows) -> Floats:
        """Coordinates of objects with these features, in the frame of the kernel's `embedding`, (n, rank)."""
        return np.asarray(rows.axes @ self.feature_map())

    def feature_map(self) -> Floats:
        """The map from the axes of the features to the kernel's `embedding`, (p, rank)."""
        return feature_map(self.kernel.embedding(), self.proposals, self._ranked())

    def worth(self) -> list[FeatureWorth]:
        """What each block of features is worth."""
        return [] if self.features is None else worth(self.features, self._ranked(), list(self._parts()))

    def _ranked(self) -> list[Entry[FitSetting, Floats]]:
        """The candidates from best to worst."""
        return sorted(self.candidates.entries, key=lambda entry: entry.evidence.discounted_loss)

    def grow(self, n_new: int, rows: Rows | None = None) -> None:
        """Add objects: where their features place them, or at the origin."""
        if self.features is None:
            self.kernel.grow(n_new)
            for entry in self.candidates.entries:
                entry.model = np.concatenate([entry.model, np.zeros((n_new, entry.setting.rank + 1))])
            return
        rows = self.features.rows(None, n_new) if rows is None else rows
        self.kernel.grow_to(self.place(rows), self.shift_of_new)
        for entry in self.candidates.entries:
            prior, new = self.proposals.prior(entry.setting), np.zeros((n_new, entry.setting.rank + 1))
            if prior is not None:
                new[:, :-1] = rows.axes @ prior.explained(entry.model[:, :-1])
            entry.model = np.concatenate([entry.model, new])
        self.proposals = self.proposals._replace(features=self.features.extended(rows), priors={})
        self.candidates.proposals = self.proposals

    def pack(self) -> Packed:
        """The whole state, as arrays and JSON values."""
        arrays, meta = self.candidates.pack(lambda X: {"X": X})
        arrays |= prefixed("evidence", self.evidence.arrays()) | prefixed("kernel", self.kernel.arrays())
        arrays["answer_model"] = np.array(self.answer_model)
        if self.features is not None:
            arrays |= prefixed("features", self.features.arrays())
        names = ("share", "seed", "rank", "trace", "next_review", "next_restart", "shift_of_new")
        return arrays, {"model": "refitting", "candidates": meta, **{name: getattr(self, name) for name in names}}

    @classmethod
    def unpack(cls, arrays: Arrays, meta: dict[str, Any]) -> Self:
        """Restore a model from what `pack` returned."""
        n_objects, own = len(arrays["kernel.shifts"]), under("features", arrays)
        features = Features.of(Features.from_arrays(own), n_objects) if own else None
        share, seed, rank, trace = (meta[name] for name in ("share", "seed", "rank", "trace"))
        model = cls(n_objects, share, seed, rank, trace, features)
        model.candidates.restore(
            arrays,
            meta["candidates"],
            FitSetting.restored,
            lambda own, fit: shaped(own, "X", (n_objects, fit.rank + 1)),
        )
        model.evidence = Evidence.from_arrays(under("evidence", arrays))
        model.kernel = LowRankKernel.from_arrays(under("kernel", arrays))
        model.answer_model = AnswerModel(*shaped(arrays, "answer_model", (3,)).tolist())
        model.next_review, model.next_restart = meta["next_review"], meta["next_restart"]
        model.shift_of_new = meta["shift_of_new"]
        return model


def _judged(entry: Entry[FitSetting, Floats], since: Answers, stop: NDArray[np.bool_]) -> Evidence:
    """A copy of the candidate's evidence, with its predictions of the answers since then."""
    evidence = copy.deepcopy(entry.evidence)
    distances = predicted_distances(entry.setting, entry.model, since.T)
    evidence.add(distances, evidence.n_answers + 1, entry.setting.lapses(since))
    return evidence


def _shift_rate(per_object: float) -> float:
    """The step size of the shifts (see `FitSetting`), relative to the step size of the kernel's diagonal.

    ``per_object`` is the number of answers per object in the last fit. With this rate, an online step is a Newton step
    for the shifts alone. Its divisor is the curvature of the loss: a term for the ridge plus a term for the answers so
    far. The rate is 0 once there are many answers per object, because fits then estimate shifts better than steps do.
    """
    if per_object >= TUNING.shifts_move_until:
        return 0.0
    return 1.0 / (2.0 * TUNING.shift_ridge + 0.4 * per_object) / TUNING.step


def _most_candidates(seen: int, n_objects: int, with_features: bool) -> int:
    """The largest number of candidates: more while answers are few, unless there are many objects."""
    settled_at, settled = TUNING.settled_at * n_objects, TUNING.most_settled
    if with_features:
        settled_at, settled = min(settled_at, TUNING.settled_with_features), TUNING.most_settled_with_features
    few = seen < settled_at and n_objects <= TUNING.many_objects
    return TUNING.most if few else settled


def _iterations(exact: bool, seen: int, n_objects: int) -> int:
    """The largest number of iterations of a fit, which is larger for an ``exact`` one.

    Where fits are rarer (`automatic_share`), each has to move farther. With many objects, fits also need more
    iterations to move away from their random start near the origin. Fits that start near their optimum stop early.
    """
    least = TUNING.exact_iterations if exact else TUNING.brief_iterations
    more = max(n_objects / TUNING.many_objects, _size_factor(seen, n_objects))
    return max(least, round(TUNING.exact_iterations * math.sqrt(more))) if more > 1.0 else least

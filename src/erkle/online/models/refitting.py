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

from erkle._compiled.fitting import minimise
from erkle.answer_models import AnswerModel
from erkle.checks import shaped
from erkle.kernels.lapack import one_thread
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.npz_files import Arrays, Packed, prefixed, under
from erkle.online.models.base import Answers, ChoosingModel
from erkle.online.models.fits import TUNING, FitProposals, FitSetting, is_alive, largest_rank, predicted_distances
from erkle.online.selection.candidates import Candidates, Entry, next_review
from erkle.online.selection.evidence import Evidence
from erkle.online.threads import side_by_side
from erkle.steps import Constant

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
    """

    kernel: LowRankKernel

    def __init__(
        self, n_objects: int, share: float | None, seed: int, rank: int | None = None, trace: float = 0.0
    ) -> None:
        self.share, self.seed, self.rank, self.trace = share, seed, rank, trace
        most = largest_rank(n_objects)
        # With a given rank, the ridge is trace × number of answers, so it is 0 before the first answer.
        fits = (
            [start._replace(rank=min(start.rank, most)) for start in TUNING.start]
            if rank is None
            else [FitSetting(rank, 0)]
        )
        entries = [
            Entry(fit, np.zeros((n_objects, fit.rank + 1)), Evidence(fixed=fit.answer_model))
            for fit in dict.fromkeys(fits)
        ]
        self._proposals = FitProposals(seed, self.fixed)
        self.candidates: Candidates[FitSetting, Floats] = Candidates(
            entries, self._proposals, TUNING.elimination_margin
        )
        self.kernel = LowRankKernel(n_objects, self.candidates.leader.setting.rank)
        self.evidence = Evidence()
        self.next_review = max(TUNING.first_review, n_objects // TUNING.first_review_objects)
        self.next_restart = 0.0
        self.answer_model = self.evidence.answer_model

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
        new = self.candidates.review(seen, _most_candidates(seen, n))
        leading = self.candidates.scale(self.candidates.leader, answers.T)
        self._fit_all(answers, self.candidates.entries, _iterations(exact, seen, n), TUNING.tol)
        for entry in new if leading else ():
            # Its predictions so far are those of the leader; bring them to its own scale.
            entry.evidence.window *= np.float32(self.candidates.scale(entry, answers.T) / leading)
        self._mix(answers.T)
        self.next_review = next_review(seen, automatic_share(seen, n) if self.share is None else self.share)

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
        # Sorted answers are near each other in memory, and their order does not change the result.
        order = np.lexsort((answers.lapses, *answers.T.T[::-1]))
        answers = answers._replace(T=answers.T[order], lapses=answers.lapses[order])
        widest = max(self.candidates.entries, key=lambda entry: entry.setting.rank)
        restart = widest.model if seen >= self.next_restart and is_alive(widest.model) else None
        # The slowest fits come first, so that no thread has to wait long for the last one.
        entries = sorted(entries, key=lambda entry: -entry.setting.rank)
        fits = side_by_side(
            partial(self._fit, entry, answers, None if entry is widest else restart, iterations, tol)
            for entry in entries
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
        answers: Answers,
        other: Floats | None,
        iterations: int,
        tol: float,
        stop: NDArray[np.bool_],
    ) -> Floats:
        """The fit of a candidate, from its last fit or from ``other``, whichever leads to a lower objective."""
        seen = len(answers.T)
        setting = self._with_ridge(entry.setting, seen)
        starts = [entry.model.copy() if is_alive(entry.model) else self._proposals.begin(setting, entry.model, seen)]
        if other is not None:
            starts.append(self._proposals.begin(setting, other, seen))
        model, lapses = entry.evidence.answer_model, setting.lapses(answers)
        terms = model, answers.T, np.where(np.isnan(lapses), model.lapse, lapses), setting.penalty
        reached = [minimise(*terms, start, iterations, tol, stop) for start in starts]
        return starts[int(np.argmin(reached))]

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

    def grow(self, n_new: int) -> None:
        """Add objects at the origin."""
        self.kernel.grow(n_new)
        for entry in self.candidates.entries:
            entry.model = np.concatenate([entry.model, np.zeros((n_new, entry.setting.rank + 1))])

    def pack(self) -> Packed:
        """The whole state, as arrays and JSON values."""
        arrays, meta = self.candidates.pack(lambda X: {"X": X})
        arrays |= prefixed("evidence", self.evidence.arrays()) | prefixed("kernel", self.kernel.arrays())
        arrays["answer_model"] = np.array(self.answer_model)
        names = ("share", "seed", "rank", "trace", "next_review", "next_restart")
        return arrays, {"model": "refitting", "candidates": meta, **{name: getattr(self, name) for name in names}}

    @classmethod
    def unpack(cls, arrays: Arrays, meta: dict[str, Any]) -> Self:
        """Restore a model from what `pack` returned."""
        n_objects = len(arrays["kernel.shifts"])
        model = cls(n_objects, *(meta[name] for name in ("share", "seed", "rank", "trace")))
        model.candidates.restore(
            arrays, meta["candidates"], FitSetting, lambda own, fit: shaped(own, "X", (n_objects, fit.rank + 1))
        )
        model.evidence = Evidence.from_arrays(under("evidence", arrays))
        model.kernel = LowRankKernel.from_arrays(under("kernel", arrays))
        model.answer_model = AnswerModel(*shaped(arrays, "answer_model", (3,)).tolist())
        model.next_review, model.next_restart = meta["next_review"], meta["next_restart"]
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


def _most_candidates(seen: int, n_objects: int) -> int:
    """The largest number of candidates: more while answers are few, unless there are many objects."""
    few = seen < TUNING.settled_at * n_objects and n_objects <= TUNING.many_objects
    return TUNING.most if few else TUNING.most_settled


def _iterations(exact: bool, seen: int, n_objects: int) -> int:
    """The largest number of iterations of a fit, which is larger for an ``exact`` one.

    Where fits are rarer (`automatic_share`), each has to move farther. With many objects, fits also need more
    iterations to move away from their random start near the origin. Fits that start near their optimum stop early.
    """
    least = TUNING.exact_iterations if exact else TUNING.brief_iterations
    more = max(n_objects / TUNING.many_objects, _size_factor(seen, n_objects))
    return max(least, round(TUNING.exact_iterations * math.sqrt(more))) if more > 1.0 else least

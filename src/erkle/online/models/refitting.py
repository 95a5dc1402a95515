"""Amortised refitting: all answers are fitted again from time to time, with online steps in between.

A fit is a logistic embedding (STE) with a ridge, computed by L-BFGS, and starts from the previous fit. Fits take place
at reviews, and the number of answers grows by a share (`automatic_share`) from one review to the next. All fits
together therefore cost a constant number of iterations per answer. The model is about as good as a batch fit that lacks
only the last few per cent of the answers.

Each candidate is a fit with its own rank and ridge. Between two reviews, every candidate predicts the new answers with
its last fit, and the leader is the candidate that predicts best. The kernel is a mixture of the candidates, weighted by
how well they predict.

A ridge on coordinates X and a weight on the trace of K = XX' are the same penalty, because tr(K) = |X|². Here a
``ridge`` is the weight in a whole fit, next to the sum of the losses of all answers; a ``trace`` is the weight in the
loss of one answer. So ridge = trace × number of answers. `Refitting._fit_all` and `Refitting._mixture` convert between
them.
"""

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled.evidence import excess_of_map
from erkle.batch import minimisers
from erkle.batch.objective import ByShiftedMap, Terms, terms_of
from erkle.checks import shaped
from erkle.files import Arrays, Packed, prefixed, under
from erkle.kernels.lapack import one_thread
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.losses import STE
from erkle.online.models.base import Model
from erkle.online.models.fits import TUNING, FitProposals, FitSetting, largest_rank
from erkle.online.selection.candidates import Candidate, Candidates, Entry, next_review
from erkle.online.selection.evidence import Evidence
from erkle.steps import Constant

Floats = NDArray[np.float64]

# The rule of the online steps between two fits.
_BETWEEN = Rule(STE(), Constant(TUNING.step), False)


def automatic_share(seen: int, n_objects: int) -> float:
    """The share by which the number of answers grows between two fits.

    It is at least 5 %. It is larger with many answers or objects, because each iteration then takes longer; an object
    costs about as much as ten answers. It is also larger with few answers per object, because a fit then costs more per
    answer.
    """
    size = TUNING.review_share * math.sqrt(max(1.0, (seen + TUNING.object_cost * n_objects) / TUNING.review_size))
    return min(1.0, size) * (1.0 + TUNING.review_few * n_objects / seen)


class Refitting(Model):
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
        entries = [Entry(fit, np.zeros((n_objects, fit.rank + 1)), Evidence()) for fit in dict.fromkeys(fits)]
        self._proposals = FitProposals(seed, self.fixed)
        self.candidates: Candidates[FitSetting, Floats] = Candidates(
            entries, self._proposals, TUNING.elimination_margin
        )
        self.kernel = LowRankKernel(n_objects, self.candidates.leader.setting.rank)
        self.evidence = Evidence()
        self.next_review = max(TUNING.first_review, n_objects // TUNING.first_review_objects)
        self.next_restart = 0.0

    @property
    def fixed(self) -> bool:
        """Whether the user has set the rank."""
        return self.rank is not None

    def learn(self, stretch: Stretch) -> None:
        """Learn the rows online, and add the predictions of each candidate's last fit to its evidence."""
        try:
            self.kernel.learn(_BETWEEN, stretch)
        finally:
            # After an interruption, add evidence for exactly the answers that have been learned.
            self._add_evidence(stretch)

    def _add_evidence(self, stretch: Stretch) -> None:
        new = stretch.new_learned()
        self.evidence.add(stretch.excess[new], stretch.first)
        T = np.ascontiguousarray(stretch.rows[new])
        excess = np.empty(len(T))
        for entry in self.candidates.entries:
            excess_of_map(entry.model, T, excess)
            entry.evidence.add(excess, stretch.first)

    def review(self, seen: int, history: NDArray[np.int32]) -> None:
        """Choose the leader by the predictions since the last fits, then fit all answers again."""
        n = self.n_objects
        self.candidates.review(seen, TUNING.most if seen < TUNING.settled_at * n else TUNING.most_settled)
        # If the user sets the share, there may be too few fits to converge with ``brief_iterations`` each.
        exact = seen >= TUNING.exact_at * n or self.share is not None
        self._fit_all(history, self.candidates.entries, _iterations(exact, n), TUNING.tol)
        self.next_review = next_review(seen, automatic_share(seen, n) if self.share is None else self.share)

    def finish(self, history: NDArray[np.int32]) -> None:
        """Fit the candidates of the mixture to all answers until convergence, and mix them again."""
        entries = [entry for entry, weight in self._parts() if weight > 0.0]
        # `ERKLE` limits the BLAS threads for reviews, but `consolidate` calls this outside a review.
        with one_thread(self.n_objects):
            self._fit_all(history, entries, TUNING.final_iterations, TUNING.final_tol)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.kernel.n_objects

    def _fit_all(
        self, history: NDArray[np.int32], entries: list[Entry[FitSetting, Floats]], iterations: int, tol: float
    ) -> None:
        seen = len(history)
        if seen == 0:
            return
        if self.fixed:
            for entry in entries:
                entry.setting = entry.setting._replace(ridge=self.trace * seen)
        terms = terms_of(history.astype(np.int64), STE())
        restart = seen >= self.next_restart
        if restart:
            self.next_restart = TUNING.restart * seen
        widest = max(self.candidates.entries, key=lambda entry: entry.setting.rank)
        for entry in sorted(entries, key=lambda entry: -entry.setting.rank):
            self._fit(entry, terms, widest.model if restart and entry is not widest else None, iterations, tol)
        self.kernel = self._mixture(seen)

    def _fit(
        self, entry: Entry[FitSetting, Floats], terms: Terms, other: Floats | None, iterations: int, tol: float
    ) -> None:
        fit, seen = entry.setting, len(terms.T)
        objective = ByShiftedMap(terms, fit.ridge, fit.shift or None)
        starts = [entry.model if _is_alive(entry.model) else self._proposals.begin(fit, entry.model, seen)]
        if other is not None and _is_alive(other):
            starts.append(self._proposals.begin(fit, other, seen))
        fits = [minimisers.quasi_newton(objective.__call__, start, iterations, tol)[0] for start in starts]
        entry.model = fits[0] if len(fits) == 1 else min(fits, key=lambda X: objective(X)[0])

    def _parts(self) -> Iterator[tuple[Entry[FitSetting, Floats], float]]:
        return zip(self.candidates.entries, self.candidates.weights(), strict=True)

    def _mixture(self, seen: int) -> LowRankKernel:
        """Mix the candidates' kernels into one low-rank kernel, which then learns online; see `Candidates.shares`."""
        # Since the last review another candidate may have overtaken the leader.
        best, parts, ridge = max(self._parts(), key=lambda part: part[1])[0].setting, [], 0.0
        shifts = np.zeros(self.n_objects)
        for (entry, weight), share in zip(self._parts(), self.candidates.shares(), strict=True):
            if weight > 0.0:
                parts.append(math.sqrt(share) * entry.model[:, :-1])
                shifts += share * entry.model[:, -1]
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
        return LowRankKernel.of_map(X, min(rank, used + 2), trace, shifts, shift_rate)

    def selection(self) -> list[Candidate]:
        """The settings tried so far, the best first."""
        return self.candidates.table()

    def grow(self, n_new: int) -> None:
        """Add objects at the origin."""
        self.kernel.grow(n_new)
        for entry in self.candidates.entries:
            entry.model = np.concatenate([entry.model, np.zeros((n_new, entry.setting.rank + 1))])

    def pack(self) -> Packed:
        """The whole state, as arrays and JSON values."""
        arrays, meta = self.candidates.pack(lambda X: {"X": X})
        arrays |= prefixed("evidence", self.evidence.arrays()) | prefixed("kernel", self.kernel.arrays())
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
        model.next_review, model.next_restart = meta["next_review"], meta["next_restart"]
        return model


def _shift_rate(per_object: float) -> float:
    """The step size of the shifts (see `FitSetting`), relative to the step size of the kernel's diagonal.

    ``per_object`` is the number of answers per object in the last fit. With this rate, an online step is a Newton step
    for the shifts alone. Its divisor is the curvature of the loss: a term for the ridge plus a term for the answers so
    far. The rate is 0 once there are many answers per object, because fits then estimate shifts better than steps do.
    """
    if per_object >= TUNING.shifts_move_until:
        return 0.0
    return 1.0 / (2.0 * TUNING.shift_ridge + 0.4 * per_object) / TUNING.step


def _iterations(exact: bool, n_objects: int) -> int:
    """The largest number of iterations of a fit, which is larger for an ``exact`` one.

    With many objects it grows with the square root of their number, because fits are then rarer (`automatic_share`) and
    need more iterations to move away from their random start near the origin. Fits that start near their optimum stop
    early.
    """
    least = TUNING.exact_iterations if exact else TUNING.brief_iterations
    return max(least, round(TUNING.exact_iterations * math.sqrt(n_objects / TUNING.many_objects)))


def _is_alive(X: Floats) -> bool:
    """Whether the coordinates are away from the origin, where the gradient is zero.

    A strong ridge with few answers shrinks a fit to the origin.
    """
    return float(np.sum(X[:, :-1] ** 2)) > 1e-3 * len(X)

"""Amortised refitting: now and then all answers are fitted again, from the last fit; online steps go on in between.

The fits are logistic embeddings (STE) under a ridge, by L-BFGS. They come at a geometric schedule, so that they cost a
constant number of iterations per answer in all, and the model is never worse than a batch fit that is a few per cent
behind. Several ranks and ridges are fitted side by side; the leader is chosen by how well each fit predicted the
answers that came after it. The kernel is a mixture by that evidence: the clearer it is, the more the leader counts.

A ridge on coordinates X and a weight on the trace of K = XX' are the same number, for tr(K) = |X|². Here a ``ridge`` is
the weight in a whole fit, beside the sum of the losses of all answers, and a ``trace`` is the weight in the loss of one
answer: ridge = trace × number of answers. `Refitting._fit_all` and `Refitting._mixture` convert between them.
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
from erkle.online.models.fits import TUNING, Fit, FitProposals, largest_rank
from erkle.online.selection.candidates import Candidate, Candidates, Entry, next_review
from erkle.online.selection.evidence import Evidence
from erkle.steps import Constant

Floats = NDArray[np.float64]

# Between two fits: gentle steps along the gradient.
_BETWEEN = Rule(STE(), Constant(TUNING.step), False)


def automatic_share(seen: int, n_objects: int) -> float:
    """By how much the answers grow between two fits: 5 %, and more where answers or objects are many, or answers few.

    An iteration touches every answer and every object, and an object costs as much as ten answers.
    """
    size = TUNING.review_share * math.sqrt(max(1.0, (seen + TUNING.object_cost * n_objects) / TUNING.review_size))
    return min(1.0, size) * (1.0 + TUNING.review_few * n_objects / seen)


class Refitting(Model):
    """Fits of all answers; their mixture learns online until the next.

    Parameters
    ----------
    n_objects : int
    share : float or None
        By how much the answers grow between two fits; None is `automatic_share`.
    seed : int
        Where fits begin.
    rank : int or None
        None chooses rank and ridge among candidates.
    trace : float
        With a given rank, the weight of the trace in the loss of one answer.
    """

    kernel: LowRankKernel

    def __init__(
        self, n_objects: int, share: float | None, seed: int, rank: int | None = None, trace: float = 0.0
    ) -> None:
        self.share, self.seed, self.rank, self.trace = share, seed, rank, trace
        most = largest_rank(n_objects)
        # The ridge of a given rank is that of all answers so far: none.
        fits = (
            [start._replace(rank=min(start.rank, most)) for start in TUNING.start] if rank is None else [Fit(rank, 0)]
        )
        entries = [Entry(fit, np.zeros((n_objects, fit.rank + 1)), Evidence()) for fit in dict.fromkeys(fits)]
        self._proposals = FitProposals(seed, self.fixed)
        self.candidates: Candidates[Fit, Floats] = Candidates(entries, self._proposals, TUNING.elimination_margin)
        self.kernel = LowRankKernel(n_objects, self.candidates.leader.setting.rank)
        self.evidence = Evidence()
        self.next_review = max(TUNING.first_review, n_objects // TUNING.first_review_objects)
        self.next_restart = 0.0

    @property
    def fixed(self) -> bool:
        """Whether the setting is given."""
        return self.rank is not None

    def learn(self, stretch: Stretch) -> None:
        """The kernel learns online; every candidate is judged by its last fit."""
        try:
            self.kernel.learn(_BETWEEN, stretch)
        finally:
            # Also after an interruption: the evidence is of what has been learned.
            self._judge(stretch)

    def _judge(self, stretch: Stretch) -> None:
        new = stretch.new_learned()
        self.evidence.add(stretch.excess[new], stretch.first)
        T = np.ascontiguousarray(stretch.rows[new])
        excess = np.empty(len(T))
        for entry in self.candidates.entries:
            excess_of_map(entry.model, T, excess)
            entry.evidence.add(excess, stretch.first)

    def review(self, seen: int, history: NDArray[np.int32]) -> None:
        """Choose the leader by what the last fits have predicted since, then fit all answers."""
        n = self.n_objects
        self.candidates.review(seen, TUNING.most if seen < TUNING.settled_at * n else TUNING.most_settled)
        # A schedule of one's own may have so few fits that brief ones would not catch up.
        exact = seen >= TUNING.exact_at * n or self.share is not None
        self._fit_all(history, self.candidates.entries, _iterations(exact, n), TUNING.tol)
        self.next_review = next_review(seen, automatic_share(seen, n) if self.share is None else self.share)

    def finish(self, history: NDArray[np.int32]) -> None:
        """Fit all answers to the end with the settings the kernel is made of, and go on from there."""
        entries = [entry for entry, weight in self._parts() if weight > 0.0]
        # Here and not where it is called from, for it may run in a thread of its own.
        with one_thread(self.n_objects):
            self._fit_all(history, entries, TUNING.final_iterations, TUNING.final_tol)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.kernel.n_objects

    def _fit_all(
        self, history: NDArray[np.int32], entries: list[Entry[Fit, Floats]], iterations: int, tol: float
    ) -> None:
        seen = len(history)
        if seen == 0:
            return
        if self.fixed:
            for entry in entries:
                entry.setting = entry.setting._replace(ridge=self.trace * seen)
        terms = terms_of(history.astype(np.int64), STE())
        anew = seen >= self.next_restart
        if anew:
            self.next_restart = TUNING.restart * seen
        widest = max(self.candidates.entries, key=lambda entry: entry.setting.rank)
        for entry in sorted(entries, key=lambda entry: -entry.setting.rank):
            self._fit(entry, terms, widest.model if anew and entry is not widest else None, iterations, tol)
        self.kernel = self._mixture(seen)

    def _fit(self, entry: Entry[Fit, Floats], terms: Terms, other: Floats | None, iterations: int, tol: float) -> None:
        fit, seen = entry.setting, len(terms.T)
        objective = ByShiftedMap(terms, fit.ridge, fit.shift or None)
        starts = [entry.model if _is_alive(entry.model) else self._proposals.begin(fit, entry.model, seen)]
        if other is not None and _is_alive(other):
            starts.append(self._proposals.begin(fit, other, seen))
        fits = [minimisers.quasi_newton(objective.__call__, start, iterations, tol)[0] for start in starts]
        entry.model = fits[0] if len(fits) == 1 else min(fits, key=lambda X: objective(X)[0])

    def _parts(self) -> Iterator[tuple[Entry[Fit, Floats], float]]:
        return zip(self.candidates.entries, self.candidates.weights(), strict=True)

    def _mixture(self, seen: int) -> LowRankKernel:
        """The sum of the candidates' kernels, each by its weight and at the leader's temperature, ready to go on."""
        # Since the last review another candidate may have become better than the leader.
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
        # Room for two directions more than it uses.
        values = np.linalg.eigvalsh(X.T @ X)
        used = int(np.count_nonzero(values > 1e-4 * max(values[-1], 1e-200)))
        shift_rate = _shift_rate(seen / self.n_objects) if shifts.any() else 0.0
        return LowRankKernel.of_map(X, min(rank, used + 2), trace, shifts, shift_rate)

    def selection(self) -> list[Candidate]:
        """The candidates, the best first."""
        return self.candidates.table()

    def grow(self, n_new: int) -> None:
        """Make room for new objects, at the origin."""
        self.kernel.grow(n_new)
        for entry in self.candidates.entries:
            entry.model = np.concatenate([entry.model, np.zeros((n_new, entry.setting.rank + 1))])

    def pack(self) -> Packed:
        """All of the state, as arrays and as what JSON can hold."""
        arrays, meta = self.candidates.pack(lambda X: {"X": X})
        arrays |= prefixed("evidence", self.evidence.arrays()) | prefixed("kernel", self.kernel.arrays())
        names = ("share", "seed", "rank", "trace", "next_review", "next_restart")
        return arrays, {"model": "refitting", "candidates": meta, **{name: getattr(self, name) for name in names}}

    @classmethod
    def unpack(cls, arrays: Arrays, meta: dict[str, Any]) -> Self:
        """The model that was packed."""
        n_objects = len(arrays["kernel.shifts"])
        model = cls(n_objects, *(meta[name] for name in ("share", "seed", "rank", "trace")))
        model.candidates.restore(
            arrays, meta["candidates"], Fit, lambda own, fit: shaped(own, "X", (n_objects, fit.rank + 1))
        )
        model.evidence = Evidence.from_arrays(under("evidence", arrays))
        model.kernel = LowRankKernel.from_arrays(under("kernel", arrays))
        model.next_review, model.next_restart = meta["next_review"], meta["next_restart"]
        return model


def _shift_rate(per_object: float) -> float:
    """By how many times more than the diagonal online steps move the shifts, after a fit of so many answers per object.

    As far as an answer would move them in a fit of shifts alone, where their curvature is that of the ridge and of the
    answers so far. When there are many answers per object, fits know better than a step.
    """
    if per_object >= TUNING.shifts_move_until:
        return 0.0
    return 1.0 / (2.0 * TUNING.shift_ridge + 0.4 * per_object) / TUNING.step


def _iterations(exact: bool, n_objects: int) -> int:
    """What is needed for an exact or a brief fit, and more of many objects.

    Fits of many objects are few, and the way out of small random numbers is long: exact ones take as many times more as
    `automatic_share` makes fits rarer. Those that begin close to their end stop early anyway.
    """
    least = TUNING.exact_iterations if exact else TUNING.brief_iterations
    return max(least, round(TUNING.exact_iterations * math.sqrt(n_objects / TUNING.many_objects)))


def _is_alive(X: Floats) -> bool:
    """Under a strong ridge and few answers a fit shrinks to nothing, where no gradient leads out."""
    return float(np.sum(X[:, :-1] ** 2)) > 1e-3 * len(X)

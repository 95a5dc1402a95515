"""Amortised consolidation: now and then all answers are fitted again, from the last fit; online steps go on in between.

The fits are logistic embeddings (STE) under a ridge, by L-BFGS. They come at a geometric schedule, so that they cost a
constant number of iterations per answer in all, and the model is never worse than a batch fit that is a few per cent
behind. Several ranks and ridges are fitted side by side; the leader is chosen by how well each fit predicted the
answers that came after it. The model is a mixture by that evidence: the clearer it is, the more the leader counts.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled.evidence import excess_of_map
from erkle.batch import quasi_newton
from erkle.batch.objective import ByShiftedMap, Terms, terms_of
from erkle.kernels.lapack import one_thread
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.losses import STE
from erkle.matrices import is_plain
from erkle.online.packing import Packed, pack_field, prefixed, under, unpack_field
from erkle.online.selection.candidates import Entry, Field, next_review
from erkle.online.selection.evidence import Judge
from erkle.parameters import number, whole
from erkle.steps import Constant

__all__ = ["BETWEEN", "Consolidation", "Fit", "automatic_share"]

Floats = NDArray[np.float64]

RANKS = (1, 2, 3, 5, 10, 25, 50, 100)
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# Candidates at once; and fewer from so many answers an object on, when most of the choice is made and fits cost most.
_MOST, _HOPELESS = 9, 8.0
_SETTLED, _FEW = 40, 5
# Iterations of a fit on the way: few up to so many answers an object, and more from then on, for the closer a map is to
# the truth, the more exact its fits must be.
_EARLY, _BRIEF, _EXACT = 10, 8, 15
# Between two fits: gentle steps along the gradient, for one answer must not undo what a thousand have settled.
_GENTLE = 0.1
BETWEEN = Rule(STE(), Constant(_GENTLE), False)
_FIRST = 10
# Objects beyond which exact fits take more iterations, and what ends one earlier; and iterations of one asked for by
# hand.
_MANY, _TOL = 5000, 1e-4
_MOST_ITERATIONS, _LEAST_TOL = 200, 1e-6
# Fits of lower rank are begun anew from the widest one when there are so many times as many answers.
_ANEW = 1.5
# Dimensions of the mixture at most, or as many as the leader has.
_WIDEST = 25
# Numbers in a map, beyond which the rank is limited, but not to less than this: L-BFGS works with ten to twenty times
# as many.
_LARGEST_MAP, _LEAST_RANK = 1_000_000, 5


class Fit(NamedTuple):
    """The setting of a candidate: coordinates under a ridge, and shifts under another; 0 is for none.

    A shift makes an object farther from all others alike: how popular it is. Where answers are few for the
    dimensions of the data that is most of what can be known.
    """

    rank: int
    ridge: float
    shift: float = 0.0


_SHIFT = 0.3
# After a fit of fewer answers an object, shifts are most of what is known of them, and move with every answer.
_FEW_ANSWERS = 3.0
_FREE = (Fit(2, 0.3), Fit(3, 0.3), Fit(5, 0.3), Fit(10, 0.3))
_START = (Fit(25, 4.0), Fit(25, 2.0), Fit(25, 8.0), Fit(25, 4.0, _SHIFT), Fit(2, 1.0), *_FREE)


def automatic_share(seen: int, n_objects: int) -> float:
    """By how much the answers grow between two fits: 5 %, and more where answers or objects are many, or answers few.

    An iteration touches every answer and every object, and an object costs as much as ten answers.
    """
    size = 0.05 * math.sqrt(max(1.0, (seen + 10 * n_objects) / 10_000))
    return min(1.0, size) * (1.0 + 1.5 * n_objects / seen)


class Consolidation:
    """Fits of all answers; their mixture learns online until the next."""

    def __init__(self, n_objects: int, fit: Fit | None, share: float | None, seed: int) -> None:
        self.share, self.seed, self.fixed = share, seed, fit is not None
        most = _largest_rank(n_objects)
        fits = [fit] if fit else [start._replace(rank=min(start.rank, most)) for start in _START]
        entries = [Entry(fit, np.zeros((n_objects, fit.rank + 1)), Judge()) for fit in dict.fromkeys(fits)]
        self.field: Field[Fit, Floats] = Field(
            entries,
            lambda leader: () if self.fixed else _neighbours(leader, _largest_rank(self.n_objects)),
            _MOST,
            _HOPELESS,
            strangers=lambda leader: () if self.fixed else _strangers(leader, _largest_rank(self.n_objects)),
        )
        self.kernel = LowRankKernel(n_objects, self.field.leader.setting.rank)
        self.judge = Judge()
        self.next_review = max(_FIRST, n_objects // 20)
        self.next_start = 0.0

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.kernel.n_objects

    def count(self, name: str) -> int:
        """A counter of the kernel since the last fit."""
        return self.kernel.count(name)

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""
        return self.kernel.excess(T)

    def map(self) -> Floats:
        """Coordinates."""
        return self.kernel.map()

    def rows(self, ids: NDArray[Any]) -> Floats:
        """Coordinates of some objects."""
        return self.kernel.rows(ids)

    def shifts(self) -> Floats:
        """What stands on the diagonal, and in no coordinate."""
        return self.kernel.shifts

    def matrix(self) -> Floats:
        """The kernel, (n, n)."""
        return self.kernel.matrix()

    def learn(self, rule: Rule, stretch: Stretch, new: NDArray[np.int64]) -> None:
        """The model learns online; every candidate is judged by its last fit."""
        try:
            self.kernel.learn(BETWEEN, stretch)
        finally:
            # Also after an interruption: judges hear what has been learned, and nothing else.
            self._tell(stretch, new[~np.isnan(stretch.excess[new])])

    def _tell(self, stretch: Stretch, new: NDArray[np.int64]) -> None:
        self.judge.hear(stretch.excess[new], int(stretch.numbers[0]))
        T = np.ascontiguousarray(stretch.rows[new])
        excess = np.empty(len(T))
        for entry in self.field.entries:
            excess_of_map(entry.model, T, excess)
            entry.judge.hear(excess, int(stretch.numbers[0]))

    def review(self, seen: int, history: NDArray[np.int32]) -> None:
        """Choose the leader by what the last fits have predicted since, then fit all answers."""
        self.field.most = _MOST if seen < _SETTLED * self.n_objects else _FEW
        self.field.review(seen, lambda fit, leader: self._start(leader.model, fit, seen))
        # A schedule of one's own may have so few fits that brief ones would not catch up.
        exact = seen >= _EARLY * self.n_objects or self.share is not None
        self._fit_all(history, self.field.entries, _iterations(exact, self.n_objects), _TOL)
        share = automatic_share(seen, self.n_objects) if self.share is None else self.share
        self.next_review = next_review(seen, share)

    def finish(self, history: NDArray[np.int32]) -> None:
        """Fit all answers to the end with the settings the model is made of, and go on from there."""
        entries = [entry for entry, weight in self._parts() if weight > 0.0]
        # Here and not where it is called from, for it may run in a thread of its own.
        with one_thread(self.n_objects):
            self._fit_all(history, entries, _MOST_ITERATIONS, _LEAST_TOL)

    def _fit_all(
        self, history: NDArray[np.int32], entries: list[Entry[Fit, Floats]], iterations: int, tol: float
    ) -> None:
        seen = len(history)
        if seen == 0:
            return
        terms = terms_of(history.astype(np.int64), STE())
        anew = seen >= self.next_start
        if anew:
            self.next_start = _ANEW * seen
        widest = max(self.field.entries, key=lambda entry: entry.setting.rank)
        for entry in sorted(entries, key=lambda entry: -entry.setting.rank):
            self._fit(entry, terms, widest.model if anew and entry is not widest else None, iterations, tol)
        self.kernel = self._mixture(seen)

    def _fit(self, entry: Entry[Fit, Floats], terms: Terms, other: Floats | None, iterations: int, tol: float) -> None:
        _, ridge, shift = fit = entry.setting
        seen = len(terms.T)
        objective = ByShiftedMap(terms, ridge * seen if self.fixed else ridge, shift or None)
        starts = [entry.model if _is_alive(entry.model) else self._start(entry.model, fit, seen)]
        if other is not None and _is_alive(other):
            starts.append(self._start(other, fit, seen))
        fits = [quasi_newton.minimise(objective.__call__, start, iterations, tol, _ignore)[0] for start in starts]
        entry.model = fits[0] if len(fits) == 1 else min(fits, key=lambda X: objective(X)[0])

    def _start(self, X: Floats, fit: Fit, seen: int) -> Floats:
        """Coordinates to begin a fit at: the longest axes of others, and small random numbers.

        Where a new column would begin, at zero, the gradient is zero, too.
        """
        start = np.zeros((len(X), fit.rank + 1))
        noise = np.random.default_rng((self.seed, seen, fit.rank)).standard_normal((len(X), fit.rank))
        _, vectors = np.linalg.eigh(X[:, :-1].T @ X[:, :-1])
        axes = vectors[:, ::-1][:, : fit.rank]
        start[:, : axes.shape[1]] = X[:, :-1] @ axes
        start[:, :-1] += 0.01 * noise
        if fit.shift:
            start[:, -1] = X[:, -1]
        return start

    def _parts(self) -> Iterator[tuple[Entry[Fit, Floats], float]]:
        return zip(self.field.entries, self.field.weights(), strict=True)

    def _mixture(self, seen: int) -> LowRankKernel:
        """The sum of the candidates' kernels, each by its weight and at the leader's temperature, ready to go on."""
        # Since the last review another one may have become better than the leader.
        best, parts, ridge = max(self._parts(), key=lambda part: part[1])[0].setting, [], 0.0
        shifts = np.zeros(self.n_objects)
        for (entry, weight), share in zip(self._parts(), self.field.shares(), strict=True):
            if weight > 0.0:
                parts.append(math.sqrt(share) * entry.model[:, :-1])
                shifts += share * entry.model[:, -1]
                ridge += weight * entry.setting.ridge
        widest = min(_WIDEST, _largest_rank(self.n_objects))
        rank = best.rank if self.fixed else max(widest, best.rank)
        trace = best.ridge if self.fixed else ridge / seen
        X = np.concatenate(parts, axis=1)
        X -= X.mean(axis=0)
        # Room for two directions more than it uses.
        values = np.linalg.eigvalsh(X.T @ X)
        used = int(np.count_nonzero(values > 1e-4 * max(values[-1], 1e-200)))
        shifting = _shifting(seen / self.n_objects) if shifts.any() else 0.0
        return LowRankKernel.of_map(X, min(rank, used + 2), trace, shifts, shifting)

    def grow(self, n_new: int) -> None:
        """Make room for new objects, at the origin."""
        self.kernel.grow(n_new)
        for entry in self.field.entries:
            entry.model = np.concatenate([entry.model, np.zeros((n_new, entry.setting.rank + 1))])

    def pack(self) -> Packed:
        """All of the state, as arrays and as what JSON can hold."""
        arrays, meta = pack_field(self.field, lambda X: {"X": X})
        arrays |= prefixed("judge", self.judge.arrays()) | prefixed("kernel", self.kernel.arrays())
        names = ("share", "seed", "fixed", "next_review", "next_start")
        return arrays, {"model": "consolidation", "field": meta, **{name: getattr(self, name) for name in names}}

    @classmethod
    def unpack(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Self:
        """The model that was packed."""
        fit = _fit(*meta["field"]["candidates"][0]) if meta["fixed"] else None
        share = None if meta["share"] is None else number(meta["share"], "share", "it is one of all answers")
        seed = whole(meta["seed"], "seed", 0, "generators start from such")
        model = cls(len(arrays["kernel.B"]), fit, share, seed)
        unpack_field(model.field, arrays, meta["field"], _fit, lambda parts: np.array(parts["X"], order="C"))
        if meta["fixed"] is not model.fixed or (model.fixed and len(model.field.entries) > 1):
            raise ValueError("there is more than one candidate, but the setting was given")
        for entry in model.field.entries:
            if not is_plain(entry.model, (model.kernel.n_objects, entry.setting.rank + 1)):
                raise ValueError("a candidate's coordinates are no matrix of numbers of its rank")
        model.judge = Judge.from_arrays(under("judge", arrays))
        model.kernel = LowRankKernel.from_arrays(under("kernel", arrays))
        model.next_review = whole(meta["next_review"], "next_review", 0, "it counts answers")
        model.next_start = number(meta["next_start"], "next_start", "it counts answers")
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).unpack, self.pack()


def _shifting(per_object: float) -> float:
    """By how many times more than the diagonal online steps move the shifts, after a fit of so many answers an object.

    As far as an answer would move them in a fit of shifts alone, where their curvature is that of the ridge and of the
    answers so far. When there are many answers an object, fits know better than a step.
    """
    if per_object >= _FEW_ANSWERS:
        return 0.0
    return 1.0 / (2.0 * _SHIFT + 0.4 * per_object) / _GENTLE


def _iterations(exact: bool, n_objects: int) -> int:
    """What is needed for an exact or a brief fit, and more of many objects.

    Of these fits are few, and the way out of small random numbers is long: exact ones take as many times more as
    `automatic_share` makes fits rarer. Those that begin close to their end stop early anyway.
    """
    return max(_EXACT if exact else _BRIEF, round(_EXACT * math.sqrt(n_objects / _MANY)))


def _largest_rank(n_objects: int) -> int:
    return max(1, min(n_objects - 1, max(_LEAST_RANK, _LARGEST_MAP // max(1, n_objects))))


def _fit(rank: int, ridge: float, shift: float) -> Fit:
    """A setting that a candidate can have, or an error."""
    ridge, shift = (number(weight, "a ridge", "0 leaves the size free") for weight in (ridge, shift))
    return Fit(whole(rank, "rank", 1, "a map needs a coordinate"), ridge, shift)


def _neighbours(leader: Entry[Fit, Floats], most: int) -> Iterator[Fit]:
    fit = leader.setting
    at = min(range(len(RIDGES)), key=lambda i: abs(RIDGES[i] - fit.ridge))
    for i in (at - 1, at + 1):
        if 0 <= i < len(RIDGES):
            yield fit._replace(ridge=RIDGES[i])
    above = [value for value in RANKS if fit.rank < value <= most]
    if above and _uses_all(leader.model):
        yield fit._replace(rank=above[0])
    below = [value for value in RANKS if value < fit.rank]
    if below:
        yield fit._replace(rank=below[-1])
    yield fit._replace(shift=0.0 if fit.shift else _SHIFT)


def _strangers(leader: Entry[Fit, Floats], most: int) -> Iterator[Fit]:
    """A few free dimensions: ridge by ridge and rank by rank there may be no way to them that is better all along."""
    return (free for free in _FREE if leader.setting.rank != free.rank <= most)


def _uses_all(X: Floats) -> bool:
    values = np.linalg.eigvalsh(X[:, :-1].T @ X[:, :-1])
    return bool(values[0] > 1e-3 * values[-1])


def _is_alive(X: Floats) -> bool:
    """Under a strong ridge and few answers a fit shrinks to nothing, where no gradient leads out."""
    return float(np.sum(X[:, :-1] ** 2)) > 1e-3 * len(X)


def _ignore(X: Floats, value: float) -> None:
    """Nobody watches these fits."""

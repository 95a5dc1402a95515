"""Amortised consolidation: now and then all answers are fitted again, from the last fit; online steps go on in between.

The fits are logistic embeddings (STE) under a ridge, by L-BFGS. They come at a geometric schedule, so that they cost a
constant number of iterations per answer in all, and the model is never worse than a batch fit that is a few per cent
behind. Several ranks and ridges are fitted side by side; the leader is chosen by how well each fit predicted the
answers that came after it. The model is a mixture by that evidence, which soon is the leader alone.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle._kernels.judging import excess_of_map
from erkle.batch import quasi_newton
from erkle.batch.objective import ByMap, Objective, Terms, terms_of
from erkle.kernels.lapack import one_thread
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.losses import STE
from erkle.matrices import is_plain
from erkle.online.field import Entry, Field, next_review
from erkle.online.judging import Judge
from erkle.online.packing import Packed, pack_field, prefixed, under, unpack_field
from erkle.parameters import number, whole
from erkle.steps import Constant

__all__ = ["BETWEEN", "Consolidation", "Fit", "automatic_share"]

Floats = NDArray[np.float64]

RANKS = (1, 2, 3, 5, 10, 25, 50, 100)
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_START = ((25, 4.0), (25, 2.0), (25, 8.0), (2, 0.3), (2, 1.0), (3, 0.3), (5, 0.3), (10, 0.3))
_MOST, _HOPELESS = 8, 8.0
# Between two fits: gentle steps along the gradient, for one answer must not undo what a thousand have settled.
BETWEEN = Rule(STE(), Constant(0.3), False)
_FIRST = 10
# Iterations of a fit on the way, and what ends one earlier; and of one asked for by hand.
_ITERATIONS, _TOL = 15, 1e-4
_MOST_ITERATIONS, _LEAST_TOL = 200, 1e-6
# Fits of lower rank are begun anew from the widest one when there are so many times as many answers.
_ANEW = 1.5
# Dimensions of the mixture at most, or as many as the leader has.
_WIDEST = 25
# Numbers in a map at most: the workspace of L-BFGS has some twenty times as many.
_LARGEST_MAP = 10_000_000


class Fit(NamedTuple):
    """The setting of a candidate."""

    rank: int
    ridge: float


def automatic_share(seen: int) -> float:
    """By how much the answers grow between two fits: 5 %, and more in long streams, up to twice as many."""
    return min(1.0, 0.05 * math.sqrt(max(1.0, seen / 10_000)))


class Consolidation:
    """Fits of all answers; their mixture learns online until the next."""

    def __init__(self, n_objects: int, fit: Fit | None, share: float | None, seed: int) -> None:
        self.share, self.seed, self.fixed = share, seed, fit is not None
        most = _largest_rank(n_objects)
        fits = [fit] if fit else [Fit(min(rank, most), ridge) for rank, ridge in _START]
        entries = [Entry(fit, np.zeros((n_objects, fit.rank)), Judge()) for fit in dict.fromkeys(fits)]
        self.field: Field[Fit, Floats] = Field(
            entries,
            lambda leader: () if self.fixed else _neighbours(leader, _largest_rank(self.n_objects)),
            _MOST,
            _HOPELESS,
        )
        self.kernel = LowRankKernel(n_objects, self.field.leader.setting.rank)
        self.judge = Judge()
        self.next_review = _FIRST
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
        self.field.review(seen, lambda fit, leader: _truncated(leader.model, fit.rank) + self._noise(seen, fit.rank))
        self.fit(history, _ITERATIONS, _TOL)
        share = automatic_share(seen) if self.share is None else self.share
        self.next_review = next_review(seen, _FIRST, share)

    def fit(self, history: NDArray[np.int32], iterations: int = _MOST_ITERATIONS, tol: float = _LEAST_TOL) -> None:
        """Fit all answers with every setting, and go on from the leader's fit."""
        seen = len(history)
        if seen == 0:
            return
        terms = terms_of(history.astype(np.int64), STE())
        anew = seen >= self.next_start
        if anew:
            self.next_start = _ANEW * seen
        widest = max(self.field.entries, key=lambda entry: entry.setting.rank)
        with one_thread(len(widest.model)):
            for entry in sorted(self.field.entries, key=lambda entry: -entry.setting.rank):
                self._fit(entry, terms, widest.model if anew and entry is not widest else None, iterations, tol)
        self.kernel = self._mixture(seen)

    def _fit(self, entry: Entry[Fit, Floats], terms: Terms, other: Floats | None, iterations: int, tol: float) -> None:
        rank, ridge = entry.setting
        objective: Objective = ByMap(terms, ridge * len(terms.T) if self.fixed else ridge)
        noise = self._noise(len(terms.T), rank)
        starts = [entry.model if _is_alive(entry.model) else noise]
        if other is not None and _is_alive(other):
            starts.append(_truncated(other, rank) + noise)
        fits = [quasi_newton.minimise(objective, start, iterations, tol, _ignore)[0] for start in starts]
        entry.model = fits[0] if len(fits) == 1 else min(fits, key=lambda X: objective(X)[0])

    def _noise(self, seen: int, rank: int) -> Floats:
        """Small random coordinates: at zero, where a new column would begin, the gradient is zero, too."""
        return 0.01 * np.random.default_rng((self.seed, seen, rank)).standard_normal((self.kernel.n_objects, rank))

    def _mixture(self, seen: int) -> LowRankKernel:
        """The sum of the candidates' kernels, each by its weight and at the leader's temperature, ready to go on."""
        parts, ridge, leader = [], 0.0, self.field.leader
        for entry, weight in zip(self.field.entries, self.field.weights(), strict=True):
            if weight > 0.0:
                scale = leader.judge.temperature / entry.judge.temperature
                parts.append(math.sqrt(weight * scale) * entry.model)
                ridge += weight * entry.setting.ridge
        rank = leader.setting.rank
        if self.fixed:
            return _going_on(parts[0], rank, leader.setting.ridge)
        return _going_on(np.concatenate(parts, axis=1), max(_WIDEST, rank), ridge / seen)

    def grow(self, n_new: int) -> None:
        """Make room for new objects, at the origin."""
        self.kernel.grow(n_new)
        for entry in self.field.entries:
            entry.model = np.concatenate([entry.model, np.zeros((n_new, entry.setting.rank))])

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
            if not is_plain(entry.model, (model.kernel.n_objects, entry.setting.rank)):
                raise ValueError("a candidate's coordinates are no matrix of numbers of its rank")
        model.judge = Judge.from_arrays(under("judge", arrays))
        model.kernel = LowRankKernel.from_arrays(under("kernel", arrays))
        model.next_review = whole(meta["next_review"], "next_review", 0, "it counts answers")
        model.next_start = number(meta["next_start"], "next_start", "it counts answers")
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).unpack, self.pack()


def _largest_rank(n_objects: int) -> int:
    return max(1, min(n_objects - 1, _LARGEST_MAP // max(1, n_objects)))


def _fit(rank: int, ridge: float) -> Fit:
    """A setting that a candidate can have, or an error."""
    return Fit(whole(rank, "rank", 1, "a map needs a coordinate"), number(ridge, "ridge", "0 leaves the size free"))


def _neighbours(leader: Entry[Fit, Floats], most: int) -> Iterator[Fit]:
    rank, ridge = leader.setting
    at = min(range(len(RIDGES)), key=lambda i: abs(RIDGES[i] - ridge))
    for i in (at - 1, at + 1):
        if 0 <= i < len(RIDGES):
            yield Fit(rank, RIDGES[i])
    above = [value for value in RANKS if rank < value <= most]
    if above and _uses_all(leader.model):
        yield Fit(above[0], ridge)
    below = [value for value in RANKS if value < rank]
    if below:
        yield Fit(below[-1], ridge)


def _truncated(X: Floats, rank: int) -> Floats:
    """The coordinates along the longest axes; zeros behind them if there are fewer."""
    _, vectors = np.linalg.eigh(X.T @ X)
    Y = X @ vectors[:, ::-1][:, :rank]
    return np.pad(Y, ((0, 0), (0, rank - Y.shape[1])))


def _uses_all(X: Floats) -> bool:
    values = np.linalg.eigvalsh(X.T @ X)
    return bool(values[0] > 1e-3 * values[-1])


def _is_alive(X: Floats) -> bool:
    """Under a strong ridge and few answers a fit shrinks to nothing, where no gradient leads out."""
    return float(np.vdot(X, X)) > 1e-3 * len(X)


def _going_on(X: Floats, rank: int, trace: float) -> LowRankKernel:
    """The kernel of a map, ready for the next answer, with room for two directions more than it uses."""
    X = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(X.T @ X)
    used = int(np.count_nonzero(values > 1e-4 * max(values[-1], 1e-200)))
    return LowRankKernel.of_map(X, min(rank, used + 2), trace)


def _ignore(X: Floats, value: float) -> None:
    """Nobody watches these fits."""

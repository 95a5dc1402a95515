"""Low-rank kernels side by side, purely online: rank, weight of the trace and rate are chosen while they learn."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.losses import STE
from erkle.online.packing import Packed, pack_field, prefixed, under, unpack_field
from erkle.online.selection.candidates import Entry, Field, next_review
from erkle.online.selection.evidence import Judge
from erkle.parameters import number, whole
from erkle.steps import InverseSqrt

__all__ = ["Pace", "Race"]

Floats = NDArray[np.float64]
Number = TypeVar("Number", int, float)

# Gentle steps under a trace norm are good for people's answers, long steps and none for answers without errors.
_START = ((10, 2e-3, 1.0), (10, 0.0, 3.0))
_FOLLOW = ((2, 2e-3, 1.0), (5, 0.0, 10.0))
RANKS, TRACES, RATES = (1, 2, 3, 5, 10, 20, 40), (0.0, 5e-4, 2e-3, 8e-3), (0.3, 1.0, 3.0, 10.0)
# Steps begin to grow shorter when there are so many answers an object. Before that candidates can hardly be told apart,
# and two are enough.
SETTLING = 5.0
_FIRST, _SHARE = 100, 0.2
# Few at once, for each costs as much as learning alone. A larger rank falls behind at first and must be waited for.
_MOST, _HOPELESS, _DISCOUNT = 4, 20.0, 8.0
# Ranks that a leader of the largest rank may press for: the first at once, the second from so many answers an object on
# and where no trace norm keeps the rank low.
_PRESSED, _PRESSED_LATE, _LATE = 10, 20, 10


class Pace(NamedTuple):
    """The setting of a candidate."""

    rank: int
    trace: float
    rate: float

    def rule(self, n_objects: int) -> Rule:
        """How it learns: STE along the paper's G, by steps that grow shorter with the answers an object has had."""
        return Rule(STE(), InverseSqrt(self.rate, SETTLING * n_objects), True)


class Race:
    """Candidates that all learn every answer; the model is their mixture by evidence."""

    def __init__(self, n_objects: int) -> None:
        paces = _paces(_START, n_objects)
        entries = [Entry(pace, LowRankKernel(n_objects, pace.rank, pace.trace), Judge(_DISCOUNT)) for pace in paces]
        self.field: Field[Pace, LowRankKernel] = Field(
            entries, lambda leader: self._waiting(leader.setting), _MOST, _HOPELESS, self._pressing
        )
        self.judge = Judge()
        self.shares = self.field.shares()
        self.next_review = _FIRST

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.field.leader.model.n_objects

    def count(self, name: str) -> int:
        """A counter of the leader."""
        return self.field.leader.model.count(name)

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row, under the mixture."""
        return np.asarray(sum(scale * entry.model.excess(T) for entry, scale in self._shares()))

    def map(self) -> Floats:
        """Coordinates of the mixture."""
        return self.rows(slice(None))

    def rows(self, ids: Any) -> Floats:
        """Coordinates of some objects."""
        return np.concatenate([np.sqrt(scale) * entry.model.rows(ids) for entry, scale in self._shares()], axis=1)

    def matrix(self) -> Floats:
        """The kernel, (n, n)."""
        X = self.map()
        return np.asarray(X @ X.T)

    def learn(self, rule: Rule, stretch: Stretch, new: NDArray[np.int64]) -> None:
        """Every candidate learns the rows in order by a rule of its own."""
        first, interrupted = int(stretch.numbers[0]), False
        mixed, shares = np.zeros(len(stretch.rows)), dict(self._shares())
        for entry in self.field.entries:
            own = stretch._replace(excess=np.full_like(stretch.excess, np.nan))
            interrupted |= _learn_all(entry, own)
            entry.judge.hear(own.excess[new], first)
            mixed += shares.get(entry, 0.0) * own.excess
        stretch.excess[:] = mixed
        self.judge.hear(mixed[new], first)
        if interrupted:
            raise KeyboardInterrupt

    def _shares(self) -> list[tuple[Entry[Pace, LowRankKernel], float]]:
        """What the mixture is made of: kernels by the weights of the last review, at the leader's temperature."""
        return [(entry, share) for entry, share in zip(self.field.entries, self.shares, strict=True) if share > 0.0]

    def review(self, seen: int, history: NDArray[np.int32]) -> None:
        """Choose the leader."""
        self.field.review(seen, lambda pace, leader: LowRankKernel.of_map(leader.model.map(), pace.rank, pace.trace))
        self.shares = self.field.shares()
        self.next_review = next_review(seen, _SHARE)

    def _waiting(self, pace: Pace) -> list[Pace]:
        """Who may enter: those that follow the first, then neighbours of the leader, the lately retired ones last."""
        # Asked in a review, which is when there are so many answers as the review was due at.
        if self.next_review < SETTLING * self.n_objects:
            return []
        following = [other for other in _paces(_FOLLOW, self.n_objects) if other not in self.field.retired]
        return following + sorted(self._neighbours(pace), key=lambda other: self.field.retired.get(other, 0))

    def _pressing(self, leader: Entry[Pace, LowRankKernel]) -> list[Pace]:
        """A leader that has the largest rank of all may want a larger one; beyond some it must wait."""
        pace, top = leader.setting, max(entry.setting.rank for entry in self.field.entries)
        most = _PRESSED if pace.trace or self.next_review < _LATE * self.n_objects else _PRESSED_LATE
        above = [rank for rank in RANKS if pace.rank < rank <= min(most, _largest_rank(self.n_objects))]
        return [pace._replace(rank=above[0])] if above and pace.rank == top else []

    def _neighbours(self, pace: Pace) -> Iterator[Pace]:
        """The weights, rates and ranks next to the leader's."""
        for trace in reversed(_beside(TRACES, pace.trace)):
            yield pace._replace(trace=trace)
        for rate in _beside(RATES, pace.rate):
            yield pace._replace(rate=rate)
        for rank in _beside(RANKS, pace.rank):
            if rank <= _largest_rank(self.n_objects):
                yield pace._replace(rank=rank)

    def grow(self, n_new: int) -> None:
        """Make room for new objects."""
        for entry in self.field.entries:
            entry.model.grow(n_new)

    def pack(self) -> Packed:
        """All of the state, as arrays and as what JSON can hold."""
        arrays, meta = pack_field(self.field, LowRankKernel.arrays)
        arrays |= prefixed("judge", self.judge.arrays())
        return arrays, {"model": "race", "field": meta, "shares": self.shares, "next_review": self.next_review}

    @classmethod
    def unpack(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Self:
        """The model that was packed."""
        race = cls(len(arrays["candidate0.model.B"]))
        unpack_field(race.field, arrays, meta["field"], _pace, LowRankKernel.from_arrays)
        for pace, kernel in ((entry.setting, entry.model) for entry in race.field.entries):
            if (kernel.n_objects, kernel.rank) != (race.n_objects, pace.rank):
                raise ValueError("the candidates' kernels are of other sizes than they should be")
        race.judge = Judge.from_arrays(under("judge", arrays))
        race.shares = [number(share, "a share", "it is a weight") for share in meta["shares"]]
        if len(race.shares) != len(race.field.entries):
            raise ValueError("there is not one share for each candidate")
        race.next_review = whole(meta["next_review"], "next_review", 0, "it counts answers")
        return race

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).unpack, self.pack()


def _largest_rank(n_objects: int) -> int:
    return min(RANKS[-1], n_objects - 1)


def _paces(settings: tuple[tuple[int, float, float], ...], n_objects: int) -> list[Pace]:
    """Settings with no rank that so few objects cannot have."""
    return [Pace(min(rank, _largest_rank(n_objects)), trace, rate) for rank, trace, rate in settings]


def _pace(rank: int, trace: float, rate: float) -> Pace:
    """A setting that a candidate can have, or an error."""
    if trace not in TRACES or rate not in RATES:
        raise ValueError("a candidate has a weight of the trace or a rate that is none of ours")
    return Pace(whole(rank, "rank", 1, "a kernel of rank 0 knows nothing"), trace, rate)


def _learn_all(entry: Entry[Pace, LowRankKernel], stretch: Stretch) -> bool:
    """Learn the whole stretch, and tell whether an interruption came in between: no candidate may stay behind."""
    interrupted = False
    while np.isnan(stretch.excess).any():
        done = int(np.argmax(np.isnan(stretch.excess)))
        try:
            entry.model.learn(entry.setting.rule(entry.model.n_objects), stretch.after(done))
        except KeyboardInterrupt:
            interrupted = True
    return interrupted


def _beside(values: tuple[Number, ...], value: Number) -> list[Number]:
    """The next smaller and the next larger value."""
    below = [other for other in values if other < value]
    above = [other for other in values if other > value]
    return below[-1:] + above[:1]

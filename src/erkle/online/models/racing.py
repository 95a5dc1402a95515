"""Low-rank kernels side by side, purely online: rank, weight of the trace and rate are chosen while they learn."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.files import Arrays, Packed, prefixed, under
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel, Mixture
from erkle.losses import STE
from erkle.online.models.base import Model
from erkle.online.selection.candidates import Candidate, Candidates, Entry, beside, next_review
from erkle.online.selection.evidence import Evidence
from erkle.steps import InverseSqrt


class Pace(NamedTuple):
    """The setting of a candidate: the largest rank, the weight of the trace per answer, and the rate of the steps."""

    rank: int
    trace: float
    rate: float

    def rule(self, n_objects: int) -> Rule:
        """How it learns: STE along the paper's G, by steps that grow shorter with the answers per object."""
        return Rule(STE(), InverseSqrt(self.rate, TUNING.settling * n_objects), True)


class RacingTuning(NamedTuple):
    """Constants of `Racing`.

    Where a field names no benchmark, no run that set its value is on record. `python -m benchmarks.people choosing`
    measures what a change does to errors and to the cost of choosing.
    """

    # Candidates at the beginning. Gentle steps under a trace norm suit people's answers; long steps without one suit
    # answers without errors. Two, so that choosing costs less than six times the leader alone (`... choosing`).
    start: tuple[Pace, ...] = (Pace(10, 2e-3, 1.0), Pace(10, 0.0, 3.0))
    # Candidates that follow once the steps grow shorter.
    follow: tuple[Pace, ...] = (Pace(2, 2e-3, 1.0), Pace(5, 0.0, 10.0))
    # Ranks that are tried.
    ranks: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 40)
    # Weights of the trace, per answer, that are tried.
    traces: tuple[float, ...] = (0.0, 5e-4, 2e-3, 8e-3)
    # Rates that are tried.
    rates: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)
    # Answers per object at which steps begin to grow shorter. Until then candidates can hardly be told apart, and no
    # others enter.
    settling: float = 5.0
    # Answers at the first review.
    first_review: int = 100
    # By what share the number of answers grows until the next review; set with ``start``, by the same run.
    review_share: float = 0.2
    # Candidates at once: each costs as much as learning alone.
    most: int = 4
    # Nats of discounted loss behind the leader at which a candidate is eliminated. A larger rank falls behind at
    # first, and must be waited for. Set with ``start``, by the same run.
    elimination_margin: float = 20.0
    # How fast old answers lose their weight in the evidence of a candidate.
    discount: float = 8.0
    # The largest rank that a leader of the largest rank asks for urgently.
    urgent_rank: int = 10
    # The same from ``urgent_late_at`` answers per object on, if no trace norm keeps the rank low.
    urgent_rank_late: int = 20
    # Answers per object from which ``urgent_rank_late`` holds.
    urgent_late_at: float = 10.0


TUNING = RacingTuning()


class PaceProposals:
    """Settings next to the leader's on the grid of ranks, weights and rates."""

    def neighbours(self, candidates: Candidates[Pace, LowRankKernel], seen: int) -> list[Pace]:
        """Those that follow the first ones, then neighbours of the leader, the lately eliminated ones last."""
        n_objects = candidates.leader.model.n_objects
        if seen < TUNING.settling * n_objects:
            return []
        following = [pace for pace in _within(TUNING.follow, n_objects) if pace not in candidates.retired]
        beside = _beside_pace(candidates.leader.setting, n_objects)
        return following + sorted(beside, key=lambda pace: candidates.retired.get(pace, 0))

    def urgent(self, candidates: Candidates[Pace, LowRankKernel], seen: int) -> list[Pace]:
        """A larger rank, if the leader has the largest of all; beyond some rank it must wait."""
        pace, n_objects = candidates.leader.setting, candidates.leader.model.n_objects
        early = seen < TUNING.urgent_late_at * n_objects
        most = TUNING.urgent_rank if pace.trace or early else TUNING.urgent_rank_late
        above = [rank for rank in TUNING.ranks if pace.rank < rank <= min(most, _largest_rank(n_objects))]
        top = max(entry.setting.rank for entry in candidates.entries)
        return [pace._replace(rank=above[0])] if above and pace.rank == top else []

    def exploratory(self, candidates: Candidates[Pace, LowRankKernel], seen: int) -> tuple[Pace, ...]:
        """None: steps lead from any setting to any other."""
        return ()

    def begin(self, setting: Pace, model: LowRankKernel, seen: int) -> LowRankKernel:
        """The kernel of the leader, cut to the rank."""
        return LowRankKernel.of_map(model.map(), setting.rank, setting.trace)


class Racing(Model):
    """Candidates that all learn every answer; the kernel is their mixture by evidence."""

    kernel: Mixture

    def __init__(self, n_objects: int) -> None:
        entries = [
            Entry(pace, LowRankKernel(n_objects, pace.rank, pace.trace), Evidence(TUNING.discount))
            for pace in _within(TUNING.start, n_objects)
        ]
        self.candidates = Candidates(entries, PaceProposals(), TUNING.elimination_margin)
        self.evidence = Evidence()
        self.next_review = TUNING.first_review
        self._mix(self.candidates.shares())

    def _mix(self, shares: list[float]) -> None:
        """Make the kernel of the candidates, by shares that stand until the next review."""
        self.shares = shares
        kernels = (entry.model for entry in self.candidates.entries)
        self.kernel = Mixture(zip(kernels, shares, strict=True), self.candidates.leader.model)

    def learn(self, stretch: Stretch) -> None:
        """Every candidate learns the rows in order, by a rule of its own."""
        interrupted, mixed = False, np.zeros(len(stretch.rows))
        for entry, share in zip(self.candidates.entries, self.shares, strict=True):
            own = Stretch.of(stretch.rows, stretch.numbers, stretch.new)
            interrupted |= _learn_all(entry, own)
            entry.evidence.add(own.excess[stretch.new], stretch.first)
            mixed += share * own.excess
        stretch.excess[:] = mixed
        self.evidence.add(mixed[stretch.new], stretch.first)
        if interrupted:
            raise KeyboardInterrupt

    def review(self, seen: int, history: NDArray[np.int32]) -> None:
        """Choose the leader and the shares, and let others enter."""
        self.candidates.review(seen, TUNING.most)
        self._mix(self.candidates.shares())
        self.next_review = next_review(seen, TUNING.review_share)

    def selection(self) -> list[Candidate]:
        """The candidates, the best first."""
        return self.candidates.table()

    def grow(self, n_new: int) -> None:
        """Make room for new objects."""
        for entry in self.candidates.entries:
            entry.model.grow(n_new)

    def pack(self) -> Packed:
        """All of the state, as arrays and as what JSON can hold."""
        arrays, meta = self.candidates.pack(LowRankKernel.arrays)
        arrays |= prefixed("evidence", self.evidence.arrays())
        return arrays, {"model": "racing", "candidates": meta, "shares": self.shares, "next_review": self.next_review}

    @classmethod
    def unpack(cls, arrays: Arrays, meta: dict[str, Any]) -> Self:
        """The model that was packed."""
        model = cls(len(arrays["candidate0.model.shifts"]))
        model.candidates.restore(arrays, meta["candidates"], Pace, lambda own, _: LowRankKernel.from_arrays(own))
        model.evidence = Evidence.from_arrays(under("evidence", arrays))
        model._mix(meta["shares"])
        model.next_review = meta["next_review"]
        return model


def _learn_all(entry: Entry[Pace, LowRankKernel], stretch: Stretch) -> bool:
    """Learn the whole stretch, and say whether an interruption came in between: no candidate may stay behind."""
    rule, interrupted = entry.setting.rule(entry.model.n_objects), False
    while True:
        try:
            entry.model.learn(rule, stretch.rest())
            return interrupted
        except KeyboardInterrupt:
            interrupted = True


def _largest_rank(n_objects: int) -> int:
    return min(TUNING.ranks[-1], n_objects - 1)


def _within(paces: tuple[Pace, ...], n_objects: int) -> list[Pace]:
    """The settings with no rank that so few objects cannot have."""
    return [pace._replace(rank=min(pace.rank, _largest_rank(n_objects))) for pace in paces]


def _beside_pace(pace: Pace, n_objects: int) -> Iterator[Pace]:
    """The weights, rates and ranks next to a setting's."""
    for trace in reversed(beside(TUNING.traces, pace.trace)):
        yield pace._replace(trace=trace)
    for rate in beside(TUNING.rates, pace.rate):
        yield pace._replace(rate=rate)
    for rank in beside(TUNING.ranks, pace.rank):
        if rank <= _largest_rank(n_objects):
            yield pace._replace(rank=rank)

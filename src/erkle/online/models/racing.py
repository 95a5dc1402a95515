"""Racing: several low-rank kernels learn online, and the best rank, trace and rate are chosen while they learn."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel, Mixture
from erkle.losses import STE
from erkle.npz_files import Arrays, Packed, prefixed, under
from erkle.online.models.base import Answers, ChoosingModel
from erkle.online.selection.candidates import Candidates, Entry, Floats, Ids, next_review, steps
from erkle.online.selection.evidence import Evidence
from erkle.steps import InverseSqrt


class OnlineSetting(NamedTuple):
    """The setting of a candidate: largest rank, weight of the trace in the loss of an answer, and rate of the steps."""

    rank: int
    trace: float
    rate: float

    def rule(self, n_objects: int) -> Rule:
        """The loss of STE and the canonical direction. Steps get shorter after ``settling`` answers per object."""
        return Rule(STE(), InverseSqrt(self.rate, TUNING.settling * n_objects), canonical=True)


class RacingTuning(NamedTuple):
    """Constants of `Racing`.

    ``start``, ``review_share`` and ``elimination_margin`` were set with `python -m benchmarks.people choosing`, which
    measures the errors and the cost of choosing. For the other values there is no record of a benchmark.
    """

    # Candidates at the start. Short steps with a trace norm suit people's answers; long steps without a trace norm suit
    # error-free answers. There are only two: with those that enter later, choosing must cost less than six times as
    # much as the leader alone.
    start: tuple[OnlineSetting, ...] = (OnlineSetting(10, 2e-3, 1.0), OnlineSetting(10, 0.0, 3.0))
    # Candidates that enter once steps get shorter (see ``settling``).
    follow: tuple[OnlineSetting, ...] = (OnlineSetting(2, 2e-3, 1.0), OnlineSetting(5, 0.0, 10.0))
    # Ranks to try.
    ranks: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 40)
    # Weights of the trace to try, in the loss of one answer.
    traces: tuple[float, ...] = (0.0, 5e-4, 2e-3, 8e-3)
    # Rates to try.
    rates: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)
    # Answers per object at which steps start to get shorter. Before that, candidates predict almost equally well, so
    # no other candidates enter.
    settling: float = 5.0
    # Answers at the first review.
    first_review: int = 100
    # Growth of the number of answers between two reviews, as a share.
    review_share: float = 0.2
    # Largest number of candidates. Each candidate costs as much as a learner with only that candidate.
    most: int = 4
    # A candidate this many nats of discounted loss behind the leader is eliminated. The margin is wide because a
    # larger rank falls behind at first and catches up later.
    elimination_margin: float = 20.0
    # Discount of a candidate's evidence; see `Evidence`.
    discount: float = 8.0
    # When no candidate has a larger rank than the leader, a larger rank enters in place of the worst candidate. This is
    # the largest rank that may enter in this way.
    urgent_rank: int = 10
    # Used instead of ``urgent_rank`` after ``urgent_late_at``, unless the leader has a trace norm. A trace norm keeps
    # the rank low.
    urgent_rank_late: int = 20
    # Answers per object at which ``urgent_rank_late`` takes effect.
    urgent_late_at: float = 10.0


TUNING = RacingTuning()


class OnlineProposals:
    """Proposes settings next to the leader's on the grid of ranks, traces and rates."""

    def neighbours(self, candidates: Candidates[OnlineSetting, LowRankKernel], seen: int) -> list[OnlineSetting]:
        """``TUNING.follow``, then the neighbours of the leader; recently eliminated settings come last."""
        n_objects = candidates.leader.model.n_objects
        if seen < TUNING.settling * n_objects:
            return []
        following = [setting for setting in _within(TUNING.follow, n_objects) if setting not in candidates.eliminated]
        beside = _neighbours_of(candidates.leader.setting, n_objects)
        return following + sorted(beside, key=lambda setting: candidates.eliminated.get(setting, 0))

    def urgent(self, candidates: Candidates[OnlineSetting, LowRankKernel], seen: int) -> list[OnlineSetting]:
        """The next larger rank, if the leader already has the largest rank of all candidates."""
        setting, n_objects = candidates.leader.setting, candidates.leader.model.n_objects
        early = seen < TUNING.urgent_late_at * n_objects
        most = TUNING.urgent_rank if setting.trace or early else TUNING.urgent_rank_late
        above = [rank for rank in TUNING.ranks if setting.rank < rank <= min(most, _largest_rank(n_objects))]
        top = max(entry.setting.rank for entry in candidates.entries)
        return [setting._replace(rank=above[0])] if above and setting.rank == top else []

    def exploratory(self, candidates: Candidates[OnlineSetting, LowRankKernel], seen: int) -> tuple[OnlineSetting, ...]:
        """Nothing: every setting can be reached through neighbours."""
        return ()

    def protected(self, entries: list[Entry[OnlineSetting, LowRankKernel]]) -> tuple[()]:
        """None: the leader alone is kept."""
        return ()

    def credence(self, setting: OnlineSetting, seen: int) -> float:
        """1: before evidence, all settings count alike."""
        return 1.0

    def begin(self, setting: OnlineSetting, model: LowRankKernel, seen: int) -> LowRankKernel:
        """The leader's kernel, truncated to the new rank."""
        return LowRankKernel.of_map(model.map(), setting.rank, setting.trace)

    def answer_model(self, setting: OnlineSetting) -> None:
        """None: the answer model is estimated."""

    def excess(self, setting: OnlineSetting, model: LowRankKernel, T: Ids) -> Floats:
        """The decision values of a kernel."""
        return model.excess(T.astype(np.int64))


class Racing(ChoosingModel):
    """Candidates that each learn every answer. The kernel is their mixture, weighted by evidence."""

    kernel: Mixture

    def __init__(self, n_objects: int) -> None:
        entries = [
            Entry(setting, LowRankKernel(n_objects, setting.rank, setting.trace), Evidence(TUNING.discount))
            for setting in _within(TUNING.start, n_objects)
        ]
        self.candidates = Candidates(entries, OnlineProposals(), TUNING.elimination_margin)
        self.evidence = Evidence()
        self.next_review = TUNING.first_review
        self._mix(self.candidates.weights())

    def _mix(self, shares: list[float]) -> None:
        """Mix the candidates' kernels, with shares that stay fixed until the next review."""
        self.shares = shares
        kernels = (entry.model for entry in self.candidates.entries)
        self.kernel = Mixture(zip(kernels, shares, strict=True), self.candidates.leader.model)

    def learn(self, stretch: Stretch) -> None:
        """Let every candidate learn the rows in order, each with its own rule."""
        mixed = Stretch.of(stretch.rows, stretch.numbers, stretch.new)
        mixed.excess[:] = 0.0
        for entry, share in zip(self.candidates.entries, self.shares, strict=True):
            own = Stretch.of(stretch.rows, stretch.numbers, stretch.new)
            entry.model.learn(entry.setting.rule(entry.model.n_objects), own)
            entry.evidence.add(own.distances[stretch.new], stretch.first)
            mixed.distances[:] += share * own.distances
            mixed.excess[:] += share * own.excess
        stretch.distances[:], stretch.excess[:] = mixed.distances, mixed.excess
        self.add_evidence(stretch)

    def _review(self, seen: int, answers: Answers) -> None:
        """Choose the leader and the shares, and let new candidates enter."""
        self.candidates.review(seen, TUNING.most)
        self._mix(self.candidates.shares(answers.T))
        self.next_review = next_review(seen, TUNING.review_share)

    def grow(self, n_new: int) -> None:
        """Add objects."""
        for entry in self.candidates.entries:
            entry.model.grow(n_new)

    def pack(self) -> Packed:
        """The whole state, as arrays and JSON values."""
        arrays, meta = self.candidates.pack(LowRankKernel.arrays)
        arrays |= prefixed("evidence", self.evidence.arrays())
        return arrays, {"model": "racing", "candidates": meta, "shares": self.shares, "next_review": self.next_review}

    @classmethod
    def unpack(cls, arrays: Arrays, meta: dict[str, Any]) -> Self:
        """Restore a model from what `pack` returned."""
        model = cls(len(arrays["candidate0.model.shifts"]))
        model.candidates.restore(
            arrays, meta["candidates"], OnlineSetting, lambda own, _: LowRankKernel.from_arrays(own)
        )
        model.evidence = Evidence.from_arrays(under("evidence", arrays))
        model._mix(meta["shares"])
        model.next_review = meta["next_review"]
        return model


def _largest_rank(n_objects: int) -> int:
    return min(TUNING.ranks[-1], n_objects - 1)


def _within(settings: tuple[OnlineSetting, ...], n_objects: int) -> list[OnlineSetting]:
    """The settings, with ranks limited to what ``n_objects`` can have."""
    return [setting._replace(rank=min(setting.rank, _largest_rank(n_objects))) for setting in settings]


def _neighbours_of(setting: OnlineSetting, n_objects: int) -> Iterator[OnlineSetting]:
    """The settings that differ from ``setting`` by one step in trace, rate or rank."""
    ranks = tuple(rank for rank in TUNING.ranks if rank <= _largest_rank(n_objects))
    return steps(setting, {"trace": TUNING.traces[::-1], "rate": TUNING.rates, "rank": ranks})

"""Candidates side by side: the one that has predicted best leads, those far behind are eliminated, new ones enter.

Everything is decided at reviews, from predictions made before the answers were known. A new candidate inherits the
evidence of the leader with a handicap, so that from then on only their difference counts.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from erkle.files import Arrays, Packed, prefixed, under
from erkle.online.selection.evidence import Evidence

Setting = TypeVar("Setting", bound=tuple[Any, ...])
Model = TypeVar("Model")
Number = TypeVar("Number", int, float)


class SelectionTuning(NamedTuple):
    """Constants of the selection.

    No run that set these values is on record. `python -m benchmarks.people choosing` and `... moments` measure what a
    change does to errors and to CPU time; `make active`, what it does where the learner chooses its questions.
    """

    # Handicap, in nats of discounted loss, that a new neighbour of the leader starts with.
    handicap: float = 1.0
    # A candidate that is within this many nats of elimination has weight 0 in a mixture.
    fading: float = 1.0
    # Handicap of an exploratory candidate, as a multiple of ``elimination_margin - fading / 2``. About a quarter of it
    # is discounted by the next review, so a candidate that predicts as well as the leader until then stays.
    exploratory_handicap: float = 1.3
    # How much a nat counts for in a mixture. 1 would be Bayes, but predictions depend on each other.
    trust: float = 0.2
    # Weight, as a share of the largest, below which a candidate counts for nothing in a mixture.
    least_weight: float = 0.05
    # An eliminated setting may be tried again once the number of answers has grown by this factor.
    comeback: float = 1.5


TUNING = SelectionTuning()


@dataclass(eq=False)
class Entry(Generic[Setting, Model]):
    """A candidate: its setting, what it has learned, and the evidence of its predictions."""

    setting: Setting
    model: Model
    evidence: Evidence


class Candidate(NamedTuple):
    """A row of ``selection_``."""

    setting: dict[str, float]
    weight: float
    loss: float
    error: float
    status: str


class Proposals(Protocol[Setting, Model]):
    """What is tried next, given the candidates at a review and the number of answers seen."""

    def neighbours(self, candidates: "Candidates[Setting, Model]", seen: int) -> Iterable[Setting]:
        """Settings next to the leader's, the most promising first; they enter where there is room."""

    def urgent(self, candidates: "Candidates[Setting, Model]", seen: int) -> Iterable[Setting]:
        """Settings that enter in the place of the last candidates."""

    def exploratory(self, candidates: "Candidates[Setting, Model]", seen: int) -> Iterable[Setting]:
        """Settings unlike the leader's. One enters in the place of the last candidate, others where there is room.

        Those that predict worse than the leader are eliminated at the next review.
        """

    def begin(self, setting: Setting, model: Model, seen: int) -> Model:
        """What a new candidate starts with, given the model of the leader."""


class Candidates(Generic[Setting, Model]):
    """Candidates side by side.

    Parameters
    ----------
    entries : list of Entry
        The first leads until the first review.
    proposals : Proposals
    elimination_margin : float
        Nats of discounted loss behind the leader at which a candidate is eliminated.
    """

    def __init__(
        self, entries: list[Entry[Setting, Model]], proposals: Proposals[Setting, Model], elimination_margin: float
    ) -> None:
        self.entries, self._proposals, self.elimination_margin = entries, proposals, elimination_margin
        self.leader = self.entries[0]
        self.retired: dict[Setting, int] = {}

    def review(self, seen: int, most: int) -> None:
        """Choose the leader, eliminate those far behind it, and let others enter until there are ``most``."""
        self.entries.sort(key=lambda entry: entry.evidence.discounted_loss)
        self.leader = self.entries[0]
        limit = self.leader.evidence.discounted_loss + self.elimination_margin
        self._retire([entry for entry in self.entries if entry.evidence.discounted_loss > limit], seen)
        urgent = self._due(self._proposals.urgent(self, seen), seen)
        exploratory = self._due(self._proposals.exploratory(self, seen), seen)
        places = most - bool(exploratory)
        self._retire(self.entries[max(1, places - len(urgent)) :], seen)
        evidence = self.leader.evidence
        for setting in urgent + self._due(self._proposals.neighbours(self, seen), seen):
            self._enter(setting, evidence.with_handicap(TUNING.handicap), places, seen)
        behind = TUNING.exploratory_handicap * (self.elimination_margin - TUNING.fading / 2)
        for setting in exploratory:
            self._enter(setting, evidence.at_every_temperature(behind), most, seen)

    def _enter(self, setting: Setting, evidence: Evidence, places: int, seen: int) -> None:
        if len(self.entries) < places and setting not in (entry.setting for entry in self.entries):
            self.retired.pop(setting, None)
            self.entries.append(Entry(setting, self._proposals.begin(setting, self.leader.model, seen), evidence))

    def _due(self, settings: Iterable[Setting], seen: int) -> list[Setting]:
        """Those that do not run and have not retired lately."""
        running = {entry.setting for entry in self.entries}
        return [
            setting
            for setting in settings
            if setting not in running and seen >= TUNING.comeback * self.retired.get(setting, 0)
        ]

    def weights(self) -> list[float]:
        """The weight of each candidate in a mixture: equal without evidence, the leader alone if it is far ahead."""
        # Between two reviews another candidate may become better than the leader.
        best = min(entry.evidence.discounted_loss for entry in self.entries)
        behind = [entry.evidence.discounted_loss - best for entry in self.entries]
        least = max(TUNING.least_weight, math.exp(-TUNING.trust * (self.elimination_margin - TUNING.fading)))
        weights = [weight if (weight := math.exp(-TUNING.trust * nats)) > least else 0.0 for nats in behind]
        return [weight / sum(weights) for weight in weights]

    def shares(self) -> list[float]:
        """What each candidate's kernel is multiplied by in a mixture: its weight, at the leader's temperature."""
        temperature = self.leader.evidence.temperature
        pairs = zip(self.entries, self.weights(), strict=True)
        return [weight * temperature / entry.evidence.temperature for entry, weight in pairs]

    def _retire(self, entries: list[Entry[Setting, Model]], seen: int) -> None:
        for entry in entries:
            self.retired[entry.setting] = seen
            self.entries.remove(entry)

    def table(self) -> list[Candidate]:
        """All settings: running candidates from best to worst, then the eliminated ones."""
        rows: list[Candidate] = []
        # By the evidence now: at the last review another candidate may have led.
        for entry, weight in sorted(zip(self.entries, self.weights(), strict=True), key=lambda pair: -pair[1]):
            status = "runs" if rows else "leads"
            rows.append(Candidate(_fields(entry.setting), weight, entry.evidence.loss, entry.evidence.error, status))
        for setting, seen in self.retired.items():
            rows.append(Candidate(_fields(setting), 0.0, math.nan, math.nan, f"retired after {seen} answers"))
        return rows

    def pack(self, arrays_of: Callable[[Model], Mapping[str, NDArray[Any]]]) -> Packed:
        """All of the state, as arrays and as what JSON can hold."""
        arrays: Arrays = {}
        for i, entry in enumerate(self.entries):
            arrays |= prefixed(f"candidate{i}.evidence", entry.evidence.arrays())
            arrays |= prefixed(f"candidate{i}.model", arrays_of(entry.model))
        return arrays, {
            "candidates": [list(entry.setting) for entry in self.entries],
            "leader": self.entries.index(self.leader),
            "retired": [[list(setting), seen] for setting, seen in self.retired.items()],
        }

    def restore(
        self,
        arrays: Arrays,
        meta: dict[str, Any],
        setting_of: Callable[..., Setting],
        model_of: Callable[[Arrays, Setting], Model],
    ) -> None:
        """Replace the candidates by those that were packed."""
        discount = self.leader.evidence.discount
        self.entries = []
        for i, fields in enumerate(meta["candidates"]):
            setting = setting_of(*fields)
            model = model_of(under(f"candidate{i}.model", arrays), setting)
            evidence = Evidence.from_arrays(under(f"candidate{i}.evidence", arrays), discount)
            self.entries.append(Entry(setting, model, evidence))
        self.leader = self.entries[meta["leader"]]
        self.retired = {setting_of(*fields): seen for fields, seen in meta["retired"]}


def next_review(seen: int, share: float) -> int:
    """The number of answers at which to look again: a share more than now."""
    return seen + max(5, math.ceil(min(share * seen, 1e15)))


def beside(values: tuple[Number, ...], value: Number) -> list[Number]:
    """The next smaller and the next larger value."""
    below = [other for other in values if other < value]
    above = [other for other in values if other > value]
    return below[-1:] + above[:1]


def _fields(setting: Any) -> dict[str, float]:
    return dict(setting._asdict())

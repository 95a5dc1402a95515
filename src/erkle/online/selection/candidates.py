"""Candidates that compete: the best predictor leads, candidates far behind are eliminated, and new ones enter.

All decisions are made at reviews, from predictions that were made before the answers were known. A new candidate
starts with the leader's loss plus a handicap, so it overtakes the leader only if it predicts better from then on.
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

    There is no record of a benchmark for these values. `python -m benchmarks.people choosing` and
    `python -m benchmarks.people moments` measure how a change affects errors and CPU time. `make active` measures how
    it affects learning from questions that a strategy chooses.
    """

    # Handicap of a new neighbour of the leader, in nats of discounted loss.
    handicap: float = 1.0
    # A candidate within this many nats of elimination has weight 0 in the mixture.
    fading: float = 1.0
    # Handicap of an exploratory candidate, as a multiple of ``elimination_margin - fading / 2``. The discount removes
    # part of the handicap before the next review, so only a candidate that predicts well by then survives it.
    exploratory_handicap: float = 1.3
    # The weight of a candidate x nats behind the best one is proportional to exp(-trust * x). Bayes' rule would use a
    # trust of 1, but successive predictions are not independent.
    trust: float = 0.2
    # A candidate whose weight is below this share of the largest weight gets weight 0 in the mixture.
    least_weight: float = 0.05
    # An eliminated setting may be tried again once the number of answers has grown by this factor.
    comeback: float = 1.5


TUNING = SelectionTuning()


@dataclass(eq=False)
class Entry(Generic[Setting, Model]):
    """A candidate: its setting, its model, and the evidence of its predictions."""

    setting: Setting
    model: Model
    evidence: Evidence


class Candidate(NamedTuple):
    """A setting that was tried, as a row of ``selection_``.

    Attributes
    ----------
    setting : dict
        The values of the setting by name, such as rank and ridge.
    weight : float
        Its weight in the mixture that predicts, from 0 to 1.
    loss : float
        Mean logistic loss in nats. Each answer is predicted before it is learned, and recent answers count most. NaN if
        eliminated.
    error : float
        Share of answers that it predicted wrongly. Recent answers count most. NaN if eliminated.
    status : str
        "leads", "runs" or "eliminated after N answers".
    """

    setting: dict[str, float]
    weight: float
    loss: float
    error: float
    status: str


class Proposals(Protocol[Setting, Model]):
    """Proposes settings to try, given the candidates at a review and the number of answers seen."""

    def neighbours(self, candidates: "Candidates[Setting, Model]", seen: int) -> Iterable[Setting]:
        """Settings next to the leader's, the most promising first. They enter if there is room."""

    def urgent(self, candidates: "Candidates[Setting, Model]", seen: int) -> Iterable[Setting]:
        """Settings that replace the worst candidates."""

    def exploratory(self, candidates: "Candidates[Setting, Model]", seen: int) -> Iterable[Setting]:
        """Settings unlike the leader's. One replaces the worst candidate; the others enter if there is room.

        Exploratory candidates that predict worse than the leader are eliminated at the next review.
        """

    def begin(self, setting: Setting, model: Model, seen: int) -> Model:
        """The model that a new candidate starts with, given the model of the leader."""


class Candidates(Generic[Setting, Model]):
    """Candidates that compete.

    Parameters
    ----------
    entries : list of Entry
        The first entry leads until the first review.
    proposals : Proposals
    elimination_margin : float
        A candidate is eliminated if its discounted loss is more than this many nats above the leader's.
    """

    def __init__(
        self, entries: list[Entry[Setting, Model]], proposals: Proposals[Setting, Model], elimination_margin: float
    ) -> None:
        self.entries, self._proposals, self.elimination_margin = entries, proposals, elimination_margin
        self.leader = self.entries[0]
        self.eliminated: dict[Setting, int] = {}

    def review(self, seen: int, most: int) -> None:
        """Choose the leader, eliminate candidates far behind it, and let others enter until there are ``most``."""
        self.entries.sort(key=lambda entry: entry.evidence.discounted_loss)
        self.leader = self.entries[0]
        limit = self.leader.evidence.discounted_loss + self.elimination_margin
        self._eliminate([entry for entry in self.entries if entry.evidence.discounted_loss > limit], seen)
        urgent = self._due(self._proposals.urgent(self, seen), seen)
        exploratory = self._due(self._proposals.exploratory(self, seen), seen)
        places = most - bool(exploratory)
        self._eliminate(self.entries[max(1, places - len(urgent)) :], seen)
        evidence = self.leader.evidence
        for setting in urgent + self._due(self._proposals.neighbours(self, seen), seen):
            self._enter(setting, evidence.with_handicap(TUNING.handicap), places, seen)
        behind = TUNING.exploratory_handicap * (self.elimination_margin - TUNING.fading / 2)
        for setting in exploratory:
            self._enter(setting, evidence.at_every_temperature(behind), most, seen)

    def _enter(self, setting: Setting, evidence: Evidence, places: int, seen: int) -> None:
        if len(self.entries) < places and setting not in (entry.setting for entry in self.entries):
            self.eliminated.pop(setting, None)
            self.entries.append(Entry(setting, self._proposals.begin(setting, self.leader.model, seen), evidence))

    def _due(self, settings: Iterable[Setting], seen: int) -> list[Setting]:
        """The settings that are not running and were not eliminated recently."""
        running = {entry.setting for entry in self.entries}
        return [
            setting
            for setting in settings
            if setting not in running and seen >= TUNING.comeback * self.eliminated.get(setting, 0)
        ]

    def weights(self) -> list[float]:
        """The weight of each candidate in the mixture.

        Weights are equal without evidence. A candidate that is far ahead has all the weight.
        """
        # Between two reviews another candidate may overtake the leader.
        best = min(entry.evidence.discounted_loss for entry in self.entries)
        behind = [entry.evidence.discounted_loss - best for entry in self.entries]
        least = max(TUNING.least_weight, math.exp(-TUNING.trust * (self.elimination_margin - TUNING.fading)))
        weights = [weight if (weight := math.exp(-TUNING.trust * nats)) > least else 0.0 for nats in behind]
        return [weight / sum(weights) for weight in weights]

    def shares(self) -> list[float]:
        """The factor of each candidate's kernel in the mixture.

        It is the candidate's weight times the ratio of the leader's temperature to its own. A prediction is a
        difference of squared distances divided by a temperature, so kernels with different temperatures have different
        scales. The ratio brings all kernels to the leader's scale.
        """
        temperature = self.leader.evidence.temperature
        pairs = zip(self.entries, self.weights(), strict=True)
        return [weight * temperature / entry.evidence.temperature for entry, weight in pairs]

    def _eliminate(self, entries: list[Entry[Setting, Model]], seen: int) -> None:
        for entry in entries:
            self.eliminated[entry.setting] = seen
            self.entries.remove(entry)

    def table(self) -> list[Candidate]:
        """All settings: running candidates from best to worst, then the eliminated ones."""
        rows: list[Candidate] = []
        # Sorted by current evidence; at the last review another candidate may have led.
        for entry, weight in sorted(zip(self.entries, self.weights(), strict=True), key=lambda pair: -pair[1]):
            status = "runs" if rows else "leads"
            rows.append(Candidate(_fields(entry.setting), weight, entry.evidence.loss, entry.evidence.error, status))
        for setting, seen in self.eliminated.items():
            rows.append(Candidate(_fields(setting), 0.0, math.nan, math.nan, f"eliminated after {seen} answers"))
        return rows

    def pack(self, arrays_of: Callable[[Model], Mapping[str, NDArray[Any]]]) -> Packed:
        """The whole state, as arrays and JSON values."""
        arrays: Arrays = {}
        for i, entry in enumerate(self.entries):
            arrays |= prefixed(f"candidate{i}.evidence", entry.evidence.arrays())
            arrays |= prefixed(f"candidate{i}.model", arrays_of(entry.model))
        return arrays, {
            "candidates": [list(entry.setting) for entry in self.entries],
            "leader": self.entries.index(self.leader),
            "eliminated": [[list(setting), seen] for setting, seen in self.eliminated.items()],
        }

    def restore(
        self,
        arrays: Arrays,
        meta: dict[str, Any],
        setting_of: Callable[..., Setting],
        model_of: Callable[[Arrays, Setting], Model],
    ) -> None:
        """Replace the candidates with the packed ones."""
        discount = self.leader.evidence.discount
        self.entries = []
        for i, fields in enumerate(meta["candidates"]):
            setting = setting_of(*fields)
            model = model_of(under(f"candidate{i}.model", arrays), setting)
            evidence = Evidence.from_arrays(under(f"candidate{i}.evidence", arrays), discount)
            self.entries.append(Entry(setting, model, evidence))
        self.leader = self.entries[meta["leader"]]
        self.eliminated = {setting_of(*fields): seen for fields, seen in meta["eliminated"]}


def next_review(seen: int, share: float) -> int:
    """The number of answers at the next review: ``seen`` plus a share of it, at least 5 more."""
    return seen + max(5, math.ceil(min(share * seen, 1e15)))


def beside(values: tuple[Number, ...], value: Number) -> list[Number]:
    """The next smaller and the next larger of the values, where they exist."""
    below = [other for other in values if other < value]
    above = [other for other in values if other > value]
    return below[-1:] + above[:1]


def _fields(setting: Any) -> dict[str, float]:
    return dict(setting._asdict())

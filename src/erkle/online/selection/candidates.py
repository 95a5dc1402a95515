"""Candidates that compete: the best predictor leads, candidates far behind are eliminated, and new ones enter.

All decisions are made at reviews, from predictions that were made before the answers were known. A new candidate
starts with the leader's loss plus a handicap, so it overtakes the leader only if it predicts better from then on.
"""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from erkle.answer_models import AnswerModel
from erkle.npz_files import Arrays, Packed, prefixed, under
from erkle.online.selection.evidence import Evidence

Floats = NDArray[np.float64]
Ids = NDArray[np.int64] | NDArray[np.int32]
Setting = TypeVar("Setting", bound=tuple[Any, ...])
Model = TypeVar("Model")
Value = TypeVar("Value", int, float, str)


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
    # Number of answers that the scale of a candidate's decision values is measured on.
    scale_answers: int = 2000
    # Candidates with a smaller scale know next to nothing: a strong ridge has shrunk their fits to a point.
    least_scale: float = 1e-3
    # An eliminated setting may be tried again once the number of answers has grown by this factor.
    comeback: float = 1.5


TUNING = SelectionTuning()

# Answer models of settings, in words; see `FitSetting`.
_ANSWER_MODELS = {"ratio": "ratios of distances", "squares": "squared distances", "estimated": "estimated"}


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
        Mean loss in nats. Each answer is predicted before it is learned, and recent answers count most. NaN if
        eliminated.
    error : float
        Share of answers that it predicted wrongly. Recent answers count most. NaN if eliminated.
    status : str
        "leads", "runs" or "eliminated after N answers".
    answer_model : AnswerModel or None
        How the distances of the candidate become answers; None if eliminated.

    Examples
    --------
    >>> from erkle import AnswerModel
    >>> print(Candidate({"rank": 5, "ridge": 0.1}, 0.7, 0.41, 0.19, "leads", AnswerModel(2.0, 0.4, 0.04)))
    rank 5, ridge 0.1: leads with weight 0.70. People seem to compare distances (power 0.4); about 4 % of answers are
    slips.
    """

    setting: dict[str, float | str]
    weight: float
    loss: float
    error: float
    status: str
    answer_model: AnswerModel | None = None

    def __str__(self) -> str:
        if self.answer_model is None:
            return f"{self.described()}: {self.status}."
        return f"{self.described()}: {self.status} with weight {self.weight:.2f}. {self.answer_model}"

    def described(self) -> str:
        """The setting in words; shifts and features that are not used are left out.

        >>> fit = {"rank": 25, "ridge": 4.0, "shift": 0.0, "answers": "ratio"}
        >>> Candidate(fit, 0.7, 0.5, 0.2, "leads").described()
        'rank 25, ridge 4, answer model: ratios of distances'
        """
        numbers = {name: value for name, value in self.setting.items() if not isinstance(value, str)}
        unused = {name for name, value in numbers.items() if not value and name.startswith(("shift", "share of "))}
        words = [f"{name} {value:g}" for name, value in numbers.items() if name not in unused]
        if "answers" in self.setting:
            words.append(f"answer model: {_ANSWER_MODELS[str(self.setting['answers'])]}")
        return ", ".join(words)


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

    def protected(self, entries: "list[Entry[Setting, Model]]") -> "Iterable[Entry[Setting, Model]]":
        """Candidates that are never eliminated, among all of them from best to worst."""

    def credence(self, setting: Setting, seen: int) -> float:
        """A factor of the weight of a setting in the mixture: how plausible it is before evidence counts."""

    def begin(self, setting: Setting, model: Model, seen: int) -> Model:
        """The model that a new candidate starts with, given the model of the leader."""

    def answer_model(self, setting: Setting) -> AnswerModel | None:
        """The fixed answer model of a setting; None if the answer model is estimated."""

    def excess(self, setting: Setting, model: Model, T: Ids) -> Floats:
        """The decision values d²(a, b) - d²(a, c) of each row of T."""


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
        self.entries, self.proposals, self.elimination_margin = entries, proposals, elimination_margin
        self.leader = self.entries[0]
        self.eliminated: dict[Setting, int] = {}

    def review(self, seen: int, most: int) -> list[Entry[Setting, Model]]:
        """Choose the leader, eliminate candidates far behind it, and let others enter until there are ``most``.

        Returns the candidates that have entered.
        """
        # Lists and dictionaries are replaced, not changed, because copies share them.
        self.entries = sorted(self.entries, key=lambda entry: entry.evidence.discounted_loss)
        self.leader = self.entries[0]
        kept = {self.leader, *self.proposals.protected(self.entries)}
        limit = self.leader.evidence.discounted_loss + self.elimination_margin
        self._eliminate(
            [entry for entry in self.entries if entry not in kept and entry.evidence.discounted_loss > limit], seen
        )
        urgent = self._due(self.proposals.urgent(self, seen), seen)
        exploratory = self._due(self.proposals.exploratory(self, seen), seen)
        places = most - bool(exploratory)
        others = [entry for entry in self.entries if entry not in kept]
        self._eliminate(others[max(0, places - len(urgent) - len(kept)) :], seen)
        before = len(self.entries)
        for setting in urgent + self._due(self.proposals.neighbours(self, seen), seen):
            self._enter(setting, TUNING.handicap, places, seen)
        behind = TUNING.exploratory_handicap * (self.elimination_margin - TUNING.fading / 2)
        for setting in exploratory:
            self._enter(setting, behind, most, seen)
        return self.entries[before:]

    def copy(self) -> Self:
        """A copy whose entries can get other settings and models. Evidence is shared."""
        other = copy.copy(self)
        other.entries = [copy.copy(entry) for entry in self.entries]
        other.leader = other.entries[self.entries.index(self.leader)]
        return other

    def _enter(self, setting: Setting, handicap: float, places: int, seen: int) -> None:
        if len(self.entries) < places and setting not in (entry.setting for entry in self.entries):
            self.eliminated = {other: when for other, when in self.eliminated.items() if other != setting}
            fixed = self.proposals.answer_model(setting)
            evidence = self.leader.evidence.copy(handicap, fixed)
            if fixed is None:
                evidence.estimate()
            self.entries.append(Entry(setting, self.proposals.begin(setting, self.leader.model, seen), evidence))

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

        Weights are equal without evidence. A candidate that is far ahead has all the weight. A new candidate has none
        until it has predicted an answer.
        """
        tried = any(entry.evidence.n_own for entry in self.entries)
        losses = [
            entry.evidence.discounted_loss if entry.evidence.n_own or not tried else math.inf for entry in self.entries
        ]
        # Since the last review another candidate may have overtaken the leader.
        behind = [loss - min(losses) for loss in losses]
        least = max(TUNING.least_weight, math.exp(-TUNING.trust * (self.elimination_margin - TUNING.fading)))
        weights = [weight if (weight := math.exp(-TUNING.trust * nats)) > least else 0.0 for nats in behind]
        pairs = zip(weights, self.entries, strict=True)
        weights = [weight * self.proposals.credence(entry.setting, entry.evidence.n_answers) for weight, entry in pairs]
        return [weight / sum(weights) for weight in weights]

    def shares(self, T: Ids) -> list[float]:
        """The factor of each candidate's kernel in the mixture, given some answers T.

        It is the candidate's weight times the ratio of the leader's scale to its own. Kernels with different answer
        models have different scales; the ratio brings all of them to the leader's scale.
        """
        leading = self.scale(self.leader, T)
        if leading == 0.0:
            return self.weights()
        scales = [self.scale(entry, T) for entry in self.entries]
        pairs = zip(self.weights(), scales, strict=True)
        return [weight * leading / scale if scale > 0.0 else 0.0 for weight, scale in pairs]

    def scale(self, entry: Entry[Setting, Model], T: Ids) -> float:
        """The root mean square of a candidate's decision values for the latest of the answers T.

        It is 0 if they are so small that the candidate knows next to nothing.
        """
        if not len(T):
            return 0.0
        excess = self.proposals.excess(entry.setting, entry.model, T[-TUNING.scale_answers :])
        scale = math.sqrt(float(np.mean(excess**2)))
        return scale if scale > TUNING.least_scale else 0.0

    def _eliminate(self, entries: list[Entry[Setting, Model]], seen: int) -> None:
        self.eliminated = self.eliminated | {entry.setting: seen for entry in entries}
        self.entries = [entry for entry in self.entries if entry not in entries]

    def table(self) -> list[Candidate]:
        """All settings: running candidates from best to worst, then the eliminated ones."""
        rows: list[Candidate] = []
        # Sorted by current evidence; at the last review another candidate may have led.
        for entry, weight in sorted(zip(self.entries, self.weights(), strict=True), key=lambda pair: -pair[1]):
            status = "runs" if rows else "leads"
            loss, error, model = entry.evidence.loss, entry.evidence.error, entry.evidence.answer_model
            rows.append(Candidate(_fields(entry.setting), weight, loss, error, status, model))
        for setting, seen in self.eliminated.items():
            rows.append(Candidate(_fields(setting), 0.0, math.nan, math.nan, f"eliminated after {seen} answers"))
        # Settings name only the features that they use, but all rows of a table have the same columns.
        names = dict.fromkeys(name for row in rows for name in row.setting)
        return [row._replace(setting={name: row.setting.get(name, 0.0) for name in names}) for row in rows]

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
        fixed = self.proposals.answer_model
        self.entries = []
        for i, fields in enumerate(meta["candidates"]):
            setting = setting_of(*fields)
            model = model_of(under(f"candidate{i}.model", arrays), setting)
            evidence = Evidence.from_arrays(under(f"candidate{i}.evidence", arrays), discount, fixed(setting))
            self.entries.append(Entry(setting, model, evidence))
        self.leader = self.entries[meta["leader"]]
        self.eliminated = {setting_of(*fields): seen for fields, seen in meta["eliminated"]}


def next_review(seen: int, share: float) -> int:
    """The number of answers at the next review: ``seen`` plus a share of it, at least 5 more."""
    return seen + max(5, math.ceil(min(share * seen, 1e15)))


def steps(setting: Setting, axes: Mapping[str, tuple[Any, ...]]) -> Iterator[Setting]:
    """The settings that differ from ``setting`` by one step along one axis; axes are names of fields and their values.

    >>> class Point(NamedTuple):
    ...     x: int
    ...     y: str
    >>> [tuple(step) for step in steps(Point(2, "low"), {"y": ("low", "high"), "x": (1, 2, 5)})]
    [(2, 'high'), (1, 'low'), (5, 'low')]
    """
    for name, values in axes.items():
        for value in next_values(values, getattr(setting, name)):
            yield cast(Any, setting)._replace(**{name: value})


def next_values(values: tuple[Value, ...], value: Value) -> tuple[Value, ...]:
    """The values just before and just after ``value``, where they exist.

    A number need not be among the values if these rise or fall.
    """
    if value in values:
        place = values.index(value)
        return values[max(0, place - 1) : place] + values[place + 1 : place + 2]
    fall = values[:1] > values[-1:]
    place = sum((other > value) if fall else (other < value) for other in values)
    return values[max(0, place - 1) : place + 1]


def _fields(setting: Any) -> dict[str, float | str]:
    """The fields of a setting by name; pairs of names and numbers become fields of their own."""
    fields: dict[str, float | str] = {}
    for name, value in setting._asdict().items():
        fields |= {f"share of {part}": share for part, share in value} if isinstance(value, tuple) else {name: value}
    return fields

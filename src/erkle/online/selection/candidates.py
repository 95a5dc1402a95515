"""A field of candidates: the one whose predictions have been best leads, hopeless ones retire, neighbours enter.

Everything is decided at reviews, from what judges have heard of predictions made before the answers were known. A
newcomer inherits the leader's judgement with a handicap, so that from then on only their difference counts.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from erkle.online.selection.evidence import Judge

__all__ = ["Candidate", "Entry", "Field", "next_review"]

Setting = TypeVar("Setting", bound=tuple[Any, ...])
Model = TypeVar("Model")

# Nats of discounted evidence by which a newcomer begins behind the leader; and those before retiring at which a
# candidate counts for nothing any more. A stranger comes to the midst of these if it is as good as the leader until
# the next review, by which a quarter of what it began with is discounted.
_HANDICAP, _VERGE, _MELTS = 1.0, 1.0, 1.3
# How much a nat counts for in a mixture (1 would be Bayes, but predictions depend on each other), and the weight, as a
# share of the largest, below which a candidate counts for nothing even if it is far from retiring.
_TRUST, _LEAST_WEIGHT = 0.2, 0.05
# A retired setting may come back when there are so many times as many answers.
_COMEBACK = 1.5


class Entry(Generic[Setting, Model]):
    """A candidate: its setting, what it has learned, and what its judge has heard."""

    def __init__(self, setting: Setting, model: Model, judge: Judge) -> None:
        self.setting = setting
        self.model = model
        self.judge = judge


class Candidate(NamedTuple):
    """A row of ``selection_``."""

    setting: dict[str, float]
    weight: float
    loss: float
    error: float
    status: str


class Field(Generic[Setting, Model]):
    """Candidates side by side, ``most`` at once; one that is ``hopeless`` nats behind retires.

    ``neighbours`` of the leader enter where there is room. Those that are ``pressing`` do so in the place of the last.
    ``strangers`` have little in common with it: one enters in the place of the last, others if there is still room, and
    those that are worse than the leader from then on retire at the next review.
    """

    def __init__(
        self,
        entries: Iterable[Entry[Setting, Model]],
        neighbours: Callable[[Entry[Setting, Model]], Iterable[Setting]],
        most: int,
        hopeless: float,
        pressing: Callable[[Entry[Setting, Model]], Iterable[Setting]] = lambda leader: (),
        strangers: Callable[[Entry[Setting, Model]], Iterable[Setting]] = lambda leader: (),
    ) -> None:
        self.entries, self.most, self.hopeless = list(entries), most, hopeless
        self.leader = self.entries[0]
        self.retired: dict[Setting, int] = {}
        self._neighbours, self._pressing, self._strangers = neighbours, pressing, strangers

    def review(self, seen: int, enter: Callable[[Setting, Entry[Setting, Model]], Model]) -> None:
        """Choose the leader, retire those that are far behind, and let neighbours of the leader in."""
        self.entries.sort(key=lambda entry: entry.judge.evidence)
        self.leader = self.entries[0]
        limit = self.leader.judge.evidence + self.hopeless
        self._retire([entry for entry in self.entries if entry.judge.evidence > limit], seen)
        pressing, strangers = (self._due(who(self.leader), seen) for who in (self._pressing, self._strangers))
        places = self.most - bool(strangers)
        self._retire(self.entries[max(1, places - len(pressing)) :], seen)
        judge = self.leader.judge
        for setting in pressing + self._due(self._neighbours(self.leader), seen):
            self._enter(setting, judge.successor(_HANDICAP), places, enter)
        for setting in strangers:
            self._enter(setting, judge.stranger(_MELTS * (self.hopeless - _VERGE / 2)), self.most, enter)

    def _enter(
        self, setting: Setting, judge: Judge, places: int, enter: Callable[[Setting, Entry[Setting, Model]], Model]
    ) -> None:
        if len(self.entries) < places and setting not in (entry.setting for entry in self.entries):
            self.retired.pop(setting, None)
            self.entries.append(Entry(setting, enter(setting, self.leader), judge))

    def _due(self, settings: Iterable[Setting], seen: int) -> list[Setting]:
        """Those that do not run and have not retired lately."""
        running = {entry.setting for entry in self.entries}
        return [
            setting
            for setting in settings
            if setting not in running and seen >= _COMEBACK * self.retired.get(setting, 0)
        ]

    def weights(self) -> list[float]:
        """What each candidate counts for in a mixture: all alike without evidence, the leader alone if it is clear."""
        # Between two reviews another one may be better than the leader.
        best = min(entry.judge.evidence for entry in self.entries)
        behind = [entry.judge.evidence - best for entry in self.entries]
        least = max(_LEAST_WEIGHT, math.exp(-_TRUST * (self.hopeless - _VERGE)))
        weights = [weight if (weight := math.exp(-_TRUST * nats)) > least else 0.0 for nats in behind]
        return [weight / sum(weights) for weight in weights]

    def shares(self) -> list[float]:
        """What each candidate's kernel is multiplied with in a mixture: its weight, at the leader's temperature."""
        temperature = self.leader.judge.temperature
        pairs = zip(self.entries, self.weights(), strict=True)
        return [weight * temperature / entry.judge.temperature for entry, weight in pairs]

    def _retire(self, hopeless: list[Entry[Setting, Model]], seen: int) -> None:
        for entry in hopeless:
            self.retired[entry.setting] = seen
            self.entries.remove(entry)

    def candidates(self) -> list[Candidate]:
        """All settings, the best first, and those that have been given up."""
        rows: list[Candidate] = []
        # By evidence as it is now: at the last review another one may have led.
        for entry, weight in sorted(zip(self.entries, self.weights(), strict=True), key=lambda pair: -pair[1]):
            status = "runs" if rows else "leads"
            rows.append(Candidate(_fields(entry.setting), weight, entry.judge.loss, entry.judge.error, status))
        for setting, seen in self.retired.items():
            rows.append(Candidate(_fields(setting), 0.0, math.nan, math.nan, f"retired after {seen} answers"))
        return rows


def next_review(seen: int, share: float) -> int:
    """The number of answers at which to look again: a share more than now."""
    return seen + max(5, math.ceil(min(share * seen, 1e15)))


def _fields(setting: Any) -> dict[str, float]:
    return dict(setting._asdict())

"""What a researcher watches: numbers, curves and a map, each counted from columns in memory."""

import math

import numpy as np
from pydantic import BaseModel

from erkle.online.forecast import Forecast, forecast
from erkle.online.record import Curve
from erkle.service.dashboard.cache import Cache
from erkle.service.learning import Learning, Published
from erkle.store import Store
from erkle.store.clock import now

_MINUTE = 60_000_000
_N_MINUTES = 30
# Minutes after an answer during which a participant counts as active.
_ACTIVE = 5
# Held-out answers below which nothing is forecast.
_FEW = 20


class Learner(BaseModel):
    """Whether the learner is up to date, whether this process has it, how far it is and what it has chosen."""

    ready: bool
    own: bool
    sequence: int
    chosen: str


class Map(BaseModel):
    """A place in the plane for each object."""

    sequence: int
    points: list[tuple[float, float]]


class Point(BaseModel):
    """The share of wrong predictions around n answers."""

    n: float
    error: float
    answers: int


class Curves(BaseModel):
    """Errors before learning: of all questions, and of those drawn at random."""

    prequential: list[Point]
    held_out: list[Point]


class Stopping(BaseModel):
    """How many more answers the wanted error takes; null is no number."""

    sentence: str
    target: float
    error: float
    error_low: float
    error_high: float
    more: float | None
    low: float | None
    high: float | None


class StrategyCounts(BaseModel):
    """How often a strategy was asked, and answered."""

    strategy: str
    kind: str
    asked: int
    answered: int


class Sums(BaseModel):
    """What is counted in the tables of the database, now and then."""

    state: str
    participants: int
    skips: int
    refusals: int
    strategies: list[StrategyCounts]


class Live(Sums):
    """Everything that changes while people answer."""

    answers: int
    learned: int
    active_participants: int
    pending: int
    per_minute: list[int]
    learner: Learner
    map: Map | None
    curves: Curves
    stopping: Stopping | None


class Dashboard:
    """The dashboard of one study. Reading it changes nothing that is learned or saved.

    Parameters
    ----------
    store : Store
    learning : Learning
    """

    def __init__(self, store: Store, learning: Learning) -> None:
        self._store, self._learning = store, learning
        self._map: tuple[Published, Map] | None = None
        self._sums, self._stopping = Cache(self._summed), Cache(self._forecast)

    def live(self, target: float) -> Live:
        """Everything that changes while people answer; ``target`` is the error that is wanted."""
        learning, published = self._learning, self._learning.published
        view = published and published.view
        with learning.columns.lock:
            answered_at, participant = learning.columns.answered_at, learning.columns.participant
        age = (now() - answered_at) // _MINUTE
        recent = age[(age >= 0) & (age < _N_MINUTES)]
        return Live(
            **dict(self._sums.value()),
            answers=len(age),
            learned=view.n_learned if view else 0,
            active_participants=len(np.unique(participant[age < _ACTIVE])),
            pending=len(learning.pending),
            per_minute=np.bincount(recent, minlength=_N_MINUTES)[::-1].tolist(),
            learner=Learner(
                ready=learning.ready,
                own=learning.owns,
                sequence=view.sequence if view else 0,
                chosen=view.chosen if view else "",
            ),
            map=published and self._rounded_map(published),
            curves=Curves(prequential=_points(view and view.prequential), held_out=_points(view and view.held_out)),
            stopping=self._stopping.value(target),
        )

    def _rounded_map(self, published: Published) -> Map | None:
        """The map as JSON holds it, made once for all who watch; None before the first answer."""
        if published.map is None:
            return None
        kept = self._map
        if kept is None or kept[0] is not published:
            points = np.round(published.map, 4).tolist()
            kept = self._map = published, Map(sequence=published.view.sequence, points=points)
        return kept[1]

    def _summed(self) -> Sums:
        study = self._store.studies.get(self._learning.study)
        rows = self._store.questions.strategies(study.id)
        strategies = [dict(zip(StrategyCounts.model_fields, row, strict=True)) for row in rows]
        counts = self._store.studies.counts(study.id)._asdict()
        return Sums.model_validate({"state": study.state, "strategies": strategies, **counts})

    def _forecast(self, target: float) -> Stopping | None:
        """How many more answers the wanted error takes, by the questions that were drawn at random."""
        view = self._learning.view
        if view is None or view.held_out.n_answers.sum() < _FEW:
            return None
        told: Forecast = forecast(view.held_out, target, view.n_learned)
        numbers = {name: value if math.isfinite(value) else None for name, value in told._asdict().items()}
        return Stopping.model_validate({"sentence": str(told), **numbers})


def _points(curve: Curve | None) -> list[Point]:
    if curve is None:
        return []
    rows = zip(curve.n_learned.tolist(), curve.n_answers.tolist(), curve.n_wrong.tolist(), strict=True)
    return [Point(n=n, error=wrong / answers, answers=answers) for n, answers, wrong in rows]

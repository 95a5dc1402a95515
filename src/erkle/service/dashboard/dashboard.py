"""The dashboard's numbers, curves and map.

Answers are counted from columns in memory, after new answers were read from the log. So the counts are right even if
the learner fails.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter

from erkle.features import FeatureWorth
from erkle.online.forecast import forecast
from erkle.online.record import Curve
from erkle.service.dashboard.answering import Answering
from erkle.service.dashboard.cache import Cache
from erkle.service.learning import Learning, Published
from erkle.service.learning.choosing import split_fallback
from erkle.service.learning.stall import Stall
from erkle.store import Store
from erkle.store.clock import now

# Microseconds in a minute.
_MINUTE = 60_000_000
# Minutes that the chart of the pace shows.
_N_MINUTES = 30
# Seconds after a question or an answer for which a participant counts as active.
ACTIVE_SECONDS = 300.0
# The curve before the first answer.
_NOTHING = Curve.of(np.zeros(0, np.int64), np.zeros(0, np.bool_))


class StallOut(BaseModel):
    """Why the model stands still, and since when (milliseconds since 1970): ``database``, ``memory`` or ``error``."""

    since: int
    reason: str
    sentence: str


class Learner(BaseModel):
    """The state of the learner.

    ``own`` is whether this process runs the learner, ``sequence`` the number of the last answer that it has read,
    ``chosen`` the setting that it has chosen, and ``stall`` why the model stands still, or null if it does not.
    """

    ready: bool
    own: bool
    sequence: int
    chosen: str
    stall: StallOut | None


class Map(BaseModel):
    """Two-dimensional coordinates of each object."""

    sequence: int
    points: list[tuple[float, float]]


class Point(BaseModel):
    """The share of wrong predictions at about n answers."""

    n: float
    error: float
    answers: int


class Curves(BaseModel):
    """Errors of predictions made before learning: for all questions, and for held-out random questions."""

    prequential: list[Point]
    held_out: list[Point]


class TooEarlyOut(BaseModel):
    """There are too few answers to estimate the error: how many there are, and the least number of each kind."""

    kind: Literal["too-early"]
    sentence: str
    target: float
    n_learned: int
    least_learned: int
    n_predicted: int
    least_predicted: int


class ForecastOut(BaseModel):
    """The error now, and how many more answers the target error needs; null if there is no finite number."""

    kind: Literal["forecast"]
    sentence: str
    target: float
    error: float
    error_low: float
    error_high: float
    more: float | None
    low: float | None
    high: float | None


Stopping = Annotated[TooEarlyOut | ForecastOut, Field(discriminator="kind")]
_STOPPING: TypeAdapter[TooEarlyOut | ForecastOut] = TypeAdapter(Stopping)


class StrategyCounts(BaseModel):
    """How many questions a strategy chose, and how many of them were answered.

    ``fallback`` is null, or why random questions replaced those of the strategy: ``not-ready`` or ``failed``.
    """

    strategy: str
    fallback: str | None
    kind: str
    asked: int
    answered: int


class StoredCounts(BaseModel):
    """What is counted in the database. It may be a moment old.

    Active participants have answered, skipped or been asked a question in the last five minutes. Unfinished ones have
    a question that they can still answer. Those who are excluded or have finished are neither.
    """

    state: str
    participants: int
    active_participants: int
    unfinished_participants: int
    skips: int
    refusals: int
    strategies: list[StrategyCounts]


class FeatureOut(BaseModel):
    """What a block of features is worth: a sentence, and the numbers behind it.

    ``verdict`` is "helps", "does not help", "makes no clear difference" or "is not judged yet". ``share`` is the share
    of the prior variance that the block explains in the best candidate, ``weight`` that of the candidates that use it
    in the mixture that predicts. The errors are null if no such candidate runs.
    """

    name: str
    n_objects: int
    verdict: str
    sentence: str
    share: float
    weight: float
    error_with: float | None
    error_without: float | None

    @classmethod
    def of(cls, worth: FeatureWorth) -> "FeatureOut":
        """Return what the API says of the worth of a block."""
        values = {name: None if value != value else value for name, value in worth._asdict().items()}
        return cls.model_validate({**values, "verdict": worth.verdict, "sentence": str(worth)})


class Live(StoredCounts):
    """Everything that changes while participants answer."""

    answers: int
    learned: int
    pending: int
    per_minute: list[int]
    learner: Learner
    map: Map | None
    curves: Curves
    stopping: Stopping
    answering: Answering
    features: list[FeatureOut]


class Dashboard:
    """The dashboard of one study. Reading it never changes what is learned or saved.

    Parameters
    ----------
    store : Store
    learning : Learning
    """

    def __init__(self, store: Store, learning: Learning) -> None:
        self._store, self._learning = store, learning
        self._map: tuple[Published, Map] | None = None
        self._stored_counts, self._stopping = Cache(self._count), Cache(self._forecast)

    def live(self, target: float) -> Live:
        """Return everything that changes while participants answer; ``target`` is the target error."""
        learning, published = self._learning, self._learning.published
        view = published and published.view
        # After the view was taken, so that an answer that is in the map is also counted.
        learning.catch_up()
        with learning.columns.lock:
            answered_at = learning.columns.answered_at
        age = (now() - answered_at) // _MINUTE
        recent = age[(age >= 0) & (age < _N_MINUTES)]
        return Live(
            **dict(self._stored_counts.value()),
            answers=len(age),
            learned=view.n_learned if view else 0,
            pending=len(learning.pending),
            per_minute=np.bincount(recent, minlength=_N_MINUTES)[::-1].tolist(),
            learner=Learner(
                ready=learning.ready,
                own=learning.owns,
                sequence=view.sequence if view else 0,
                chosen=view.chosen if view else "",
                stall=_stall(learning.stall),
            ),
            map=published and self._rounded_map(published),
            curves=Curves(prequential=_points(view and view.prequential), held_out=_points(view and view.held_out)),
            stopping=self.stopping(target),
            answering=Answering.of(view),
            features=[FeatureOut.of(worth) for worth in view.features] if view else [],
        )

    def stopping(self, target: float) -> TooEarlyOut | ForecastOut:
        """Return the error now and how many more answers the target error needs; it may be a moment old."""
        return self._stopping.value(target)

    def _rounded_map(self, published: Published) -> Map | None:
        """Return the map as JSON holds it, rounded once per published map; None as long as there is none."""
        if published.map is None:
            return None
        cached = self._map
        if cached is None or cached[0] is not published:
            points = np.round(published.map, 4).tolist()
            cached = self._map = published, Map(sequence=published.view.sequence, points=points)
        return cached[1]

    def _count(self) -> StoredCounts:
        study = self._store.studies.get(self._learning.study)
        strategies = []
        for label, kind, asked, answered in self._store.questions.strategies(study.id):
            strategy, fallback = split_fallback(label)
            row = StrategyCounts(strategy=strategy, fallback=fallback, kind=kind, asked=asked, answered=answered)
            strategies.append(row)
        counts = self._store.studies.counts(study.id)._asdict()
        presence = self._store.participants.presence(study.id, ACTIVE_SECONDS)
        here = {"active_participants": presence.active, "unfinished_participants": presence.unfinished}
        return StoredCounts.model_validate({"state": study.state, "strategies": strategies, **counts, **here})

    def _forecast(self, target: float) -> TooEarlyOut | ForecastOut:
        """The error on held-out questions, and how many more answers the target error needs."""
        view = self._learning.view
        curve, n_learned, lapse = (view.held_out, view.n_learned, view.lapse.low) if view else (_NOTHING, 0, 0.0)
        told = forecast(curve, self._learning.n_objects, n_learned, lapse, target)
        return _STOPPING.validate_python({"target": target, **told.record()})


def _stall(stall: Stall | None) -> StallOut | None:
    return stall and StallOut(since=stall.since // 1000, reason=stall.reason, sentence=stall.sentence)


def _points(curve: Curve | None) -> list[Point]:
    if curve is None:
        return []
    rows = zip(curve.n_learned.tolist(), curve.n_answers.tolist(), curve.n_wrong.tolist(), strict=True)
    return [Point(n=n, error=wrong / answers, answers=answers) for n, answers, wrong in rows]

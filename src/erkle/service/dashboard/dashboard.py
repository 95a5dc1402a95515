"""What a researcher watches: numbers, curves, and a map that does not jump, each counted from columns in memory."""

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.embedding import align, principal
from erkle.online.forecast import Forecast, forecast
from erkle.online.record import Curve
from erkle.service.dashboard.cache import Seldom
from erkle.service.learning import Learning, View
from erkle.store import Store
from erkle.store.clock import now

__all__ = ["Board"]

_MINUTE = 60_000_000
_N_MINUTES = 30
# Held-out answers below which nothing is forecast.
_FEW = 20
# By how much of the longest axis another must be longer than one that was shown, to be shown in its place.
_INERTIA = 0.15

Floats = NDArray[np.float64]


class Board:
    """The dashboard of one study.

    Parameters
    ----------
    store : Store
    learning : Learning
    """

    def __init__(self, store: Store, learning: Learning) -> None:
        self._store, self.learning = store, learning
        self._lock = threading.Lock()
        self._map: dict[str, Any] | None = None
        self._sums, self._forecast = Seldom(self._summed), Seldom(self._forecasted)

    def live(self, target: float) -> dict[str, Any]:
        """Everything that changes while people answer."""
        view = self.learning.view
        return {
            **self._counts(),
            "per_minute": self._per_minute(),
            "pending": len(self.learning.pending),
            "learned": view.n_learned if view else 0,
            "learner": self._learner(view),
            "map": self.map(),
            "curves": {"prequential": _curve(view and view.prequential), "held_out": _curve(view and view.held_out)},
            "stopping": self._forecast.value(target),
        }

    def map(self) -> dict[str, Any] | None:
        """Coordinates in the plane, turned onto those that were shown before; None before the first answer."""
        view = self.learning.view
        if view is None or view.n_learned == 0:
            return None
        with self._lock:
            if self._map is None or self._map["sequence"] != view.sequence:
                self.learning.shown = shown = _plane(view, self.learning.shown)
                self._map = {"sequence": view.sequence, "points": np.round(shown, 4).tolist()}
            return self._map

    def _learner(self, view: View | None) -> dict[str, Any]:
        learning = self.learning
        return {
            "ready": learning.ready,
            "own": learning.owns,
            "sequence": view.sequence if view else 0,
            "chosen": view.chosen if view else "",
        }

    def _counts(self) -> dict[str, Any]:
        with self.learning.reading:
            columns = self.learning.columns
            active = len(np.unique(columns.participant[columns.answered_at > now() - 5 * _MINUTE]))
            answers = len(columns)
        return {**self._sums.value(), "answers": answers, "active_participants": active}

    def _summed(self) -> dict[str, Any]:
        """Sums over tables."""
        study, counts = self._store.studies.get(self.learning.study), self._store.studies.counts(self.learning.study)
        names = ("strategy", "kind", "asked", "answered")
        rows = self._store.questions.strategies(self.learning.study)
        return {
            "state": study.state,
            "participants": counts.participants,
            "skips": counts.skips,
            "refusals": counts.refusals,
            "strategies": [dict(zip(names, row, strict=True)) for row in rows],
        }

    def _forecasted(self, target: float) -> dict[str, Any] | None:
        """How many more answers the wanted error takes, by the questions that were drawn at random."""
        view = self.learning.view
        if view is None or view.held_out.n_answers.sum() < _FEW:
            return None
        told: Forecast = forecast(view.held_out, target, view.n_learned)
        numbers = {name: value if math.isfinite(value) else None for name, value in told._asdict().items()}
        return {"sentence": str(told), **numbers}

    def _per_minute(self) -> list[int]:
        with self.learning.reading:
            age = (now() - self.learning.columns.answered_at) // _MINUTE
        recent = age[(age >= 0) & (age < _N_MINUTES)]
        counts: list[int] = np.bincount(recent, minlength=_N_MINUTES)[::-1].tolist()
        return counts


def _plane(view: View, before: Floats | None) -> Floats:
    """The map in the plane, of mean length 1, that shows most of it; of two as good, the one that was shown before."""
    X = view.places - view.places.mean(axis=0)
    X = np.pad(X, ((0, 0), (0, max(0, 2 - X.shape[1]))))
    if before is not None and before.shape != (len(X), 2):
        before = None
    variances = X.T @ X
    if before is not None:
        # Axes that are almost as long change places from answer to answer: those shown before count for more.
        axes, strengths, _ = np.linalg.svd(X.T @ before)
        axes = axes[:, :2][:, strengths > 0.0]
        variances += _INERTIA * np.linalg.norm(variances, 2) * axes @ axes.T
    _, vectors = np.linalg.eigh(variances)
    Y = X @ vectors[:, :-3:-1]
    size = math.sqrt(float((Y**2).sum(axis=1).mean()))
    Y = Y / size if size > 0.0 else Y
    return principal(Y) if before is None else align(Y, before)


def _curve(curve: Curve | None) -> list[dict[str, float]]:
    if curve is None:
        return []
    rows = zip(curve.n_learned.tolist(), curve.n_answers.tolist(), curve.n_wrong.tolist(), strict=True)
    return [{"n": n, "error": wrong / answers, "answers": answers} for n, answers, wrong in rows]

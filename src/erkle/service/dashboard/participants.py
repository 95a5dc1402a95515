"""Those who take part, as a researcher judges them: how many answers, how fast, how attentive, how like the others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle import conflicts
from erkle.service.learning import Learning
from erkle.service.learning.columns import KINDS, Columns
from erkle.service.learning.fold import LEARNED
from erkle.store import Kind, Participant, Store

__all__ = ["disputed", "participants"]

_LEARNED = np.array([kind in LEARNED for kind in KINDS])
_CATCH, _REPEATED = map(KINDS.index, (Kind.CATCH, Kind.REPEATED))
# Answers below which nothing is said of how somebody agrees.
_FEW = 10
_AGREES_LITTLE, _CONTRADICTS = 0.6, 0.5


def participants(
    store: Store, learning: Learning, catches: set[tuple[int, int]], too_fast_ms: int
) -> list[dict[str, Any]]:
    """A row for each participant; ``catches`` are heads and right answers of catch questions."""
    skipped: dict[str, int] = {}
    for skip in store.answers.skips(learning.study):
        skipped[skip.participant] = skipped.get(skip.participant, 0) + 1
    people = store.participants.all(learning.study)
    with learning.reading:
        columns = learning.columns
        by_person = _places(columns)
        agrees = _agreement(learning, columns)
        return [
            _row(person, columns, by_person.get(person.id, np.empty(0, np.int64)), agrees, catches, too_fast_ms)
            | {"skips": skipped.get(person.id, 0)}
            for person in people
        ]


def disputed(learning: Learning, limit: int) -> list[dict[str, Any]]:
    """Questions that were answered both ways, the most evenly and most often first."""
    with learning.reading:
        columns = learning.columns
        T = columns.triplets(_LEARNED[columns.kind]).copy()
    found = conflicts.find(T, n_worst=len(T))
    # Of equal minorities the most even first, where `find` has the most answers first.
    order = np.lexsort((found.counts.sum(axis=1), -found.counts.min(axis=1)))[:limit]
    questions, counts = found.questions[order], found.counts[order]
    chances = np.full(len(questions), 0.5) if learning.view is None else learning.view.predict_proba(questions)[:, 1]
    return [
        {"head": head, "o1": o1, "o2": o2, "for_o1": for_o1, "for_o2": for_o2, "probability": chance}
        for (head, o1, o2), (for_o1, for_o2), chance in zip(
            questions.tolist(), counts.tolist(), np.round(chances, 4).tolist(), strict=True
        )
    ]


def _places(columns: Columns) -> dict[str, NDArray[np.int64]]:
    """Where in the columns the answers of each participant stand."""
    order = np.argsort(columns.participant, kind="stable")
    ends = np.searchsorted(columns.participant[order], np.arange(1, len(columns.participants) + 1))
    return dict(zip(columns.participants, np.split(order, ends[:-1]) if len(ends) else [], strict=True))


def _agreement(learning: Learning, columns: Columns) -> NDArray[np.bool_]:
    """Whether each answer is what the map says now."""
    if learning.view is None or not len(columns):
        return np.zeros(len(columns), np.bool_)
    return learning.view.decision_function(columns.triplets()) > 0.0


def _row(
    person: Participant,
    columns: Columns,
    places: NDArray[np.int64],
    agrees: NDArray[np.bool_],
    catches: set[tuple[int, int]],
    too_fast_ms: int,
) -> dict[str, Any]:
    learned = places[_LEARNED[columns.kind[places]]]
    caught = places[columns.kind[places] == _CATCH]
    wrong = sum((int(columns.head[i]), int(columns.near[i])) not in catches for i in caught)
    times = columns.response_ms[places][columns.response_ms[places] >= 0]
    row = {
        "id": person.id,
        "parameters": person.parameters,
        "standing": person.standing,
        "flagged": person.flagged,
        "joined_at": person.joined_at // 1000,
        "last_at": int(columns.answered_at[places].max()) // 1000 if len(places) else None,
        "answers": len(places),
        "median_ms": float(np.median(times)) if len(times) else None,
        "catch_asked": len(caught),
        "catch_wrong": wrong,
        "agreement": round(float(agrees[learned].mean()), 4) if len(learned) >= _FEW else None,
        "consistency": _consistency(columns, learned),
    }
    return {**row, "warnings": _warnings(row, times, too_fast_ms)}


def _consistency(columns: Columns, places: NDArray[np.int64]) -> float | None:
    """Of the questions that were put twice, the share that was answered the same way both times."""
    first: dict[tuple[int, int, int], int] = {}
    same = []
    for head, near, far, kind in zip(*columns.triplets(places).T.tolist(), columns.kind[places].tolist(), strict=True):
        key = (head, min(near, far), max(near, far))
        if kind == _REPEATED and key in first:
            same.append(first[key] == near)
        first.setdefault(key, near)
    return sum(same) / len(same) if same else None


def _warnings(row: dict[str, Any], times: NDArray[np.int64], too_fast_ms: int) -> list[str]:
    found = []
    if row["catch_wrong"]:
        found.append(f"{row['catch_wrong']} of {row['catch_asked']} catch questions wrong")
    if row["agreement"] is not None and row["agreement"] < _AGREES_LITTLE:
        found.append(f"agrees with the map in {row['agreement']:.0%} only")
    if row["consistency"] is not None and row["consistency"] < _CONTRADICTS:
        found.append(f"answers repeated questions the same way in {row['consistency']:.0%} only")
    if too_fast_ms and len(times) and (times < too_fast_ms).mean() > 0.2:
        found.append(f"{(times < too_fast_ms).mean():.0%} of the answers in less than {too_fast_ms} ms")
    return found

"""Participants as a researcher judges them: how many answers, how fast, how attentive, how like the others."""

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, JsonValue

from erkle import conflicts
from erkle.service.learning import Learning
from erkle.service.learning.columns import KINDS, Columns
from erkle.service.learning.fold import LEARNED
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.store import Kind, Participant, Skip, Store

_LEARNED = np.array([kind in LEARNED for kind in KINDS])
_CATCH, _REPEATED = map(KINDS.index, (Kind.CATCH, Kind.REPEATED))
# Answers below which nothing is said about how somebody agrees with the map.
_FEW = 10
# Share of answers that agree with the map below which there is a warning; half is chance.
_AGREES_LITTLE = 0.6
# Share of repeated questions answered the same way below which there is a warning; half is chance.
_CONTRADICTS = 0.5
# Share of answers that come too fast above which there is a warning.
_TOO_FAST = 0.2


class ParticipantRow(BaseModel):
    """Somebody who takes part, and what their answers look like."""

    id: str
    parameters: dict[str, JsonValue]
    standing: str
    flagged: bool
    warnings: list[str]
    joined_at: int
    last_at: int | None
    answers: int
    skips: int
    median_ms: float | None
    catch_asked: int
    catch_wrong: int
    agreement: float | None
    consistency: float | None


class DisputedQuestion(BaseModel):
    """A question that was answered both ways, and the learner's probability of o1."""

    head: int
    o1: int
    o2: int
    for_o1: int
    for_o2: int
    probability: float


def participant_rows(store: Store, learning: Learning, prepared: PreparedStudy) -> list[ParticipantRow]:
    """A row for each participant."""
    skips: dict[str, list[Skip]] = {}
    for skip in store.answers.skips(learning.study):
        skips.setdefault(skip.participant, []).append(skip)
    people = store.participants.all(learning.study)
    columns, nobody = learning.columns, np.empty(0, np.int64)
    with columns.lock:
        places, agrees = _places(columns), _agreement(learning, columns)
        return [
            _row(each, columns, places.get(each.id, nobody), agrees, skips.get(each.id, []), prepared)
            for each in people
        ]


def disputed_questions(learning: Learning, limit: int) -> list[DisputedQuestion]:
    """Questions that were answered both ways, the most evenly and most often first."""
    with learning.columns.lock:
        columns = learning.columns
        T = columns.triplets(_LEARNED[columns.kind]).copy()
    found = conflicts.find(T, n_worst=len(T))
    # Of equal minorities the most even first, where `find` has the most answers first.
    order = np.lexsort((found.counts.sum(axis=1), -found.counts.min(axis=1)))[:limit]
    questions, counts = found.questions[order], found.counts[order]
    chances = np.full(len(questions), 0.5) if learning.view is None else learning.view.predict_proba(questions)[:, 1]
    rows = zip(questions.tolist(), counts.tolist(), np.round(chances, 4).tolist(), strict=True)
    return [
        DisputedQuestion(head=head, o1=o1, o2=o2, for_o1=for_o1, for_o2=for_o2, probability=chance)
        for (head, o1, o2), (for_o1, for_o2), chance in rows
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
    skips: list[Skip],
    prepared: PreparedStudy,
) -> ParticipantRow:
    learned = places[_LEARNED[columns.kind[places]]]
    times = columns.response_ms[places][columns.response_ms[places] >= 0]
    catch_asked, catch_wrong = _catches(columns.triplets(places[columns.kind[places] == _CATCH]), skips, prepared)
    row = ParticipantRow(
        id=person.id,
        parameters=person.parameters,
        standing=person.standing,
        flagged=person.flagged,
        warnings=[],
        joined_at=person.joined_at // 1000,
        last_at=int(columns.answered_at[places].max()) // 1000 if len(places) else None,
        answers=len(places),
        skips=len(skips),
        median_ms=float(np.median(times)) if len(times) else None,
        catch_asked=catch_asked,
        catch_wrong=catch_wrong,
        agreement=round(float(agrees[learned].mean()), 4) if len(learned) >= _FEW else None,
        consistency=_consistency(columns, learned),
    )
    row.warnings = _warnings(row, times, prepared.settings.checks.too_fast_ms)
    return row


def _catches(answers: NDArray[np.int64], skips: list[Skip], prepared: PreparedStudy) -> tuple[int, int]:
    """Catch questions that were answered or skipped, and how many of them were failed.

    A question that is skipped counts as failed, as it does in `Course`. Catch questions are asked for no other reason,
    so a skip of one is known by its question.
    """
    is_failed = prepared.right.is_failed
    wrong = sum(is_failed((head, near, far), near) for head, near, far in answers.tolist())
    skipped = sum(is_failed((skip.anchor, skip.first, skip.second), None) for skip in skips)
    return len(answers) + skipped, wrong + skipped


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


def _warnings(row: ParticipantRow, times: NDArray[np.int64], too_fast_ms: int) -> list[str]:
    found = []
    if row.catch_wrong:
        found.append(f"{row.catch_wrong} of {row.catch_asked} catch questions wrong")
    if row.agreement is not None and row.agreement < _AGREES_LITTLE:
        found.append(f"agrees with the map in only {row.agreement:.0%} of the answers")
    if row.consistency is not None and row.consistency < _CONTRADICTS:
        found.append(f"answers only {row.consistency:.0%} of repeated questions the same way")
    if too_fast_ms and len(times) and (times < too_fast_ms).mean() > _TOO_FAST:
        found.append(f"{(times < too_fast_ms).mean():.0%} of the answers in less than {too_fast_ms} ms")
    return found

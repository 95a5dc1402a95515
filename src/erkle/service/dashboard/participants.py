"""What a researcher needs to judge participants: how many answers, how fast, how attentive, how consistent."""

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, JsonValue

from erkle import conflicts
from erkle.service.dashboard.answering import ShareOfSlips
from erkle.service.learning import Learning, View
from erkle.service.learning.columns import KINDS, Columns
from erkle.service.learning.fold import LEARNED
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.store import Kind, Participant, Skip, Store

_LEARNED = np.array([kind in LEARNED for kind in KINDS])
_CATCH, _REPEATED = map(KINDS.index, (Kind.CATCH, Kind.REPEATED))
# Least number of answers for a statement about how well a participant agrees with the map.
_FEW = 10
# Warn if less than this share of the answers agrees with the map; chance is 0.5.
_LOW_AGREEMENT = 0.6
# Warn if less than this share of repeated questions is answered the same way; chance is 0.5.
_LOW_CONSISTENCY = 0.5
# Warn if more than this share of the answers is too fast.
_TOO_FAST = 0.2


class ParticipantRow(BaseModel):
    """A participant, and what their answers look like.

    ``lapse`` is null if none of their answers are learned. ``at_random`` is whether they almost certainly answer at
    random.
    """

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
    lapse: ShareOfSlips | None
    at_random: bool


class DisputedQuestion(BaseModel):
    """A question that was answered both ways: how often each way, and the learner's probability of ``first``."""

    anchor: int
    first: int
    second: int
    for_first: int
    for_second: int
    probability: float


def participant_rows(store: Store, learning: Learning, prepared: PreparedStudy) -> list[ParticipantRow]:
    """Return a row for each participant."""
    skips: dict[str, list[Skip]] = {}
    for skip in store.answers.skips(learning.study):
        skips.setdefault(skip.participant, []).append(skip)
    people = store.participants.all(learning.study)
    learning.catch_up()
    columns, none = learning.columns, np.empty(0, np.int64)
    with columns.lock:
        rows_of, agrees = _rows_of_each(columns), _agreement(learning, columns)
        rows = [
            _row(each, columns, rows_of.get(each.id, none), agrees, skips.get(each.id, []), prepared) for each in people
        ]
    return _with_lapses(rows, learning.view)


def disputed_questions(learning: Learning, limit: int) -> list[DisputedQuestion]:
    """Return questions that were answered both ways, those with the largest minority first."""
    learning.catch_up()
    with learning.columns.lock:
        columns = learning.columns
        T = columns.triplets(_LEARNED[columns.kind]).copy()
    found = conflicts.find(T, n_worst=len(T))
    # Among equal minorities, the most even votes come first. In `find`, the most votes come first.
    order = np.lexsort((found.counts.sum(axis=1), -found.counts.min(axis=1)))[:limit]
    questions, counts = found.questions[order], found.counts[order]
    chances = np.full(len(questions), 0.5) if learning.view is None else learning.view.predict_proba(questions)[:, 1]
    rows = zip(questions.tolist(), counts.tolist(), np.round(chances, 4).tolist(), strict=True)
    return [
        DisputedQuestion(
            anchor=anchor, first=first, second=second, for_first=for_first, for_second=for_second, probability=chance
        )
        for (anchor, first, second), (for_first, for_second), chance in rows
    ]


def _rows_of_each(columns: Columns) -> dict[str, NDArray[np.int64]]:
    """Return the rows of the columns that belong to each participant."""
    order = np.argsort(columns.participant, kind="stable")
    ends = np.searchsorted(columns.participant[order], np.arange(1, len(columns.participants) + 1))
    return dict(zip(columns.participants, np.split(order, ends[:-1]) if len(ends) else [], strict=True))


def _agreement(learning: Learning, columns: Columns) -> NDArray[np.bool_]:
    """Return whether each answer agrees with the present map."""
    if learning.view is None or not len(columns):
        return np.zeros(len(columns), np.bool_)
    return learning.view.decision_function(columns.triplets()) > 0.0


def _row(
    person: Participant,
    columns: Columns,
    rows: NDArray[np.int64],
    agrees: NDArray[np.bool_],
    skips: list[Skip],
    prepared: PreparedStudy,
) -> ParticipantRow:
    learned = rows[_LEARNED[columns.kind[rows]]]
    times = columns.response_ms[rows][columns.response_ms[rows] >= 0]
    catch_asked, catch_wrong = _catches(columns.triplets(rows[columns.kind[rows] == _CATCH]), skips, prepared)
    row = ParticipantRow(
        id=person.id,
        parameters=person.parameters,
        standing=person.standing,
        flagged=person.flagged,
        warnings=[],
        joined_at=person.joined_at // 1000,
        last_at=int(columns.answered_at[rows].max()) // 1000 if len(rows) else None,
        answers=len(rows),
        skips=len(skips),
        median_ms=float(np.median(times)) if len(times) else None,
        catch_asked=catch_asked,
        catch_wrong=catch_wrong,
        agreement=round(float(agrees[learned].mean()), 4) if len(learned) >= _FEW else None,
        consistency=_consistency(columns, learned),
        lapse=None,
        at_random=False,
    )
    row.warnings = _warnings(row, times, prepared.settings.checks.too_fast_ms)
    return row


def _catches(answers: NDArray[np.int64], skips: list[Skip], prepared: PreparedStudy) -> tuple[int, int]:
    """Count the catch questions that were answered or skipped, and those that were failed.

    A skipped catch question counts as failed, as in `History`. A skip has no kind, but the question itself is enough:
    catch questions are never asked for another reason.
    """
    is_failed = prepared.catch_answers.is_failed
    wrong = sum(is_failed((anchor, near, far), near) for anchor, near, far in answers.tolist())
    skipped = sum(is_failed((skip.anchor, skip.first, skip.second), None) for skip in skips)
    return len(answers) + skipped, wrong + skipped


def _consistency(columns: Columns, rows: NDArray[np.int64]) -> float | None:
    """Return the share of repeated questions that were answered the same way as the first time."""
    first: dict[tuple[int, int, int], int] = {}
    same = []
    for anchor, near, far, kind in zip(*columns.triplets(rows).T.tolist(), columns.kind[rows].tolist(), strict=True):
        key = (anchor, min(near, far), max(near, far))
        if kind == _REPEATED and key in first:
            same.append(first[key] == near)
        first.setdefault(key, near)
    return sum(same) / len(same) if same else None


def _warnings(row: ParticipantRow, times: NDArray[np.int64], too_fast_ms: int) -> list[str]:
    found = []
    if row.catch_wrong:
        found.append(f"{row.catch_wrong} of {row.catch_asked} catch questions wrong")
    if row.agreement is not None and row.agreement < _LOW_AGREEMENT:
        found.append(f"only {100 * row.agreement:.0f} % of answers agree with the map")
    if row.consistency is not None and row.consistency < _LOW_CONSISTENCY:
        found.append(f"only {100 * row.consistency:.0f} % of repeated questions answered the same way")
    if too_fast_ms and len(times) and (times < too_fast_ms).mean() > _TOO_FAST:
        found.append(f"{100 * (times < too_fast_ms).mean():.0f} % of answers faster than {too_fast_ms} ms")
    return found


def _with_lapses(rows: list[ParticipantRow], view: View | None) -> list[ParticipantRow]:
    """Add the lapses of participants whose answers were learned, with a warning for those who answer at random."""
    if view is None:
        return rows
    table = view.participants
    places = {name: place for place, name in enumerate(table.names.tolist())}
    for row in rows:
        if (place := places.get(row.id)) is not None:
            row.lapse = ShareOfSlips.of(table.lapse[place], table.low[place], table.high[place])
            row.at_random = bool(table.at_random[place])
            if row.at_random:
                row.warnings.insert(0, f"answers at random: about {row.lapse}")
    return rows

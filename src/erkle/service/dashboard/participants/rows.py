"""The list of participants: who they are, what to pay, and how they answered."""

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, JsonValue

from erkle.service.dashboard.answering import ShareOfSlips
from erkle.service.dashboard.participants.conduct import Conduct, agreement, lapses, rows_of_each
from erkle.service.dashboard.participants.marks import Interval, Mark, marks
from erkle.service.learning import View
from erkle.service.learning.columns import Columns
from erkle.service.learning.full_log import view
from erkle.service.participation.identity import known_as
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.service.studies.spec import StudySettings
from erkle.store import Participant, Skip, Store, Study
from erkle.store.participants import ENDINGS

# Least number of answers for a statement about how well a participant agrees with the map.
_FEW = 10
_MINUTE = 60_000_000


class ParticipantRow(BaseModel):
    """A participant, and what their answers look like. Measures are null as long as nothing is known.

    ``id`` is secret. ``puid`` is the value of the first parameter of ``identify_by`` that the participant's link had,
    or ``number``, the number in the order of joining. ``code`` is that of the participant's ending. ``minutes`` and
    ``last_at`` extend to the last answer or skip. ``left`` is the share of answers on the left.
    """

    id: str
    number: int
    puid: str
    parameters: dict[str, JsonValue]
    code: str
    state: str
    excluded: bool
    flagged: bool
    marks: list[Mark]
    joined_at: int
    last_at: int | None
    minutes: float | None
    answers: int
    skips: int
    median_ms: float | None
    too_fast: int
    catch_asked: int
    catch_wrong: int
    left: Interval | None
    agreement: float | None
    consistency: float | None
    lapse: ShareOfSlips | None


def participant_rows(
    people: Sequence[Participant], skips: Sequence[Skip], columns: Columns, view: View | None, prepared: PreparedStudy
) -> list[ParticipantRow]:
    """Return a row for each participant, in the order in which they joined. Hold the lock of the columns."""
    skips_of: dict[str, list[Skip]] = {}
    for skip in skips:
        skips_of.setdefault(skip.participant, []).append(skip)
    rows_of, agrees, lapse_of = rows_of_each(columns), agreement(columns, view), lapses(view)
    found = []
    for number, person in enumerate(people, 1):
        rows, skipped = rows_of.get(person.id, np.empty(0, np.int64)), skips_of.get(person.id, [])
        conduct = Conduct.of(columns, rows, skipped, agrees, lapse_of.get(person.id), prepared)
        last = max([*columns.answered_at[rows].tolist(), *(skip.skipped_at for skip in skipped)], default=None)
        found.append(_row(number, person, conduct, last, prepared.settings))
    return found


def rows_of_log(store: Store, study: Study) -> list[ParticipantRow]:
    """Return a row for each participant, in a process that does not run the study."""
    columns, skips = Columns(), store.answers.skips(study.id)
    columns.add(store.answers.log(study.id, include_excluded=True))
    prepared = PreparedStudy.of(study, store.studies.objects(study.id))
    return participant_rows(store.participants.all(study.id), skips, columns, view(store, study), prepared)


def _row(
    number: int, person: Participant, conduct: Conduct, last: int | None, settings: StudySettings
) -> ParticipantRow:
    return ParticipantRow(
        id=person.id,
        number=number,
        puid=known_as(settings.identify_by, person.parameters) or str(number),
        parameters=person.parameters,
        code=getattr(settings.endings, person.state).code if person.state in ENDINGS else "",
        state=person.state,
        excluded=person.excluded,
        flagged=person.flagged,
        marks=marks(conduct, settings.checks),
        joined_at=person.joined_at // 1000,
        last_at=None if last is None else last // 1000,
        # Imported answers can be older than the row of their participant.
        minutes=None if last is None or last < person.joined_at else round((last - person.joined_at) / _MINUTE, 1),
        answers=conduct.answers,
        skips=conduct.skips,
        median_ms=conduct.median_ms,
        too_fast=conduct.too_fast,
        catch_asked=conduct.catch_asked,
        catch_wrong=conduct.catch_wrong,
        left=Interval.of(conduct.left, conduct.sided) if conduct.sided else None,
        agreement=round(conduct.agreeing / conduct.compared, 4) if conduct.compared >= _FEW else None,
        consistency=round(conduct.consistent / conduct.repeated, 4) if conduct.repeated else None,
        lapse=conduct.lapse,
    )

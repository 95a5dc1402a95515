"""A participant's ledger: every question that was put to them, and what became of each, the oldest first.

A question that somebody has damaged in the database by hand is left out, so that they are asked another instead; where
only its answer is damaged, the question is done, and its kind says so.
"""

from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from erkle.store import participants, schema, sizes
from erkle.store.damaged import text
from erkle.store.questions import Issued, Kind, can_be_asked, is_whole, kind_of
from erkle.store.sanitising import is_id

__all__ = ["Entry", "ledger"]

_Q, _A, _P, _S = schema.questions.c, schema.answers.c, schema.participants.c, schema.studies.c
_ISSUED = (_Q.token, _Q.head, _Q.o1, _Q.o2, _Q.left_object, _Q.kind, _Q.strategy, _Q.issued_at, _Q.expires_at)
# Found once, and not for each question.
_LAST = sizes.last_object(select(_S.id).where(_S.public_id == bindparam("study")).scalar_subquery())
_ENTRIES = (
    select(*_ISSUED, _A.sequence, _A.choice, _A.response_ms, schema.skips.c.skipped_at, _S.id, _S.n_objects, _LAST)
    .select_from(schema.participants)
    .join(schema.studies, _S.id == _P.study_id)
    .join(schema.questions, _Q.participant_id == _P.id)
    .outerjoin(schema.answers, _A.question_id == _Q.id)
    .outerjoin(schema.skips, schema.skips.c.question_id == _Q.id)
    .where(_P.public_id == bindparam("participant"), _S.public_id == bindparam("study"))
    .order_by(_Q.id)
)


class Entry(NamedTuple):
    """One question that was put to a participant, and what became of it; neither answered nor skipped is possible.

    ``choice`` is -1 where the answer is damaged.
    """

    issued: Issued
    choice: int | None
    skipped: bool
    response_ms: int | None


def ledger(connection: Connection, study: str, participant: str) -> list[Entry]:
    """All questions that were put to a participant."""
    known = is_id(study) and is_id(participant)
    rows = connection.execute(_ENTRIES, {"study": study, "participant": participant}).all() if known else []
    if not rows:
        # Nothing was asked, or nobody is there.
        participants.of(connection, study, participant)
        return []
    n_objects = sizes.n_objects(connection, *rows[0][-3:])
    entries = (_entry(participant, n_objects, tuple(row[:-3])) for row in rows)
    return [entry for entry in entries if entry is not None]


def _entry(participant: str, n_objects: int, row: tuple[Any, ...]) -> Entry | None:
    token, head, o1, o2, left, kind, strategy, at, until, sequence, choice, ms, skipped = row
    issued = Issued(token, participant, head, o1, o2, left, kind_of(kind), text(strategy), at, until)
    is_open = sequence is None and skipped is None
    if not (can_be_asked if is_open else is_whole)(issued, n_objects):
        return None
    if sequence is not None and choice not in (o1, o2):
        choice, issued = -1, issued._replace(kind=Kind.DAMAGED)
    return Entry(issued, choice, skipped is not None, ms if type(ms) is int else None)

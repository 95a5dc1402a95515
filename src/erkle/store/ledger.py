"""A participant's ledger: every question that was put to them, and what became of each, the oldest first."""

from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from erkle.store import participants, schema
from erkle.store.outside import is_id
from erkle.store.questions import Issued, Kind

__all__ = ["Entry", "ledger"]

_Q, _A, _P, _S = schema.questions.c, schema.answers.c, schema.participants.c, schema.studies.c
_KINDS = {str(kind): kind for kind in Kind}
_ISSUED = (_Q.token, _Q.head, _Q.o1, _Q.o2, _Q.left_object, _Q.kind, _Q.strategy, _Q.issued_at, _Q.expires_at)
_ENTRIES = (
    select(*_ISSUED, _A.choice, _A.response_ms, schema.skips.c.skipped_at)
    .select_from(schema.participants)
    .join(schema.studies, _S.id == _P.study_id)
    .join(schema.questions, _Q.participant_id == _P.id)
    .outerjoin(schema.answers, _A.question_id == _Q.id)
    .outerjoin(schema.skips, schema.skips.c.question_id == _Q.id)
    .where(_P.public_id == bindparam("participant"), _S.public_id == bindparam("study"))
    .order_by(_Q.id)
)


class Entry(NamedTuple):
    """One question that was put to a participant, and what became of it; neither answered nor skipped is possible."""

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
    return [
        Entry(
            Issued(token, participant, head, o1, o2, left, _KINDS[kind], strategy, at, until),
            choice,
            skipped is not None,
            ms,
        )
        for token, head, o1, o2, left, kind, strategy, at, until, choice, ms, skipped in rows
    ]

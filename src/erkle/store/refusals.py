"""Refusals: answers and skips that do not count, recorded with the reason and never learned.

At most `limits.REFUSALS` of them are recorded per study, so that nobody can fill the disk. Anybody can send an unknown
token or the token of another participant. Such refusals get only half of the records, so that second answers of
participants can still be recorded. When the records are full, requests are still refused.
"""

from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from erkle.store import limits
from erkle.store.database import schema
from erkle.store.database.enumerations import Reason
from erkle.store.sanitising import Json, bounded_json, bounded_text, is_id

# Reasons that anybody can cause, even without a question of their own.
_BY_ANYBODY = frozenset({Reason.UNKNOWN_TOKEN, Reason.OTHER_STUDY, Reason.OTHER_PARTICIPANT})
_SENTENCES = {
    Reason.UNKNOWN_TOKEN: "There is no question with this token.",
    Reason.OTHER_STUDY: "This question belongs to another study.",
    Reason.OTHER_PARTICIPANT: "This question belongs to another participant.",
    Reason.OUT_OF_RANGE: "The choice is not one of the two objects; pass the id of one of them.",
    Reason.ANSWERED: "This question has already been answered; the first answer counts.",
    Reason.SKIPPED: "This question has been skipped; answer the next one.",
    Reason.EXCLUDED: "Answers of this participant are no longer accepted.",
    Reason.ENDED: "This participant has already finished.",
    Reason.EXPIRED: "This question has expired; ask for a new one.",
}


class Refused(NamedTuple):
    """An answer or a skip that does not count, and why."""

    reason: Reason

    @property
    def sentence(self) -> str:
        """The reason as a sentence for the sender.

        >>> Refused(Reason.EXPIRED).sentence
        'This question has expired; ask for a new one.'
        """
        return _SENTENCES[self.reason]


def record(
    connection: Connection, reason: Reason, study: object, participant: object, token: object, payload: Json, at: int
) -> None:
    """Record what was sent, truncated, unless the study already has its maximum of refusals."""
    number, t = _number(connection, study), schema.refusals.c
    most = limits.REFUSALS // 2 if reason in _BY_ANYBODY else limits.REFUSALS
    if connection.execute(select(t.id).where(t.study_id == number).limit(1).offset(most - 1)).first():
        return
    values: dict[str, Any] = {
        "study_id": number,
        "reason": reason,
        "token": bounded_text(token, limits.ID),
        "participant": bounded_text(participant, limits.ID),
        "payload": bounded_json(payload, limits.REFUSED),
        "refused_at": at,
    }
    connection.execute(insert(schema.refusals), values)


def _number(connection: Connection, study: object) -> int | None:
    if not is_id(study):
        return None
    query = select(schema.studies.c.id).where(schema.studies.c.public_id == study)
    # Locked against deletion only, so that the study still exists when the refusal refers to it.
    return connection.execute(query.with_for_update(read=True, key_share=True)).scalar()

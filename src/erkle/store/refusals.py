"""What came in and does not count: kept with the reason, cut to a size, and never learned.

The number kept per study is limited (`limits.REFUSALS`), so that nobody can fill the disk with nonsense. What anybody
can send who was asked nothing gets half of the room, so that it crowds out no second answer of a participant. Further
ones are refused all the same.
"""

from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from erkle.store import limits
from erkle.store.database import schema
from erkle.store.database.enumerations import Reason
from erkle.store.sanitising import Json, bounded_json, bounded_text, is_id

# Reasons that anybody can cause who was asked nothing.
_WITHOUT_A_QUESTION = frozenset({Reason.UNKNOWN_TOKEN, Reason.OTHER_STUDY, Reason.OTHER_PARTICIPANT})
_SENTENCES = {
    Reason.UNKNOWN_TOKEN: "This question was never asked.",
    Reason.OTHER_STUDY: "This question belongs to another study.",
    Reason.OTHER_PARTICIPANT: "This question was put to somebody else.",
    Reason.OUT_OF_RANGE: "The choice is neither of the two objects; pass the id of one of them.",
    Reason.ANSWERED: "This question has been answered already, and the first answer stands.",
    Reason.SKIPPED: "This question was skipped; answer the next one.",
    Reason.NOT_OPEN: "The study takes no answers now.",
    Reason.EXCLUDED: "No answers of this participant are taken.",
    Reason.ENDED: "This participant has finished.",
    Reason.EXPIRED: "The time for this question is over; ask for another one.",
}


class Refused(NamedTuple):
    """It does not count, and why."""

    reason: Reason

    @property
    def sentence(self) -> str:
        """The reason in words for whoever sent it.

        >>> Refused(Reason.EXPIRED).sentence
        'The time for this question is over; ask for another one.'
        """
        return _SENTENCES[self.reason]


def record(
    connection: Connection, reason: Reason, study: object, participant: object, token: object, payload: Json, at: int
) -> None:
    """Keep what was sent, made to fit, if there is room."""
    number, t = _number(connection, study), schema.refusals.c
    most = limits.REFUSALS // 2 if reason in _WITHOUT_A_QUESTION else limits.REFUSALS
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
    # Locked against its deletion only, so that it is still there when the refusal refers to it.
    return connection.execute(query.with_for_update(read=True, key_share=True)).scalar()

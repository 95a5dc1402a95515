"""What came in and does not count: kept with the reason, cut to a size, and never learned.

Of a study so many are kept at most: whoever sends nonsense for days must not fill the disk. What anybody can send who
was asked nothing gets half of the room, so that it crowds out no second answer of a participant. What comes after them
is refused all the same.
"""

from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from erkle.store import schema, studies
from erkle.store.damaged import moment, text
from erkle.store.sanitising import Json, bounded_json, bounded_text, is_id

__all__ = ["Reason", "Refusal", "Refused", "listed", "record"]

_ID, _PAYLOAD = 64, 1000
_MOST = 10_000


class Reason(StrEnum):
    """Why something does not count."""

    UNKNOWN_TOKEN = "unknown token"
    OTHER_STUDY = "other study"
    OTHER_PARTICIPANT = "other participant"
    OUT_OF_RANGE = "out of range"
    ANSWERED = "answered already"
    SKIPPED = "skipped already"
    NOT_OPEN = "study not open"
    EXCLUDED = "participant excluded"
    ENDED = "participation ended"
    EXPIRED = "expired"


# For these one needs no question of one's own.
_OF_STRANGERS = frozenset({Reason.UNKNOWN_TOKEN, Reason.OTHER_STUDY, Reason.OTHER_PARTICIPANT})
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


class Refusal(NamedTuple):
    """One that was kept; token, participant and payload are what was sent, made to fit."""

    reason: Reason
    token: str
    participant: str
    payload: Json
    refused_at: int


def record(
    connection: Connection, reason: Reason, study: object, token: object, participant: object, payload: Json, at: int
) -> Refused:
    """Keep what was sent, if there is room, and say that it does not count."""
    number = _number(connection, study)
    if _holds(connection, number, _MOST // 2 if reason in _OF_STRANGERS else _MOST):
        return Refused(reason)
    values: dict[str, Any] = {
        "study_id": number,
        "reason": reason,
        "token": bounded_text(token, _ID),
        "participant": bounded_text(participant, _ID),
        "payload": bounded_json(payload, _PAYLOAD),
        "refused_at": at,
    }
    connection.execute(insert(schema.refusals), values)
    return Refused(reason)


def listed(connection: Connection, study: str | None, limit: int) -> list[Refusal]:
    """The newest refusals of a study, or those that name none that there is."""
    t = schema.refusals.c
    number = None if study is None else studies.find(connection, study)["id"]
    query = select(t.reason, t.token, t.participant, t.payload, t.refused_at).where(t.study_id == number)
    rows = connection.execute(query.order_by(t.id.desc()).limit(limit)).all()
    return [
        Refusal(Reason(reason), text(token), text(participant), payload, moment(at))
        for reason, token, participant, payload, at in rows
        if reason in tuple(Reason)
    ]


def _number(connection: Connection, study: object) -> int | None:
    if not is_id(study):
        return None
    query = select(schema.studies.c.id).where(schema.studies.c.public_id == study)
    # Locked against its deletion only, so that it is still there when the refusal refers to it.
    return connection.execute(query.with_for_update(read=True, key_share=True)).scalar()


def _holds(connection: Connection, number: int | None, many: int) -> bool:
    """Whether so many have been kept."""
    t = schema.refusals.c
    return connection.execute(select(t.id).where(t.study_id == number).limit(1).offset(many - 1)).first() is not None

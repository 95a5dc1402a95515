"""To answer is to compare and set, in one transaction: of all that is sent for a question, exactly one answer counts.

The same answer again gets the same acknowledgement, whatever has happened since, so that a browser which never heard it
may ask again. Another answer is refused and kept. The answers of a study are numbered 1, 2, 3, ... without a gap, in
the order in which they were committed: whoever has read up to a number has missed nothing before it.
"""

from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, bindparam, func, insert, select

from erkle.store import refusals, schema, studies
from erkle.store.damaged import number
from erkle.store.numbering import NUMBERED, last_number
from erkle.store.participants import Standing, standing_of
from erkle.store.refusals import Reason, Refused
from erkle.store.sanitising import bounded_json, bounded_text, is_id
from erkle.store.studies import State

__all__ = ["Acknowledged", "Sent", "Skipped", "answer", "has_answers", "last", "skip"]

_CLIENT, _REASON = 2000, 500
# A day. What a clock that was set in between makes of a time is no response time.
_LONGEST_MS = 86_400_000


# A question with its participant, its study, and the answer or the skip that there may be.
_ASKED = (
    select(schema.questions, schema.participants.c.state, schema.participants.c.excluded)
    .add_columns(schema.participants.c.public_id.label("participant"))
    .add_columns(schema.studies.c.public_id.label("study"), schema.studies.c.state.label("study_state"))
    .add_columns(schema.answers.c.sequence, schema.answers.c.choice, schema.skips.c.skipped_at)
    .select_from(
        schema.questions.join(schema.participants).join(
            schema.studies, schema.questions.c.study_id == schema.studies.c.id
        )
    )
    .outerjoin(schema.answers, schema.answers.c.question_id == schema.questions.c.id)
    .outerjoin(schema.skips, schema.skips.c.question_id == schema.questions.c.id)
    .where(schema.questions.c.token == bindparam("token"))
)
_STUDY = select(schema.studies.c.id).where(schema.studies.c.public_id == bindparam("study"))
_LAST_OF = select(last_number(_STUDY.scalar_subquery()))
# No other transaction can come between: whoever adds an answer holds the lock on the study until it has committed.
_INSERT = (
    insert(schema.answers)
    .values(
        study_id=bindparam("study"),
        sequence=last_number(bindparam("study")) + 1,
        question_id=bindparam("question"),
        choice=bindparam("choice"),
        response_ms=bindparam("response_ms"),
        client=bindparam("client", type_=schema.answers.c.client.type),
        answered_at=bindparam("answered_at"),
    )
    .returning(schema.answers.c.sequence)
)


class Acknowledged(NamedTuple):
    """The answer counts, and is on the disk; ``repeated`` where it already was."""

    sequence: int
    repeated: bool


class Skipped(NamedTuple):
    """The question was skipped; ``repeated`` where it already was."""

    repeated: bool


class Sent(NamedTuple):
    """What somebody sent for a question; nothing of it is trusted."""

    token: str
    study: str
    participant: str
    choice: int | None = None
    response_ms: int | None = None
    client: Any = None
    reason: str = ""


def answer(connection: Connection, sent: Sent, at: int) -> Acknowledged | Refused:
    """Count the answer, if it is the one that counts."""
    question = _question(connection, sent)
    if isinstance(question, Reason):
        return _refuse(connection, question, sent, at)
    if type(sent.choice) is not int or sent.choice not in (question["o1"], question["o2"]):
        return _refuse(connection, Reason.OUT_OF_RANGE, sent, at)
    if question["choice"] == sent.choice:
        return Acknowledged(number(question["sequence"]), repeated=True)
    reason = _used(question) or _closed(question, at)
    if reason is not None:
        return _refuse(connection, reason, sent, at)
    return Acknowledged(_add(connection, question, sent, at), repeated=False)


def skip(connection: Connection, sent: Sent, at: int) -> Skipped | Refused:
    """Give the question up, with a reason in the participant's words."""
    question = _question(connection, sent)
    if isinstance(question, Reason):
        return _refuse(connection, question, sent, at)
    reason = _used(question) or _closed(question, at)
    if reason == Reason.SKIPPED:
        return Skipped(repeated=True)
    if reason is not None:
        return _refuse(connection, reason, sent, at)
    values = {"question_id": question["id"], "reason": bounded_text(sent.reason, _REASON), "skipped_at": at}
    connection.execute(insert(schema.skips), values)
    return Skipped(repeated=False)


def last(connection: Connection, study: str) -> int:
    """The number of the study's last answer, which is how many there are where nobody has changed a number by hand."""
    found = connection.execute(_LAST_OF, {"study": study}).scalar_one() if is_id(study) else 0
    if found == 0:
        # There is no answer, or no study.
        studies.find(connection, study)
    return int(found)


def has_answers(connection: Connection, study: str, many: int) -> bool:
    """Whether a study has so many answers; they are counted only where the last number says so."""
    if last(connection, study) < many:
        return False
    a, owner = schema.answers.c, studies.find(connection, study)["id"]
    counted = select(func.count()).where(a.study_id == owner, NUMBERED)
    return int(connection.execute(counted).scalar_one()) >= many


def _question(connection: Connection, sent: Sent) -> RowMapping | Reason:
    """The question that was put to this participant, its study locked; or why it is not theirs to answer."""
    values = {"token": sent.token}
    found = connection.execute(_ASKED, values).mappings().one_or_none() if is_id(sent.token) else None
    if found is None:
        return Reason.UNKNOWN_TOKEN
    if found["study"] != sent.study:
        return Reason.OTHER_STUDY
    if found["participant"] != sent.participant:
        return Reason.OTHER_PARTICIPANT
    if connection.dialect.name == "sqlite":
        # Everything has been locked since the transaction began.
        return found
    studies.locked(connection, sent.study)
    # Read once more: before the lock another answer may have counted, or the study was closed.
    return connection.execute(_ASKED, values).mappings().one()


def _used(question: RowMapping) -> Reason | None:
    """What has become of the question before."""
    if question["sequence"] is not None:
        return Reason.ANSWERED
    return Reason.SKIPPED if question["skipped_at"] is not None else None


def _closed(question: RowMapping, at: int) -> Reason | None:
    """Why the question cannot be answered now."""
    if question["study_state"] != State.OPEN:
        return Reason.NOT_OPEN
    if (standing := standing_of(question)) != Standing.ACTIVE:
        return Reason.EXCLUDED if standing == Standing.EXCLUDED else Reason.ENDED
    return None if number(question["expires_at"]) > at else Reason.EXPIRED


def _add(connection: Connection, question: RowMapping, sent: Sent, at: int) -> int:
    values = {
        "study": question["study_id"],
        "question": question["id"],
        "choice": sent.choice,
        "response_ms": duration(sent.response_ms),
        "client": bounded_json(sent.client, _CLIENT),
        "answered_at": at,
    }
    return int(connection.execute(_INSERT, values).scalar_one())


def duration(value: object) -> int | None:
    """A response time, or None of one that cannot be: that is no reason to lose an answer."""
    return value if type(value) is int and 0 <= value <= _LONGEST_MS else None


def _refuse(connection: Connection, reason: Reason, sent: Sent, at: int) -> Refused:
    payload = {"choice": bounded_text(sent.choice, 100), "reason": bounded_text(sent.reason, 100)}
    payload["client"] = bounded_text(sent.client, 600)
    return refusals.record(connection, reason, sent.study, sent.token, sent.participant, payload, at)

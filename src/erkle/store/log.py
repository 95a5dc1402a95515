"""The log: every answer that counts, in the order in which it was committed.

What is learned is a fold over it. Without those that are excluded it is a function of the answers and of the study's
``roster`` alone, so two readers of the same roster and the same last number have read the same.

Rows are read one by one and nothing in them is believed: one that somebody has changed by hand is an answer of the kind
*damaged*, which is never learned, and holds up no other. One whose number is none is in no log (see `numbering`).
"""

from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, or_, select

from erkle.store import schema, studies
from erkle.store.damaged import moment, number, text
from erkle.store.numbering import NUMBERED
from erkle.store.questions import Kind, are_objects, kind_of
from erkle.store.sanitising import Json

__all__ = ["Answer", "Counts", "Skip", "counts", "page", "skips", "strategies"]


class Answer(NamedTuple):
    """An answer that counts: the head is more like ``near`` than like ``far``.

    Of one that is damaged, ids are -1 where they are no numbers, and may be those of no object. ``participant`` is ""
    where nobody has given it.
    """

    sequence: int
    participant: str
    head: int
    near: int
    far: int
    kind: Kind
    left: int
    strategy: str
    token: str
    response_ms: int | None
    client: Json
    issued_at: int
    answered_at: int
    excluded: bool


class Skip(NamedTuple):
    """A question that somebody gave up, with a reason in their words."""

    participant: str
    head: int
    o1: int
    o2: int
    reason: str
    skipped_at: int


class Counts(NamedTuple):
    """How much there is of a study; ``answers`` are those in the log."""

    participants: int
    questions: int
    answers: int
    excluded_answers: int
    skips: int
    refusals: int


def page(connection: Connection, study: int, n_objects: int, after: int, limit: int, excluded: bool) -> list[Answer]:
    """The next answers after a number, those of excluded participants among them or not."""
    a, p = schema.answers.c, schema.participants.c
    query = _joined().where(a.study_id == study, a.sequence > after, NUMBERED)
    query = query if excluded else query.where(or_(p.excluded.is_(False), p.id.is_(None)))
    rows = connection.execute(query.order_by(a.sequence).limit(limit)).all()
    return [_answer(n_objects, *row) for row in rows]


def counts(connection: Connection, study: str) -> Counts:
    """How much there is of everything, at one moment."""
    number = studies.find(connection, study)["id"]
    q, a = schema.questions, schema.answers
    excluded = select(q.c.id).join(schema.participants).where(schema.participants.c.excluded, q.c.study_id == number)
    sums = (
        _number_of(schema.participants).where(schema.participants.c.study_id == number),
        _number_of(q).where(q.c.study_id == number),
        _number_of(a).where(a.c.study_id == number, NUMBERED),
        _number_of(a).where(a.c.study_id == number, a.c.question_id.in_(excluded)),
        _number_of(schema.skips).join(q).where(q.c.study_id == number),
        _number_of(schema.refusals).where(schema.refusals.c.study_id == number),
    )
    return Counts(*connection.execute(select(*(each.scalar_subquery() for each in sums))).one())


def skips(connection: Connection, study: str) -> list[Skip]:
    """All questions that were given up, the first first."""
    q, s = schema.questions.c, schema.skips.c
    query = (
        select(schema.participants.c.public_id, q.head, q.o1, q.o2, s.reason, s.skipped_at)
        .select_from(schema.skips.join(schema.questions).join(schema.participants))
        .where(q.study_id == studies.find(connection, study)["id"])
        .order_by(s.skipped_at, s.question_id)
    )
    return [
        Skip(text(participant), number(head), number(o1), number(o2), text(reason), moment(at))
        for participant, head, o1, o2, reason, at in connection.execute(query).all()
    ]


def strategies(connection: Connection, study: str) -> list[tuple[str, str, int, int]]:
    """How often each strategy has asked each kind of question, and how many of these were answered."""
    q = schema.questions.c
    query = (
        select(q.strategy, q.kind, func.count(), func.count(schema.answers.c.sequence))
        .select_from(schema.questions.outerjoin(schema.answers, schema.answers.c.question_id == q.id))
        .where(q.study_id == studies.find(connection, study)["id"])
        .group_by(q.strategy, q.kind)
        .order_by(func.count().desc(), q.strategy, q.kind)
    )
    return [
        (text(strategy), str(kind_of(kind)), asked, answered)
        for strategy, kind, asked, answered in connection.execute(query).all()
    ]


def _joined() -> Select[Any]:
    a, q, p = schema.answers.c, schema.questions.c, schema.participants.c
    question = (q.head, q.o1, q.o2, q.left_object, q.kind, q.strategy, q.token, q.issued_at)
    columns = (a.sequence, a.choice, a.response_ms, a.client, a.answered_at, *question, p.public_id, p.excluded)
    # Outer joins: an answer whose question is gone is damaged, and still one of the log.
    joined = schema.answers.outerjoin(schema.questions).outerjoin(schema.participants)
    return select(*columns).select_from(joined)


def _answer(
    n_objects: int, sequence: int, choice: Any, response_ms: Any, client: Json, answered_at: Any,
    head: Any, o1: Any, o2: Any, left: Any, kind: Any, strategy: Any, token: Any, issued_at: Any,
    participant: Any, excluded: bool | None,
) -> Answer:  # fmt: skip
    why, far = kind_of(kind), {o1: o2, o2: o1}.get(choice, -1)
    if participant is None or not are_objects((head, choice, far), n_objects):
        why = Kind.DAMAGED
    who = "" if participant is None else text(participant)
    how = (why, number(left) if left in (o1, o2) else -1, text(strategy or ""), text(token or ""))
    what = (response_ms if type(response_ms) is int else None, client, moment(issued_at), moment(answered_at))
    return Answer(sequence, who, number(head), number(choice), number(far), *how, *what, bool(excluded))


def _number_of(table: Any) -> Select[Any]:
    return select(func.count()).select_from(table)

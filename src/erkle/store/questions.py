"""Questions that were put to somebody: each has a token that nobody can guess, for one answer by one participant."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, exists, func, insert, select

from erkle import triplets
from erkle.store import limits
from erkle.store.clock import duration
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Kind, Standing, State
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.participants import standing_of
from erkle.store.sanitising import bounded_text, is_id, strict_member

_HOUR = 3600.0
_Q, _A, _P, _S = schema.questions.c, schema.answers.c, schema.participants.c, schema.studies.c
_INSERT = insert(schema.questions)
IS_ACTIVE = (_P.state == Standing.ACTIVE) & _P.excluded.is_(False)
_ISSUED = (
    _Q.token, _P.public_id, _Q.anchor, _Q.first, _Q.second, _Q.left_object,
    _Q.kind, _Q.strategy, _Q.issued_at, _Q.expires_at,
)  # fmt: skip
_LEDGER = (
    select(*_ISSUED, _A.choice, schema.skips.c.skipped_at, _A.response_ms)
    .select_from(schema.participants)
    .join(schema.studies, _S.id == _P.study_id)
    .join(schema.questions, _Q.participant_id == _P.id)
    .outerjoin(schema.answers, _A.question_id == _Q.id)
    .outerjoin(schema.skips, schema.skips.c.question_id == _Q.id)
    .where(_P.public_id == bindparam("participant"), _S.public_id == bindparam("study"))
    .order_by(_Q.id)
)


class Query(NamedTuple):
    """Is the anchor more like ``first`` or like ``second``? ``left`` is shown on the left, by default ``first``."""

    anchor: int
    first: int
    second: int
    left: int | None = None
    kind: Kind = Kind.CHOSEN
    strategy: str = ""


class Issued(NamedTuple):
    """A question that was put to a participant; ``strategy`` says in words how it was chosen."""

    token: str
    participant: str
    anchor: int
    first: int
    second: int
    left: int
    kind: Kind
    strategy: str
    issued_at: int
    expires_at: int


class Entry(NamedTuple):
    """A question that was put to a participant, and what became of it; it may be neither answered nor skipped."""

    issued: Issued
    choice: int | None
    skipped: bool
    response_ms: int | None


class Questions(Topic):
    """Questions that were put to participants."""

    @writing
    def issue(self, study: str, participant: str, queries: Sequence[Query], lifetime: float = _HOUR) -> list[Issued]:
        """Put questions to an active participant of an open study, to be answered within so many seconds."""
        row = rows.lock_participant(self.connection, study, participant)
        if row["study_state"] != State.OPEN:
            raise NotAllowed(f"The study is {row['study_state']}; questions are asked when it is open.")
        if (standing := standing_of(row)) != Standing.ACTIVE:
            raise NotAllowed(f"The participant is {standing}; only active ones are asked.")
        at = self.clock()
        until = at + duration(lifetime, "The lifetime", limits.LIFETIME_SECONDS)
        issued = [_issued(query, row["n_objects"], participant, at, until) for query in queries]
        if issued:
            self.connection.execute(_INSERT, [new_question(each, row["study_id"], row["id"]) for each in issued])
        return issued

    @reading
    def pending(self, study: str) -> list[Issued]:
        """Questions of a study that may still be answered, oldest first."""
        query = (
            select(*_ISSUED)
            .join(schema.participants, _P.id == _Q.participant_id)
            .where(_Q.study_id == rows.study(self.connection, study)["id"], *are_open(self.clock()), IS_ACTIVE)
            .order_by(_Q.id)
        )
        return [_read(row) for row in self.connection.execute(query)]

    @reading
    def ledger(self, study: str, participant: str) -> list[Entry]:
        """All questions that were put to a participant, and what became of each, oldest first."""
        values, known = {"study": study, "participant": participant}, is_id(study) and is_id(participant)
        found = self.connection.execute(_LEDGER, values).all() if known else []
        if not found:
            # Nothing was asked, or there is no such participant.
            rows.participant_and_study(self.connection, study, participant)
        return [Entry(_read(row[:-3]), row.choice, row.skipped_at is not None, row.response_ms) for row in found]

    @reading
    def strategies(self, study: str) -> list[tuple[str, str, int, int]]:
        """How each strategy fared, as (strategy, kind, asked, answered), the most asked first.

        This counts all questions of the study: do not call it for each answer.
        """
        query = (
            select(_Q.strategy, _Q.kind, func.count(), func.count(_A.sequence))
            .select_from(schema.questions.outerjoin(schema.answers, _A.question_id == _Q.id))
            .where(_Q.study_id == rows.study(self.connection, study)["id"])
            .group_by(_Q.strategy, _Q.kind)
            .order_by(func.count().desc(), _Q.strategy, _Q.kind)
        )
        return [tuple(row) for row in self.connection.execute(query)]


def are_open(at: int) -> Iterator[ColumnElement[bool]]:
    """Conditions for questions that active participants may still answer at a time."""
    yield _Q.expires_at > at
    yield ~exists().where(_A.question_id == _Q.id)
    yield ~exists().where(schema.skips.c.question_id == _Q.id)


def new_question(issued: Issued, study_number: int, participant_number: int) -> dict[str, Any]:
    """The row of a new question, given the numbers of the rows that it refers to."""
    values = issued._asdict()
    del values["participant"]
    return {**values, "left_object": values.pop("left"), "study_id": study_number, "participant_id": participant_number}


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def _issued(query: Query, n_objects: int, participant: str, at: int, until: int) -> Issued:
    query = Query(*query)
    [[anchor, first, second]] = triplets.check([query[:3]], n_objects).tolist()
    left = first if query.left is None else query.left
    if left not in (first, second):
        raise StoreError(
            f"Object {bounded_text(left, 40)} is on the left, but the choice is {first} or {second}; pass one of them."
        )
    strategy = bounded_text(query.strategy, limits.STRATEGY)
    kind = strict_member(query.kind, "The kind", Kind)
    return Issued(new_token(), participant, anchor, first, second, int(left), kind, strategy, at, until)


def _read(row: Sequence[Any]) -> Issued:
    issued = Issued._make(row)
    return issued._replace(kind=Kind(issued.kind))

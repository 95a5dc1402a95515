"""Questions that were put to somebody: each has a token that nobody can guess, for one answer by one participant."""

import secrets
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, exists, insert, select

from erkle import triplets
from erkle.store import participants, schema, sizes, studies
from erkle.store.clock import seconds
from erkle.store.damaged import text
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.participants import Standing
from erkle.store.sanitising import bounded_text, is_id
from erkle.store.studies import State

__all__ = ["ASKED", "Issued", "Kind", "Query", "are_objects", "can_be_asked", "is_whole", "issue"]
__all__ += ["kind_of", "pending"]

_STRATEGY = 500
_INSERT = insert(schema.questions)


class Kind(StrEnum):
    """Why a question is asked; nobody is asked a damaged one, which somebody has changed in the database by hand."""

    CHOSEN = "chosen"
    HELD_OUT = "held out"
    CATCH = "catch"
    REPEATED = "repeated"
    PRACTICE = "practice"
    DAMAGED = "damaged"


ASKED = tuple(kind for kind in Kind if kind != Kind.DAMAGED)
_KINDS = {str(kind): kind for kind in ASKED}


class Query(NamedTuple):
    """Is the head more like o1 or like o2? ``left`` is the one of them that stands left, by default o1."""

    head: int
    o1: int
    o2: int
    left: int | None = None
    kind: Kind = Kind.CHOSEN
    strategy: str = ""


class Issued(NamedTuple):
    """A question that was put to a participant; ``strategy`` says in words how it was chosen."""

    token: str
    participant: str
    head: int
    o1: int
    o2: int
    left: int
    kind: Kind
    strategy: str
    issued_at: int
    expires_at: int


def issue(
    connection: Connection, study: str, participant: str, queries: Sequence[Query], lifetime: float, at: int
) -> list[Issued]:
    """Put questions to an active participant of an open study."""
    row = participants.locked(connection, study, participant)
    if row["study_state"] != State.OPEN:
        state = studies.state_of(row["study_state"])
        raise NotAllowed(f"The study is {state}; questions are asked when it is open.")
    if (standing := participants.standing_of(row)) != Standing.ACTIVE:
        raise NotAllowed(f"The participant is {standing}; only active ones are asked.")
    if not 0 < lifetime < 1e9:
        raise StoreError(f"The lifetime is {lifetime}; pass a number of seconds above 0.")
    size = sizes.n_objects(connection, row["study_id"], row["n_objects"], row["last_object"])
    issued = [_issued(query, size, participant, at, at + seconds(lifetime)) for query in queries]
    if issued:
        connection.execute(_INSERT, [_values(each, row["study_id"], row["id"]) for each in issued])
    return issued


def pending(connection: Connection, study: str, participant: str | None, at: int) -> list[Issued]:
    """Questions that may still be answered, the oldest first; damaged ones are left out."""
    q, p, owner = schema.questions.c, schema.participants.c, studies.find(connection, study)
    query = (
        _selected()
        .where(q.study_id == owner["id"], q.expires_at > at)
        .where(p.state == Standing.ACTIVE, p.excluded.is_(False))
        .where(
            ~exists().where(schema.answers.c.question_id == q.id), ~exists().where(schema.skips.c.question_id == q.id)
        )
    )
    if participant is not None:
        query = query.where(p.public_id == participants.get(connection, study, participant).id)
    found = (_read(row) for row in connection.execute(query.order_by(q.id)).all())
    return [each for each in found if can_be_asked(each, owner["n_objects"])]


def is_whole(issued: Issued, n_objects: int) -> bool:
    """Whether nothing of what was asked is damaged."""
    o1, o2 = issued.o1, issued.o2
    is_left = issued.left == o1 or issued.left == o2
    return is_left and issued.kind != Kind.DAMAGED and are_objects((issued.head, o1, o2), n_objects)


def can_be_asked(issued: Issued, n_objects: int) -> bool:
    """Whether nothing is damaged that somebody needs to answer a question: neither its token nor its times, too."""
    has_times = type(issued.issued_at) is int and type(issued.expires_at) is int
    return has_times and is_id(issued.token) and is_whole(issued, n_objects)


def kind_of(value: object) -> Kind:
    """The kind of this name; damaged where there is none.

    >>> kind_of("held out"), kind_of("guessed")
    (<Kind.HELD_OUT: 'held out'>, <Kind.DAMAGED: 'damaged'>)
    """
    return _KINDS.get(value, Kind.DAMAGED) if isinstance(value, str) else Kind.DAMAGED


def are_objects(ids: Iterable[object], n_objects: int) -> bool:
    """Whether they are three different objects of a study.

    >>> are_objects((0, 1, 2), 3), are_objects((0, 1, 3), 3), are_objects((0, 1, "x"), 3), are_objects((0, 1, 1), 3)
    (True, False, False, False)
    """
    known = {each for each in ids if type(each) is int and 0 <= each < n_objects}
    return len(known) == 3


def _selected() -> Select[Any]:
    q, p = schema.questions.c, schema.participants.c
    columns = (q.token, p.public_id, q.head, q.o1, q.o2, q.left_object, q.kind, q.strategy, q.issued_at, q.expires_at)
    return select(*columns).join(schema.participants, p.id == q.participant_id)


def _read(row: Iterable[Any]) -> Issued:
    issued = Issued._make(row)
    return issued._replace(kind=kind_of(issued.kind), strategy=text(issued.strategy))


def _issued(query: Query, n_objects: int, participant: str, at: int, until: int) -> Issued:
    query = Query(*query)
    [[head, o1, o2]] = triplets.check([query[:3]], n_objects).tolist()
    left = o1 if query.left is None else query.left
    if left not in (o1, o2):
        raise StoreError(
            f"Object {bounded_text(left, 40)} stands left, but the choice is {o1} or {o2}; pass one of them."
        )
    if query.kind not in ASKED:
        raise StoreError(f"The kind is {bounded_text(query.kind, 40)!r}; pass one of {', '.join(ASKED)}.")
    strategy = bounded_text(query.strategy, _STRATEGY)
    token = secrets.token_urlsafe(24)
    return Issued(token, participant, head, o1, o2, int(left), Kind(query.kind), strategy, at, until)


def _values(issued: Issued, study: int, participant: int) -> dict[str, Any]:
    values = issued._asdict()
    del values["participant"]
    return {**values, "left_object": values.pop("left"), "study_id": study, "participant_id": participant}

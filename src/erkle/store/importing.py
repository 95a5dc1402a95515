"""Answers from elsewhere, appended to the log in the order in which they are given: all of them, or none.

Each label stands for one participant, in every later import to the same study, too. They have completed the study:
nobody asks them anything.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select

from erkle import triplets
from erkle.store import answering, schema, studies
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.participants import Standing, bounded_identity
from erkle.store.questions import ASKED, Kind
from erkle.store.sanitising import Json, bounded_json, bounded_text, strict_text
from erkle.store.studies import State

__all__ = ["Imported", "append", "ask", "checked", "import_answers"]

_LABEL, _STRATEGY, _CLIENT, _PARAMETERS = 2000, 500, 2000, 4000


class Imported(NamedTuple):
    """An answer from elsewhere: the head is more like ``near`` than like ``far``. Times are in microseconds."""

    participant: str
    head: int
    near: int
    far: int
    left: int | None = None
    kind: Kind = Kind.CHOSEN
    strategy: str = "imported"
    response_ms: int | None = None
    client: Json = {}  # noqa: RUF012
    answered_at: int | None = None
    issued_at: int | None = None
    excluded: bool = False
    parameters: Json = {}  # noqa: RUF012


def import_answers(connection: Connection, study: str, rows: Iterable[Imported], at: int) -> int:
    """Append answers to the log of a study that is not closed; how many they were."""
    owner = studies.locked(connection, study)
    if owner["state"] == State.CLOSED:
        raise NotAllowed("The study is closed and takes no answers; import them into another one.")
    given = checked(rows, owner["n_objects"], at)
    append(
        connection, owner["id"], given, _people(connection, owner["id"], given, at), answering.last(connection, study)
    )
    return len(given)


def checked(rows: Iterable[Imported], n_objects: int, at: int) -> list[Imported]:
    """The same answers with all of their times, if each of them can be one."""
    given = [_checked(number, Imported(*row), at) for number, row in enumerate(rows)]
    if given:
        triplets.check([row[1:4] for row in given], n_objects)
    return given


def append(connection: Connection, study: int, rows: Sequence[Imported], people: Mapping[str, int], last: int) -> None:
    """Number answers on from the last one, each by the participant whose row has this number."""
    if rows:
        ids = ask(connection, [_question(row, study, people[row.participant]) for row in rows])
        numbered = enumerate(zip(rows, ids, strict=True), last + 1)
        answers = [_answer(row, study, question, sequence) for sequence, (row, question) in numbered]
        connection.execute(insert(schema.answers), answers)


def _checked(number: int, row: Imported, at: int) -> Imported:
    label = strict_text(row.participant, f"The participant of row {number}", _LABEL)
    if row.left not in (None, row.near, row.far):
        raise StoreError(f"In row {number} object {bounded_text(row.left, 40)} stands left; pass near or far.")
    if row.kind not in ASKED:
        raise StoreError(f"The kind of row {number} is {bounded_text(row.kind, 40)!r}; pass one of {', '.join(ASKED)}.")
    answered = at if row.answered_at is None else _time(row.answered_at, number)
    issued = answered if row.issued_at is None else _time(row.issued_at, number)
    return row._replace(participant=label, kind=Kind(row.kind), answered_at=answered, issued_at=issued)


def _time(value: object, number: int) -> int:
    if type(value) is not int or not 0 <= value < 2**62:
        raise StoreError(f"A time of row {number} is {bounded_text(value, 40)}; pass microseconds since 1970.")
    return value


def _people(connection: Connection, study: int, rows: Sequence[Imported], at: int) -> dict[str, int]:
    """The number of the participant of each label, of whom some may be new."""
    t = schema.participants
    identities = {row.participant: bounded_identity(f"imported={row.participant}") for row in rows}
    query = select(t.c.identity, t.c.id).where(t.c.study_id == study, t.c.identity.startswith("imported="))
    known = {identity: number for [identity, number] in connection.execute(query)}
    new: dict[str, dict[str, Any]] = {}
    for row in rows:
        if (identity := identities[row.participant]) not in known:
            if identity not in new:
                new[identity] = _participant(row, study, identity, at)
            new[identity]["excluded"] |= bool(row.excluded)
    if new:
        added = insert(t).returning(t.c.id, sort_by_parameter_order=True)
        known |= dict(zip(new, connection.execute(added, [*new.values()]).scalars(), strict=True))
    return {label: known[identity] for label, identity in identities.items()}


def _participant(row: Imported, study: int, identity: str, at: int) -> dict[str, Any]:
    return {
        "public_id": secrets.token_urlsafe(18),
        "study_id": study,
        "parameters": bounded_json(row.parameters or {"participant": row.participant}, _PARAMETERS),
        "state": Standing.COMPLETED,
        "excluded": False,
        "joined_at": at,
        "identity": identity,
        "flagged": False,
    }


def ask(connection: Connection, questions: Sequence[dict[str, Any]]) -> list[int]:
    """Add questions; the numbers of their rows, which databases tell for one at a time only."""
    t = schema.questions.c
    before = connection.execute(select(func.coalesce(func.max(t.id), 0))).scalar_one()
    connection.execute(insert(schema.questions), questions)
    added = select(t.token, t.id).where(t.id > before, t.study_id == questions[0]["study_id"])
    numbers = {token: number for [token, number] in connection.execute(added)}
    return [numbers[question["token"]] for question in questions]


def _question(row: Imported, study: int, participant: int) -> dict[str, Any]:
    # Where nobody knows what stood left, the smaller number says nothing about the answer.
    o1, o2 = sorted((int(row.near), int(row.far)))
    return {
        "token": secrets.token_urlsafe(24),
        "study_id": study,
        "participant_id": participant,
        "head": int(row.head),
        "o1": o1,
        "o2": o2,
        "left_object": o1 if row.left is None else int(row.left),
        "kind": row.kind,
        "strategy": bounded_text(row.strategy, _STRATEGY),
        "issued_at": row.issued_at,
        "expires_at": row.issued_at,
    }


def _answer(row: Imported, study: int, question: int, sequence: int) -> dict[str, Any]:
    return {
        "study_id": study,
        "sequence": sequence,
        "question_id": question,
        "choice": int(row.near),
        "response_ms": answering.duration(row.response_ms),
        "client": bounded_json(row.client, _CLIENT),
        "answered_at": row.answered_at,
    }

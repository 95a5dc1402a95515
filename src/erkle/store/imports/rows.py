"""Answers and skips to import: their checks, and their rows in the database."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, func, insert, select

from erkle import triplets
from erkle.store import limits
from erkle.store.answers import Skip, response_time
from erkle.store.database import schema
from erkle.store.database.enumerations import Kind
from erkle.store.errors import StoreError
from erkle.store.questions import Issued, new_question, new_token
from erkle.store.sanitising import Json, bounded_json, bounded_text, strict_member, strict_text

T = TypeVar("T")

# The strategy of answers whose file does not name one. It may not say where the objects were either.
IMPORTED = "imported"

# Rows written in one transaction: about 50 ms of work, for which other writers wait.
BATCH = 1000
# The largest integer that the column holds.
_LAST_POSITION = 2**31 - 1


class Imported(NamedTuple):
    """An answer to import: the anchor is more like ``near`` than like ``far``. Times are in microseconds since 1970."""

    participant: str
    anchor: int
    near: int
    far: int
    left: int | None = None
    kind: Kind = Kind.CHOSEN
    strategy: str = IMPORTED
    response_ms: int | None = None
    client: Json = {}  # noqa: RUF012
    answered_at: int | None = None
    issued_at: int | None = None
    excluded: bool = False
    parameters: Json = {}  # noqa: RUF012
    position: int | None = None


def in_batches(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield lists of at most `BATCH` rows."""
    left = iter(rows)
    while batch := list(islice(left, BATCH)):
        yield batch


def checked(answers: Iterable[Imported], n_objects: int, at: int, first: int = 0) -> list[Imported]:
    """Check answers and fill in missing times; ``first`` is the number of the first row in errors."""
    given = [_checked(number, Imported(*row), at) for number, row in enumerate(answers, first)]
    if not given:
        return []
    ids = triplets.check([row[1:4] for row in given], n_objects).tolist()
    return [row._replace(anchor=a, near=b, far=c) for row, (a, b, c) in zip(given, ids, strict=True)]


def add_answers(
    connection: Connection, study: int, answers: Sequence[Imported], participants: Sequence[int], last: int
) -> None:
    """Append checked answers to a log that ends with number ``last``, given the row of each one's participant."""
    asked = [_question(row, study, who) for row, who in zip(answers, participants, strict=True)]
    numbered = enumerate(zip(answers, _ask(connection, asked), strict=True), last + 1)
    values = [_answer(row, study, question, sequence) for sequence, (row, question) in numbered]
    connection.execute(insert(schema.answers), values)


def add_skips(connection: Connection, study: int, skips: Sequence[Skip], participants: Sequence[int]) -> None:
    """Add skipped questions, given the row of each one's participant."""
    asked = [_skipped(skip, study, who) for skip, who in zip(skips, participants, strict=True)]
    values = [
        {
            "question_id": number,
            "reason": bounded_text(skip.reason, limits.SKIP_REASON),
            "skipped_at": skip.skipped_at,
        }
        for skip, number in zip(skips, _ask(connection, asked), strict=True)
    ]
    connection.execute(insert(schema.skips), values)


def _ask(connection: Connection, questions: Sequence[dict[str, Any]]) -> list[int]:
    """Add questions and return the numbers of their rows, found by token after one fast bulk insert."""
    t = schema.questions.c
    before = connection.execute(select(func.coalesce(func.max(t.id), 0))).scalar_one()
    connection.execute(insert(schema.questions), questions)
    added = select(t.token, t.id).where(t.id > before, t.study_id == questions[0]["study_id"])
    numbers = {token: number for [token, number] in connection.execute(added)}
    return [numbers[question["token"]] for question in questions]


def _checked(number: int, row: Imported, at: int) -> Imported:
    label = strict_text(row.participant, f"The participant of row {number}", limits.LABEL)
    if row.left not in (None, row.near, row.far):
        raise StoreError(f"In row {number}, left is {bounded_text(row.left, 40)}; pass the near or the far object.")
    answered = at if row.answered_at is None else _time(row.answered_at, number)
    return row._replace(
        participant=label,
        left=None if row.left is None else int(row.left),
        kind=strict_member(row.kind, f"The kind of row {number}", Kind),
        strategy=bounded_text(row.strategy, limits.STRATEGY),
        response_ms=response_time(row.response_ms),
        client=bounded_json(row.client, limits.CLIENT),
        answered_at=answered,
        issued_at=answered if row.issued_at is None else _time(row.issued_at, number),
        excluded=bool(row.excluded),
        parameters=bounded_json(row.parameters, limits.PARAMETERS),
        position=question_position(row.position),
    )


def question_position(value: object) -> int | None:
    """Return a valid position of a question, or None for any other value."""
    return value if type(value) is int and 0 < value <= _LAST_POSITION else None


def _time(value: object, number: int) -> int:
    if type(value) is not int or not 0 <= value <= limits.LATEST:
        raise StoreError(f"A time in row {number} is {bounded_text(value, 40)}; pass microseconds since 1970.")
    return value


def _question(row: Imported, study: int, participant: int) -> dict[str, Any]:
    # If the left side is unknown, use the smaller id, so that the side does not depend on the answer.
    first, second = sorted((row.near, row.far))
    left, at = first if row.left is None else row.left, row.issued_at or 0
    issued = Issued(new_token(), "", row.anchor, first, second, left, row.kind, row.strategy, at, at, row.position)
    return new_question(issued, study, participant)


def _skipped(skip: Skip, study: int, participant: int) -> dict[str, Any]:
    at = skip.skipped_at
    issued = Issued(new_token(), "", *skip[1:4], skip.first, Kind.CHOSEN, IMPORTED, at, at, None)
    return new_question(issued, study, participant)


def _answer(row: Imported, study: int, question: int, sequence: int) -> dict[str, Any]:
    return {
        "study_id": study,
        "sequence": sequence,
        "question_id": question,
        "choice": row.near,
        "response_ms": row.response_ms,
        "client": row.client,
        "answered_at": row.answered_at,
    }

"""Questions issued to participants: each has a secret token, with which one participant can answer it once."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, exists, func, insert, select

from erkle import triplets
from erkle.store import limits
from erkle.store.clock import duration
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Kind, Standing
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.sanitising import bounded_text, is_id, strict_member
from erkle.store.usage import charge

# Seconds for which a question can be answered by default: one hour.
_LIFETIME = 3600.0
# Rows of `Questions.strategies`.
_MOST_STRATEGIES = 50
_Q, _A, _P, _S = schema.questions.c, schema.answers.c, schema.participants.c, schema.studies.c
_INSERT = insert(schema.questions)
IS_ACTIVE = (_P.state == Standing.ACTIVE) & _P.excluded.is_(False)
_ISSUED = (
    _Q.token, _P.public_id, _Q.anchor, _Q.first, _Q.second, _Q.left_object,
    _Q.kind, _Q.strategy, _Q.issued_at, _Q.expires_at, _Q.position,
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

_N_ASKED = select(func.count()).where(_Q.participant_id == bindparam("number"))


class Query(NamedTuple):
    """Is the anchor more like ``first`` or ``second``? ``left`` is the one shown on the left, ``first`` by default."""

    anchor: int
    first: int
    second: int
    left: int | None = None
    kind: Kind = Kind.CHOSEN
    strategy: str = ""


class Issued(NamedTuple):
    """A question that was issued to a participant; ``strategy`` describes how it was chosen.

    ``position`` is the number of the question among those of the participant, from 1, or None if it is unknown.
    """

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
    position: int | None


class Entry(NamedTuple):
    """An issued question and its outcome: the choice, or that it was skipped, or neither so far."""

    issued: Issued
    choice: int | None
    skipped: bool
    response_ms: int | None


class Questions(Topic):
    """Questions issued to participants."""

    @writing
    def issue(
        self,
        study: str,
        participant: str,
        queries: Sequence[Query],
        lifetime: float = _LIFETIME,
        sent_bytes: int = 0,
        quota: int | None = None,
    ) -> list[Issued]:
        """Issue questions to an active participant; they expire after ``lifetime`` seconds.

        If the participants of the study have made the server store ``quota`` bytes, no questions are issued.
        ``sent_bytes`` are counted as well: what the participant has sent with the answer to an earlier question.
        """
        row = rows.lock_participant(self.connection, study, participant)
        if row["excluded"] or row["state"] != Standing.ACTIVE:
            standing = "excluded" if row["excluded"] else row["state"]
            raise NotAllowed(f"The participant is {standing}; questions are issued only to active participants.")
        at = self.clock()
        until = at + duration(lifetime, "The lifetime", limits.LIFETIME_SECONDS)
        asked = self.connection.execute(_N_ASKED, {"number": row["id"]}).scalar_one()
        numbered = enumerate(queries, asked + 1)
        issued = [_issued(query, row["n_objects"], participant, at, until, place) for place, query in numbered]
        n_bytes = sent_bytes + limits.QUESTION_ROW * len(issued)
        if not charge(self.connection, row["study_id"], n_bytes, quota):
            return []
        if issued:
            self.connection.execute(_INSERT, [new_question(each, row["study_id"], row["id"]) for each in issued])
        return issued

    @reading
    def pending(self, study: str) -> list[Issued]:
        """Return the questions of a study that can still be answered, oldest first."""
        query = (
            select(*_ISSUED)
            .join(schema.participants, _P.id == _Q.participant_id)
            .where(_Q.study_id == rows.study(self.connection, study)["id"], *are_open(self.clock()), IS_ACTIVE)
            .order_by(_Q.id)
        )
        return [_read(row) for row in self.connection.execute(query)]

    @reading
    def ledger(self, study: str, participant: str) -> list[Entry]:
        """Return all questions issued to a participant with their outcomes, oldest first."""
        values, known = {"study": study, "participant": participant}, is_id(study) and is_id(participant)
        found = self.connection.execute(_LEDGER, values).all() if known else []
        if not found:
            # Raises if the study or the participant does not exist.
            rows.participant_and_study(self.connection, study, participant)
        return [Entry(_read(row[:-3]), row.choice, row.skipped_at is not None, row.response_ms) for row in found]

    @reading
    def strategies(self, study: str) -> list[tuple[str, str, int, int]]:
        """Return (strategy, kind, number issued, number answered) for each strategy and kind, most issued first.

        This counts all questions of the study, so it is too slow to call for each answer. An import may contain any
        number of strategies; only the first 50 are returned.
        """
        query = (
            select(_Q.strategy, _Q.kind, func.count(), func.count(_A.sequence))
            .select_from(schema.questions.outerjoin(schema.answers, _A.question_id == _Q.id))
            .where(_Q.study_id == rows.study(self.connection, study)["id"])
            .group_by(_Q.strategy, _Q.kind)
            .order_by(func.count().desc(), _Q.strategy, _Q.kind)
            .limit(_MOST_STRATEGIES)
        )
        return [tuple(row) for row in self.connection.execute(query)]


def are_open(at: int) -> Iterator[ColumnElement[bool]]:
    """Yield conditions for questions that active participants can still answer at a given time."""
    yield _Q.expires_at > at
    yield ~exists().where(_A.question_id == _Q.id)
    yield ~exists().where(schema.skips.c.question_id == _Q.id)


def new_question(issued: Issued, study_number: int, participant_number: int) -> dict[str, Any]:
    """Return the row of a new question, given the row numbers of its study and participant."""
    values = issued._asdict()
    del values["participant"]
    return {**values, "left_object": values.pop("left"), "study_id": study_number, "participant_id": participant_number}


def new_token() -> str:
    """Return a random token that nobody can guess."""
    return secrets.token_urlsafe(24)


def _issued(query: Query, n_objects: int, participant: str, at: int, until: int, position: int) -> Issued:
    query = Query(*query)
    [[anchor, first, second]] = triplets.check([query[:3]], n_objects).tolist()
    left = first if query.left is None else query.left
    if left not in (first, second):
        raise StoreError(
            f"left is {bounded_text(left, 40)}, but the choice is between {first} and {second}; pass one of them."
        )
    strategy = bounded_text(query.strategy, limits.STRATEGY)
    kind = strict_member(query.kind, "The kind", Kind)
    return Issued(new_token(), participant, anchor, first, second, int(left), kind, strategy, at, until, position)


def _read(row: Sequence[Any]) -> Issued:
    issued = Issued._make(row)
    return issued._replace(kind=Kind(issued.kind))

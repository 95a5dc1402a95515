"""Answers and skips: at most one answer counts for each question, whatever is sent.

A question that was issued can be answered until it expires, also if the study has been paused or closed since. A
repeated answer gets the same acknowledgement as the first time. A browser that did not receive the acknowledgement can
therefore send the answer again. A different answer to the same question is refused and recorded.

The answers of a study form a log. They are numbered 1, 2, 3, ... without gaps, in the order of their commits. A reader
who has reached an answer has therefore seen all earlier answers. Learners read only the log, without the answers of
excluded participants. The study's ``roster`` is a number that goes up whenever a participant is excluded or included
again. Two learners that have read up to the same answer under the same roster have read the same answers.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import RowMapping, bindparam, func, insert, select

from erkle.store import limits
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Kind, Reason, Standing
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.refusals import Refused, record
from erkle.store.sanitising import Json, bounded_json, bounded_text, is_id

# Number of answers that are read in one transaction.
_PAGE = 1000

_A, _Q, _P = schema.answers.c, schema.questions.c, schema.participants.c
# A question with its participant, its study and, if there is one, its answer or skip.
_ASKED = (
    select(schema.questions, _P.state, _P.excluded)
    .add_columns(_P.public_id.label("participant"))
    .add_columns(schema.studies.c.public_id.label("study"))
    .add_columns(_A.sequence, _A.choice, schema.skips.c.skipped_at)
    .select_from(schema.questions.join(schema.participants).join(schema.studies, _Q.study_id == schema.studies.c.id))
    .outerjoin(schema.answers, _A.question_id == _Q.id)
    .outerjoin(schema.skips, schema.skips.c.question_id == _Q.id)
    .where(_Q.token == bindparam("token"))
)


def _last(study: Any) -> Any:
    """Return a subquery for the number of the last answer of a study, or 0 if it has none."""
    return func.coalesce(select(func.max(_A.sequence)).where(_A.study_id == study).scalar_subquery(), 0)


_LAST = select(
    _last(select(schema.studies.c.id).where(schema.studies.c.public_id == bindparam("study")).scalar_subquery())
)
# No other answer can take the same number, because `_question` locks the study until the commit.
_INSERT = (
    insert(schema.answers)
    .values(
        study_id=bindparam("study"),
        sequence=_last(bindparam("study")) + 1,
        question_id=bindparam("question"),
        choice=bindparam("choice"),
        response_ms=bindparam("response_ms"),
        client=bindparam("client", type_=_A.client.type),
        answered_at=bindparam("answered_at"),
    )
    .returning(_A.sequence)
)
_LOG = (
    select(_A.sequence, _P.public_id, _Q.anchor, _Q.first, _Q.second, _A.choice)
    .add_columns(_Q.kind, _Q.left_object, _Q.strategy, _Q.token)
    .add_columns(_A.response_ms, _A.client, _Q.issued_at, _A.answered_at, _P.excluded, _Q.position)
    .select_from(schema.answers.join(schema.questions).join(schema.participants))
)


class Acknowledged(NamedTuple):
    """The answer counts and is saved to disk; ``repeated`` is true if an earlier call saved it."""

    sequence: int
    repeated: bool


class Skipped(NamedTuple):
    """The question is skipped; ``repeated`` is true if an earlier call skipped it."""

    repeated: bool


class Answer(NamedTuple):
    """An answer that counts: the anchor is more like ``near`` than like ``far``.

    ``position`` is the number of the question among those of the participant, from 1, or None if it is unknown.
    """

    sequence: int
    participant: str
    anchor: int
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
    position: int | None


class Skip(NamedTuple):
    """A question that a participant skipped, with the reason in their words."""

    participant: str
    anchor: int
    first: int
    second: int
    reason: str
    skipped_at: int


class Answers(Topic):
    """Answers and skips, and the log of the answers that count."""

    @writing
    def submit(
        self, study: str, participant: str, token: str, choice: int, response_ms: int | None = None, client: Any = None
    ) -> Acknowledged | Refused:
        """Add the answer that the anchor is more like the object ``choice``.

        An invalid argument raises no error: the result is `Refused`.

        Parameters
        ----------
        study, participant : str
            The study and the participant that the question was issued to.
        token : str
            The token of the question.
        choice : int
            The id of one of the two objects.
        response_ms : int, optional
            Response time in milliseconds; a value outside 0 to one day is stored as None.
        client : anything, optional
            Other data from the browser, truncated to `limits.CLIENT` bytes.

        Returns
        -------
        Acknowledged
            The answer counts and is saved to disk. Repeating it returns the same sequence number.
        Refused
            The answer does not count; it is recorded with the reason.
        """
        at, refuse = self.clock(), partial(self._refuse, study, participant, token, choice=choice, client=client)
        question = self._question(study, participant, token)
        if isinstance(question, Reason):
            return refuse(question)
        if type(choice) is not int or choice not in (question["first"], question["second"]):
            return refuse(Reason.OUT_OF_RANGE)
        if question["choice"] == choice:
            return Acknowledged(question["sequence"], repeated=True)
        reason = _used(question) or _closed(question, at)
        if reason is not None:
            return refuse(reason)
        values = {
            "study": question["study_id"],
            "question": question["id"],
            "choice": choice,
            "response_ms": response_time(response_ms),
            "client": bounded_json(client, limits.CLIENT),
            "answered_at": at,
        }
        return Acknowledged(self.connection.execute(_INSERT, values).scalar_one(), repeated=False)

    @writing
    def skip(self, study: str, participant: str, token: str, reason: str = "") -> Skipped | Refused:
        """Skip a question, with a reason in the participant's words; it can no longer be answered."""
        at, refuse = self.clock(), partial(self._refuse, study, participant, token, reason=reason)
        question = self._question(study, participant, token)
        if isinstance(question, Reason):
            return refuse(question)
        why = _used(question) or _closed(question, at)
        if why == Reason.SKIPPED:
            return Skipped(repeated=True)
        if why is not None:
            return refuse(why)
        values = {"question_id": question["id"], "reason": bounded_text(reason, limits.SKIP_REASON), "skipped_at": at}
        self.connection.execute(insert(schema.skips), values)
        return Skipped(repeated=False)

    @reading
    def last(self, study: str) -> int:
        """Return the number of the study's last answer, which is also its number of answers."""
        found = self.connection.execute(_LAST, {"study": study}).scalar_one() if is_id(study) else 0
        if found == 0:
            # Raise an error if the study does not exist.
            rows.study(self.connection, study)
        return int(found)

    def log(
        self, study: str, after: int = 0, limit: int | None = None, include_excluded: bool = False
    ) -> Iterator[Answer]:
        """Yield the answers numbered above ``after``, in order, and at most ``limit`` of them."""
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(left, _PAGE)
            # One transaction per page, so that a slow reader does not block others.
            page = self._page(study, after, size, include_excluded)
            yield from page
            if len(page) < size:
                return
            after, left = page[-1].sequence, None if left is None else left - size

    @reading
    def skips(self, study: str) -> list[Skip]:
        """Return all skipped questions of a study, oldest first."""
        s = schema.skips.c
        query = (
            select(_P.public_id, _Q.anchor, _Q.first, _Q.second, s.reason, s.skipped_at)
            .select_from(schema.skips.join(schema.questions).join(schema.participants))
            .where(_Q.study_id == rows.study(self.connection, study)["id"])
            .order_by(s.skipped_at, s.question_id)
        )
        return [Skip(*row) for row in self.connection.execute(query)]

    @reading
    def _page(self, study: str, after: int, size: int, include_excluded: bool) -> list[Answer]:
        query = _LOG.where(_A.study_id == rows.study(self.connection, study)["id"], _A.sequence > after)
        if not include_excluded:
            query = query.where(_P.excluded.is_(False))
        return [_answer(row) for row in self.connection.execute(query.order_by(_A.sequence).limit(size))]

    def _question(self, study: str, participant: str, token: str) -> RowMapping | Reason:
        """Lock the study and return the question, or the reason why this participant cannot answer it."""
        values = {"token": token}
        found = self.connection.execute(_ASKED, values).mappings().one_or_none() if is_id(token) else None
        if found is None:
            return Reason.UNKNOWN_TOKEN
        if found["study"] != study:
            return Reason.OTHER_STUDY
        if found["participant"] != participant:
            return Reason.OTHER_PARTICIPANT
        if self.connection.dialect.name == "sqlite":
            # The whole database has been locked since the transaction began.
            return found
        rows.lock_study(self.connection, study)
        # Read again: another answer may have been added before the lock was granted.
        return self.connection.execute(_ASKED, values).mappings().one()

    def _refuse(self, study: str, participant: str, token: str, why: Reason, **sent: Any) -> Refused:
        # 450 bytes each: at most two values are sent, and together they must fit into `limits.REFUSED`.
        payload = {name: bounded_text(value, 450) for name, value in sent.items()}
        record(self.connection, why, study, participant, token, payload, self.clock())
        return Refused(why)


def response_time(value: object) -> int | None:
    """Return a valid response time, or None for any other value, so that the answer is saved without its time."""
    return value if type(value) is int and 0 <= value <= limits.RESPONSE_MS else None


def _used(question: RowMapping) -> Reason | None:
    """Return the reason for a refusal if the question was already answered or skipped."""
    if question["sequence"] is not None:
        return Reason.ANSWERED
    return Reason.SKIPPED if question["skipped_at"] is not None else None


def _closed(question: RowMapping, at: int) -> Reason | None:
    """Return the reason for a refusal if the question cannot be answered now."""
    if question["excluded"]:
        return Reason.EXCLUDED
    if question["state"] != Standing.ACTIVE:
        return Reason.ENDED
    return None if question["expires_at"] > at else Reason.EXPIRED


def _answer(row: Sequence[Any]) -> Answer:
    sequence, participant, anchor, first, second, choice, kind, *others = row
    return Answer(sequence, participant, anchor, choice, first + second - choice, Kind(kind), *others)

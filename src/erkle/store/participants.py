"""Participants: who is asked, how their participation ended, and whether their answers are used.

Excluding a participant changes no answer: the log leaves their answers out until they are included again. Each of
these changes increases the study's ``roster``. Anything learned under another roster must be learned again.
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, case, exists, func, insert, or_, select, update

from erkle.store import limits
from erkle.store.clock import duration
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Standing, State
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import Full, NotAllowed, NotOpen, OverQuota, StoreError
from erkle.store.sanitising import Json, bounded_json, bounded_text, json_bytes
from erkle.store.usage import charge

_T, _Q = schema.participants.c, schema.questions.c
# Whether a participant has answered or skipped a question.
_HAS_ANSWERED = exists().where(
    _Q.participant_id == _T.id,
    or_(exists().where(schema.answers.c.question_id == _Q.id), exists().where(schema.skips.c.question_id == _Q.id)),
)
_BY_NUMBER = select(schema.participants).where(_T.id == bindparam("number"))
# The standings in which a participation can end.
ENDINGS = (Standing.COMPLETED, Standing.FAILED, Standing.SCREENED, Standing.CLOSED)


class Participant(NamedTuple):
    """A participant of a study; within a study, no two participants have the same ``identity``.

    ``state`` is a `Standing`, and stays what it is when the participant is excluded.
    """

    id: str
    parameters: Json
    state: Standing
    excluded: bool
    joined_at: int
    identity: str | None
    flagged: bool


class Presence(NamedTuple):
    """How many participants take part now; excluded ones and those who have finished do not.

    Active participants have answered, skipped or been asked a question lately. Unfinished ones have a question that
    they can still answer.
    """

    active: int
    unfinished: int


class Participants(Topic):
    """Participants: who is asked, how their participation ended, and whether their answers are used."""

    @writing
    def join(
        self,
        study: str,
        parameters: Json | None = None,
        identity: str | None = None,
        most: int | None = None,
        idle_seconds: float = limits.LIFETIME_SECONDS,
        quota: int | None = None,
    ) -> Participant:
        """Add a participant to an open study, with the parameters of the link that they followed.

        If a participant with this identity, such as ``PROLIFIC_PID=abc``, has already joined, that participant is
        returned. Anybody else is refused with `Full` if the study has ``most`` participants (see `is_full`), and with
        `OverQuota` if its participants have made the server store ``quota`` bytes.
        """
        row = rows.lock_study(self.connection, study)
        if identity is not None and (joined := self.identified(study, identity)):
            return joined
        known = None if identity is None else bounded_identity(identity)
        if row["state"] != State.OPEN:
            raise NotOpen(f"The study is {row['state']}; participants can join only while it is open.")
        if most is not None and self.is_full(study, most, idle_seconds):
            raise Full(f"The study is full: it already has {most} participants.")
        parameters = bounded_json(parameters, limits.PARAMETERS)
        n_bytes = limits.PARTICIPANT_ROW + json_bytes(parameters) + len((known or "").encode())
        if not charge(self.connection, row["id"], n_bytes, quota):
            raise OverQuota(f"The study has stored the {quota:,} bytes that its participants may send.")
        values = new_participant(row["id"], parameters, Standing.ACTIVE, self.clock(), known)
        [number] = join_all(self.connection, [values])
        return self._where(_T.id == number)[0]

    @reading
    def is_full(self, study: str, most: int, idle_seconds: float) -> bool:
        """Return whether ``most`` participants have a place in a study.

        Participants have a place once they have answered or skipped a question, and for ``idle_seconds`` after they
        have joined. Excluded participants have none: their answers are not used, so somebody else may join instead.
        """
        since = self.clock() - duration(idle_seconds, "The idle time", limits.LIFETIME_SECONDS)
        number, has_place = rows.study(self.connection, study)["id"], or_(_T.joined_at > since, _HAS_ANSWERED)
        # The limit ends the search early.
        taken = select(_T.id).where(_T.study_id == number, _T.excluded.is_(False), has_place).limit(most).subquery()
        return self.connection.execute(select(func.count()).select_from(taken)).scalar_one() == most

    @reading
    def presence(self, study: str, seconds: float) -> Presence:
        """Return how many participants of a study take part now."""
        number, at = rows.study(self.connection, study)["id"], self.clock()
        since = at - duration(seconds, "The time", limits.LIFETIME_SECONDS)
        a, k = schema.answers.c, schema.skips.c
        # Whatever happened since then happened to a question that had not expired by then.
        known = (
            select(_Q.participant_id, _Q.issued_at, _Q.expires_at, a.answered_at, k.skipped_at)
            .select_from(schema.questions.join(schema.participants, _T.id == _Q.participant_id))
            .outerjoin(schema.answers, a.question_id == _Q.id)
            .outerjoin(schema.skips, k.question_id == _Q.id)
            .where(_Q.study_id == number, _Q.expires_at > since)
            .where(_T.state == Standing.ACTIVE, _T.excluded.is_(False))
            .subquery()
            .c
        )
        is_active = or_(known.issued_at > since, known.answered_at > since, known.skipped_at > since)
        is_open = (known.expires_at > at) & known.answered_at.is_(None) & known.skipped_at.is_(None)
        active, unfinished = (
            func.count(func.distinct(case((each, known.participant_id)))) for each in (is_active, is_open)
        )
        return Presence(*self.connection.execute(select(active, unfinished)).one())

    @reading
    def get(self, study: str, participant: str) -> Participant:
        """Return the participant with this id."""
        row = rows.participant_and_study(self.connection, study, participant)
        return _participant(self.connection.execute(_BY_NUMBER, {"number": row["id"]}).mappings().one())

    @reading
    def identified(self, study: str, identity: str) -> Participant | None:
        """Return the participant with this identity, or None if nobody has joined with it."""
        number = rows.study(self.connection, study)["id"]
        found = self._where(_T.study_id == number, _T.identity == bounded_identity(identity))
        return found[0] if found else None

    @reading
    def all(self, study: str) -> list[Participant]:
        """Return all participants of a study, in the order in which they joined."""
        return self._where(_T.study_id == rows.study(self.connection, study)["id"])

    @writing
    def finish(self, study: str, participant: str, standing: Standing) -> Participant:
        """End an active participation: completed, failed because of the checks, screened out, or back too late."""
        if standing not in ENDINGS:
            raise StoreError(f"The standing is {bounded_text(standing, 40)!r}; pass one of {', '.join(ENDINGS)}.")
        row = rows.lock_participant(self.connection, study, participant)
        if row["state"] not in (Standing.ACTIVE, standing):
            raise NotAllowed(f"The participant is already {row['state']} and cannot become {standing}.")
        return self._change([row["id"]], state=Standing(standing))[0]

    @writing
    def flag(self, study: str, participants: Sequence[str], flagged: bool) -> list[Participant]:
        """Mark participants for review, or remove the marks, all or none; their answers are not affected."""
        rows.lock_study(self.connection, study)
        return self._change([each["id"] for each in self._rows(study, participants)], flagged=bool(flagged))

    @writing
    def exclude(self, study: str, participants: Sequence[str], excluded: bool = True) -> list[Participant]:
        """Refuse further answers of participants and leave all their answers out of the log, or undo this.

        It happens to all of them or to none. A call that changes anything increases the study's roster.
        """
        number = rows.lock_study(self.connection, study)["id"]
        numbers = [each["id"] for each in self._rows(study, participants)]
        exclude(self.connection, number, numbers, bool(excluded))
        return self._where(_T.id.in_(numbers))

    def _rows(self, study: str, participants: Sequence[str]) -> list[RowMapping]:
        return [rows.participant_and_study(self.connection, study, each) for each in participants]

    def _change(self, numbers: Sequence[int], **values: Any) -> list[Participant]:
        """Change rows of participants, and return the participants in the order in which they joined."""
        changed = _T.id.in_(numbers)
        self.connection.execute(update(schema.participants).where(changed).values(**values))
        return self._where(changed)

    def _where(self, *conditions: ColumnElement[bool]) -> list[Participant]:
        query = select(schema.participants).where(*conditions).order_by(_T.id)
        return [_participant(row) for row in self.connection.execute(query).mappings()]


def exclude(connection: Connection, study_number: int, participants: Sequence[int], excluded: bool = True) -> None:
    """Exclude or include participants, given their rows; if this changes anything, increase the study's roster."""
    change = update(schema.participants).where(_T.id.in_(participants), _T.excluded != excluded)
    if connection.execute(change.values(excluded=excluded)).rowcount:
        t = schema.studies
        connection.execute(update(t).where(t.c.id == study_number).values(roster=t.c.roster + 1))


def bounded_identity(identity: object) -> str:
    """Return an identity short enough to index; a long one becomes its beginning and a digest, and stays unique.

    >>> bounded_identity("PROLIFIC_PID=abc")
    'PROLIFIC_PID=abc'
    >>> len(bounded_identity("PROLIFIC_PID=" + "abc" * 1000))
    165
    """
    text = bounded_text(identity, limits.IDENTITY)
    if text == identity and len(text.encode()) < limits.IDENTITY:
        return text
    digest = hashlib.sha256(str(identity).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{bounded_text(text, 100)} {digest}"


def join_all(connection: Connection, participants: Sequence[dict[str, Any]]) -> list[int]:
    """Add rows of participants and return their numbers."""
    if not participants:
        return []
    added = insert(schema.participants).returning(_T.id, sort_by_parameter_order=True)
    return list(connection.execute(added, participants).scalars())


def new_participant(
    study_number: int,
    parameters: Json,
    standing: Standing,
    joined_at: int,
    identity: str | None,
    excluded: bool = False,
    flagged: bool = False,
) -> dict[str, Any]:
    """Return the row of a new participant, with a new id; ``parameters`` are bounded already."""
    return {
        "public_id": secrets.token_urlsafe(18),
        "study_id": study_number,
        "parameters": parameters,
        "state": standing,
        "excluded": excluded,
        "joined_at": joined_at,
        "identity": None if identity is None else bounded_identity(identity),
        "flagged": flagged,
    }


def _participant(row: RowMapping) -> Participant:
    known = (
        row["parameters"],
        Standing(row["state"]),
        row["excluded"],
        row["joined_at"],
        row["identity"],
        row["flagged"],
    )
    return Participant(row["public_id"], *known)

"""Participants: who is asked, how their participation ended, and whether their answers are used.

Excluding a participant changes no answer: the log leaves their answers out until they are included again. Each of
these changes increases the study's ``roster``. Anything learned under another roster must be learned again.
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, func, insert, select, update

from erkle.store import limits
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Standing, State
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import Full, NotAllowed, StoreError
from erkle.store.sanitising import Json, bounded_json, bounded_text

_T = schema.participants.c
_BY_NUMBER = select(schema.participants).where(_T.id == bindparam("number"))
# The standings in which a participation can end.
ENDINGS = (Standing.COMPLETED, Standing.FAILED, Standing.SCREENED)


class Participant(NamedTuple):
    """A participant of a study; within a study, no two participants have the same ``identity``."""

    id: str
    parameters: Json
    standing: Standing
    joined_at: int
    identity: str | None
    flagged: bool


class Participants(Topic):
    """Participants: who is asked, how their participation ended, and whether their answers are used."""

    @writing
    def join(
        self, study: str, parameters: Json | None = None, identity: str | None = None, most: int | None = None
    ) -> Participant:
        """Add a participant to an open study, with the parameters of the link that they followed.

        If a participant with this identity, such as ``PROLIFIC_PID=abc``, has already joined, that participant is
        returned. Anybody else is refused with `Full` once the study has ``most`` participants who are not excluded.
        """
        row = rows.lock_study(self.connection, study)
        known = None if identity is None else bounded_identity(identity)
        if known is not None and (joined := self._where(_T.study_id == row["id"], _T.identity == known)):
            return joined[0]
        if row["state"] != State.OPEN:
            raise NotAllowed(f"The study is {row['state']}; participants can join only while it is open.")
        # Excluded participants do not count: their answers are not used, so somebody else may join instead.
        taken = select(func.count()).where(_T.study_id == row["id"], _T.excluded.is_(False))
        if most is not None and self.connection.execute(taken).scalar_one() >= most:
            raise Full(f"The study is full: it already has {most} participants.")
        parameters = bounded_json(parameters, limits.PARAMETERS)
        values = new_participant(row["id"], parameters, Standing.ACTIVE, self.clock(), known)
        [number] = join_all(self.connection, [values])
        return self._where(_T.id == number)[0]

    @reading
    def get(self, study: str, participant: str) -> Participant:
        """Return the participant with this id."""
        row = rows.participant_and_study(self.connection, study, participant)
        return _participant(self.connection.execute(_BY_NUMBER, {"number": row["id"]}).mappings().one())

    @reading
    def all(self, study: str) -> list[Participant]:
        """Return all participants of a study, in the order in which they joined."""
        return self._where(_T.study_id == rows.study(self.connection, study)["id"])

    @writing
    def finish(self, study: str, participant: str, standing: Standing) -> Participant:
        """End an active participation: completed, failed because of the checks, or screened out."""
        if standing not in ENDINGS:
            raise StoreError(f"The standing is {bounded_text(standing, 40)!r}; pass one of {', '.join(ENDINGS)}.")
        row = rows.lock_participant(self.connection, study, participant)
        if row["state"] not in (Standing.ACTIVE, standing):
            raise NotAllowed(f"The participant is already {row['state']} and cannot become {standing}.")
        return self._change(row, state=Standing(standing))

    @writing
    def flag(self, study: str, participant: str, flagged: bool) -> Participant:
        """Mark a participant for review, or remove the mark; their answers are not affected."""
        row = rows.lock_participant(self.connection, study, participant)
        return self._change(row, flagged=bool(flagged))

    @writing
    def exclude(self, study: str, participant: str, excluded: bool = True) -> Participant:
        """Refuse further answers of a participant and leave all their answers out of the log, or undo this.

        Each change increases the study's roster.
        """
        row = rows.lock_participant(self.connection, study, participant)
        if row["excluded"] != excluded:
            t = schema.studies
            self.connection.execute(update(t).where(t.c.id == row["study_id"]).values(roster=t.c.roster + 1))
        return self._change(row, excluded=bool(excluded))

    def _change(self, row: RowMapping, **values: Any) -> Participant:
        self.connection.execute(update(schema.participants).where(_T.id == row["id"]).values(**values))
        return self._where(_T.id == row["id"])[0]

    def _where(self, *conditions: ColumnElement[bool]) -> list[Participant]:
        query = select(schema.participants).where(*conditions).order_by(_T.id)
        return [_participant(row) for row in self.connection.execute(query).mappings()]


def standing_of(row: RowMapping) -> Standing:
    """Return the standing of a participant, given their row."""
    return Standing.EXCLUDED if row["excluded"] else Standing(row["state"])


def bounded_identity(identity: object) -> str:
    """Return an identity short enough to index; a long one becomes its beginning and a digest, and stays unique.

    >>> bounded_identity("PROLIFIC_PID=abc")
    'PROLIFIC_PID=abc'
    >>> len(bounded_identity("PROLIFIC_PID=" + "abc" * 1000))
    165
    """
    text = bounded_text(identity, limits.IDENTITY)
    if text == identity and len(text) < limits.IDENTITY:
        return text
    digest = hashlib.sha256(str(identity).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:100]} {digest}"


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
    known = row["parameters"], standing_of(row), row["joined_at"], row["identity"], row["flagged"]
    return Participant(row["public_id"], *known)

"""Participants: who is asked, how it ended for them, and whether their answers are used.

Excluding somebody changes no answer. From then on the log leaves them out, and including them again brings them back.
Each such change increases the study's ``roster``: what was learned under another roster has to be learned anew.
"""

import hashlib
import secrets
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, RowMapping, bindparam, func, insert, select, update

from erkle.store import limits
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Standing, State
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import Full, NotAllowed, StoreError
from erkle.store.sanitising import Json, bounded_json, bounded_text

_T = schema.participants.c
_WHOLE = select(schema.participants).where(_T.id == bindparam("number"))
# How a participation can end.
ENDINGS = (Standing.COMPLETED, Standing.FAILED, Standing.SCREENED)


class Participant(NamedTuple):
    """Somebody who takes part in a study; no two of a study have the same ``identity``."""

    id: str
    parameters: Json
    standing: Standing
    joined_at: int
    identity: str | None
    flagged: bool


class Participants(Topic):
    """Participants: who is asked, how it ended for them, and whether their answers are used."""

    @writing
    def join(
        self, study: str, parameters: Json | None = None, identity: str | None = None, most: int | None = None
    ) -> Participant:
        """Add a participant to an open study, with the parameters of the link that they followed.

        An identity, such as ``PROLIFIC_PID=abc``, that has joined already gets the participant that exists.
        Others are refused (`Full`) when the study has ``most`` participants who are not excluded.
        """
        row = rows.lock_study(self.connection, study)
        known = None if identity is None else bounded_identity(identity)
        if known is not None and (joined := self._where(_T.study_id == row["id"], _T.identity == known)):
            return joined[0]
        if row["state"] != State.OPEN:
            raise NotAllowed(f"The study is {row['state']}; people can join when it is open.")
        # Somebody whose answers are not used makes room for somebody else.
        taken = select(func.count()).where(_T.study_id == row["id"], _T.excluded.is_(False))
        if most is not None and self.connection.execute(taken).scalar_one() >= most:
            raise Full(f"The study has {most} participants, which is all that it takes.")
        values = new_participant(row["id"], parameters or {}, Standing.ACTIVE, self.clock(), known)
        number = self.connection.execute(insert(schema.participants).returning(_T.id), values).scalar_one()
        return self._where(_T.id == number)[0]

    @reading
    def get(self, study: str, participant: str) -> Participant:
        """The participant with this id."""
        row = rows.participant_and_study(self.connection, study, participant)
        return _participant(self.connection.execute(_WHOLE, {"number": row["id"]}).mappings().one())

    @reading
    def all(self, study: str) -> list[Participant]:
        """All participants of a study, in the order in which they joined."""
        return self._where(_T.study_id == rows.study(self.connection, study)["id"])

    @writing
    def finish(self, study: str, participant: str, standing: Standing) -> Participant:
        """End an active participation: it was completed, its checks were failed, or it was screened out."""
        if standing not in ENDINGS:
            raise StoreError(f"The ending is {bounded_text(standing, 40)!r}; pass one of {', '.join(ENDINGS)}.")
        row = rows.lock_participant(self.connection, study, participant)
        if row["state"] not in (Standing.ACTIVE, standing):
            raise NotAllowed(f"The participant is {row['state']} already; that cannot become {standing}.")
        return self._change(row, state=Standing(standing))

    @writing
    def flag(self, study: str, participant: str, flagged: bool) -> Participant:
        """Mark somebody for a second look, or take the mark away; their answers stay what they are."""
        row = rows.lock_participant(self.connection, study, participant)
        return self._change(row, flagged=bool(flagged))

    @writing
    def exclude(self, study: str, participant: str, excluded: bool = True) -> Participant:
        """Take no more answers of somebody, and leave theirs out of the log; or, if not excluded, use them again.

        Each such change increases the study's roster.
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
    """How the participant of a row stands."""
    return Standing.EXCLUDED if row["excluded"] else Standing(row["state"])


def bounded_identity(identity: object) -> str:
    """A text that an index can hold; of a long one the beginning and a digest, so that no two become the same.

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


def new_participant(
    study_number: int,
    parameters: Json,
    standing: Standing,
    joined_at: int,
    identity: str | None,
    excluded: bool = False,
    flagged: bool = False,
) -> dict[str, Any]:
    """The row of a new participant, with a new id."""
    return {
        "public_id": secrets.token_urlsafe(18),
        "study_id": study_number,
        "parameters": bounded_json(parameters, limits.PARAMETERS),
        "state": standing,
        "excluded": excluded,
        "joined_at": joined_at,
        "identity": None if identity is None else bounded_identity(identity),
        "flagged": flagged,
    }


def _participant(row: RowMapping) -> Participant:
    known = row["parameters"], standing_of(row), row["joined_at"], row["identity"], row["flagged"]
    return Participant(row["public_id"], *known)

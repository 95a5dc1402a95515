"""Participants: who is asked, how it ended for them, and whether their answers are used.

To exclude somebody changes no answer. The log leaves them out from then on, and to include them again brings them
back. Each such change counts up the study's ``roster``: what was learned under another roster is to be learned anew.
"""

import hashlib
import secrets
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, Select, bindparam, func, insert, select, update

from erkle.store import schema, sizes, studies
from erkle.store.damaged import member, moment, roster, text
from erkle.store.errors import Full, NotAllowed, StoreError, Unknown
from erkle.store.sanitising import Json, bounded_json, bounded_text, is_id

__all__ = ["Participant", "Standing", "exclude", "finish", "flag", "get", "join", "listed"]

_PARAMETERS, _IDENTITY = 4000, 200

_T = schema.participants.c
_OF_STUDY = (_T.public_id == bindparam("participant"), _T.study_id == bindparam("study"))
_WHOLE = select(schema.participants).where(*_OF_STUDY)
_FOUND = select(_T.id, _T.public_id, _T.study_id, _T.state, _T.excluded).where(*_OF_STUDY)
_WITH_STUDY = (
    select(_T.id, _T.public_id, _T.study_id, _T.state, _T.excluded, schema.studies.c.n_objects)
    .add_columns(schema.studies.c.state.label("study_state"))
    .add_columns(sizes.last_object(schema.studies.c.id).label("last_object"))
    .join(schema.studies)
    .where(_T.public_id == bindparam("participant"), schema.studies.c.public_id == bindparam("study"))
)

# Whose answers are not used makes room for somebody else.
_COUNTED = select(func.count()).where(_T.study_id == bindparam("study"), _T.excluded.is_(False))


class Standing(StrEnum):
    """How it stands with a participant."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    SCREENED = "screened"
    EXCLUDED = "excluded"


class Participant(NamedTuple):
    """Somebody who takes part in a study; no two of it have the same ``identity``."""

    id: str
    parameters: Json
    standing: Standing
    joined_at: int
    identity: str | None
    flagged: bool


def join(
    connection: Connection, study: str, parameters: Json, identity: str | None, most: int | None, at: int
) -> Participant:
    """A new participant of an open study, or the one that has joined it with this identity."""
    row = studies.locked(connection, study)
    known = None if identity is None else bounded_identity(identity)
    if known is not None and (joined := _identified(connection, row["id"], known)):
        return joined
    if not studies.is_open(row):
        raise NotAllowed(f"The study is {row['state']}; people can join when it is open.")
    if most is not None and connection.execute(_COUNTED, {"study": row["id"]}).scalar_one() >= most:
        raise Full(f"The study has {most} participants, which is all that it takes.")
    values: dict[str, Any] = {
        "public_id": secrets.token_urlsafe(18),
        "study_id": row["id"],
        "parameters": bounded_json(parameters, _PARAMETERS),
        "state": Standing.ACTIVE,
        "excluded": False,
        "joined_at": at,
        "identity": known,
        "flagged": False,
    }
    connection.execute(insert(schema.participants), values)
    return _get(connection, row["id"], values["public_id"])


def get(connection: Connection, study: str, participant: str) -> Participant:
    """The participant with this id."""
    return _get(connection, studies.find(connection, study)["id"], participant)


def listed(connection: Connection, study: str) -> list[Participant]:
    """All participants of a study, the first first, but for those that no id leads to."""
    t = schema.participants
    query = select(t).where(t.c.study_id == studies.find(connection, study)["id"]).order_by(t.c.id)
    rows = connection.execute(query).mappings().all()
    return [_participant(row) for row in rows if is_id(row["public_id"])]


def finish(connection: Connection, study: str, participant: str, standing: Standing) -> Participant:
    """An active participant has completed the study, failed its checks or was screened out."""
    endings = (Standing.COMPLETED, Standing.FAILED, Standing.SCREENED)
    if standing not in endings:
        raise StoreError(f"The ending is {bounded_text(standing, 40)!r}; pass one of {', '.join(endings)}.")
    row = find(connection, studies.locked(connection, study)["id"], participant)
    if (state := _state_of(row)) not in (Standing.ACTIVE, standing):
        raise NotAllowed(f"The participant is {state} already; that cannot become {standing}.")
    _change(connection, row, state=Standing(standing))
    return _get(connection, row["study_id"], participant)


def exclude(connection: Connection, study: str, participant: str, excluded: bool) -> Participant:
    """Leave somebody out of the log, or take them into it again."""
    owner = studies.locked(connection, study)
    row = find(connection, owner["id"], participant)
    if row["excluded"] != excluded:
        _change(connection, row, excluded=excluded)
        values = {"roster": _next_roster(connection, owner)}
        connection.execute(update(schema.studies).where(schema.studies.c.id == owner["id"]).values(values))
    return _get(connection, owner["id"], participant)


def _next_roster(connection: Connection, study: studies.Row) -> int:
    """One that there has not been; where the study's is damaged, snapshots may be of any up to the greatest."""
    if study["roster"] >= 0:
        return int(study["roster"]) + 1
    t = schema.snapshots.c
    known = connection.execute(select(t.roster).where(t.study_id == study["id"])).scalars().all()
    return 1 + max((roster(each) for each in known), default=-1)


def flag(connection: Connection, study: str, participant: str, flagged: bool) -> Participant:
    """Mark somebody for a second look, or take the mark away; their answers stay what they are."""
    row = find(connection, studies.locked(connection, study)["id"], participant)
    _change(connection, row, flagged=bool(flagged))
    return _get(connection, row["study_id"], participant)


def find(connection: Connection, study_number: int, participant: str) -> RowMapping:
    """The participant's row."""
    return _found(connection, _FOUND, study_number, participant)


def of(connection: Connection, study: str, participant: str) -> RowMapping:
    """The participant's row, and what is most asked of their study, in one statement."""
    values = {"study": study, "participant": participant}
    known = is_id(study) and is_id(participant)
    row = connection.execute(_WITH_STUDY, values).mappings().one_or_none() if known else None
    if row is None:
        # One of the two is not there; each says so in its own words.
        find(connection, studies.find(connection, study)["id"], participant)
        return of(connection, study, participant)
    return row


def locked(connection: Connection, study: str, participant: str) -> RowMapping:
    """The same, when nobody else may change the study until this transaction ends."""
    if connection.dialect.name != "sqlite":
        # In a statement of its own: a join that has waited for the lock shows a participant of before.
        studies.locked(connection, study)
    return of(connection, study, participant)


def bounded_identity(identity: object) -> str:
    """A text that an index can hold; of a long one the beginning and a digest, so that no two become the same.

    >>> bounded_identity("PROLIFIC_PID=abc")
    'PROLIFIC_PID=abc'
    >>> len(bounded_identity("PROLIFIC_PID=" + "abc" * 1000))
    165
    """
    text = bounded_text(identity, _IDENTITY)
    if text == identity and len(text) < _IDENTITY:
        return text
    digest = hashlib.sha256(str(identity).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:100]} {digest}"


def standing_of(row: RowMapping) -> Standing:
    """How it stands with the participant of a row."""
    return Standing.EXCLUDED if row["excluded"] else _state_of(row)


def _state_of(row: RowMapping) -> Standing:
    """What was written of them; who has a state that is none goes on, and so comes to one again."""
    return member(row["state"], Standing.ACTIVE)


def _participant(row: RowMapping) -> Participant:
    identity = None if row["identity"] is None else text(row["identity"])
    known = row["parameters"], standing_of(row), moment(row["joined_at"]), identity, row["flagged"]
    return Participant(row["public_id"], *known)


def _get(connection: Connection, study_number: int, participant: str) -> Participant:
    return _participant(_found(connection, _WHOLE, study_number, participant))


def _found(connection: Connection, query: Select[Any], study_number: int, participant: str) -> RowMapping:
    values = {"study": study_number, "participant": participant}
    row = connection.execute(query, values).mappings().one_or_none() if is_id(participant) else None
    if row is None:
        raise Unknown(f"There is no participant {bounded_text(participant, 40)!r} in this study; check the id.")
    return row


def _identified(connection: Connection, study_number: int, identity: str) -> Participant | None:
    t = schema.participants
    query = select(t).where(t.c.study_id == study_number, t.c.identity == identity)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _participant(row)


def _change(connection: Connection, row: RowMapping, **values: Any) -> None:
    connection.execute(update(schema.participants).where(schema.participants.c.id == row["id"]).values(**values))

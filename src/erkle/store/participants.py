"""Participants: who is asked, how it ended for them, and whether their answers are used.

To exclude somebody changes no answer. The log leaves them out from then on, and to include them again brings them
back. Each such change counts up the study's ``roster``: what was learned under another roster is to be learned anew.
"""

import secrets
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, insert, select, update

from erkle.store import schema, studies
from erkle.store.errors import NotAllowed, StoreError, Unknown
from erkle.store.outside import Json, bounded_json, bounded_text, is_id

__all__ = ["Participant", "Standing", "exclude", "finish", "get", "join", "listed"]

_PARAMETERS = 4000


class Standing(StrEnum):
    """How it stands with a participant."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    SCREENED = "screened"
    EXCLUDED = "excluded"


class Participant(NamedTuple):
    """Somebody who takes part in a study."""

    id: str
    parameters: Json
    standing: Standing
    joined_at: int


def join(connection: Connection, study: str, parameters: Json, at: int) -> Participant:
    """A new participant of an open study, with the parameters of the link that they followed."""
    row = studies.locked(connection, study)
    if not studies.is_open(row):
        raise NotAllowed(f"The study is {row['state']}; people can join when it is open.")
    values: dict[str, Any] = {
        "public_id": secrets.token_urlsafe(18),
        "study_id": row["id"],
        "parameters": bounded_json(parameters, _PARAMETERS),
        "state": Standing.ACTIVE,
        "excluded": False,
        "joined_at": at,
    }
    connection.execute(insert(schema.participants), values)
    return get(connection, study, values["public_id"])


def get(connection: Connection, study: str, participant: str) -> Participant:
    """The participant with this id."""
    return _participant(find(connection, studies.find(connection, study)["id"], participant))


def listed(connection: Connection, study: str) -> list[Participant]:
    """All participants of a study, the first first."""
    t = schema.participants
    query = select(t).where(t.c.study_id == studies.find(connection, study)["id"]).order_by(t.c.id)
    return [_participant(row) for row in connection.execute(query).mappings()]


def finish(connection: Connection, study: str, participant: str, standing: Standing) -> Participant:
    """An active participant has completed the study, failed its checks or was screened out."""
    endings = (Standing.COMPLETED, Standing.FAILED, Standing.SCREENED)
    if standing not in endings:
        raise StoreError(f"The ending is {bounded_text(standing, 40)!r}; pass one of {', '.join(endings)}.")
    row = find(connection, studies.locked(connection, study)["id"], participant)
    if row["state"] not in (Standing.ACTIVE, standing):
        raise NotAllowed(f"The participant is {row['state']} already; that cannot become {standing}.")
    _change(connection, row, state=Standing(standing))
    return get(connection, study, participant)


def exclude(connection: Connection, study: str, participant: str, excluded: bool) -> Participant:
    """Leave somebody out of the log, or take them into it again."""
    owner = studies.locked(connection, study)
    row = find(connection, owner["id"], participant)
    if row["excluded"] != excluded:
        _change(connection, row, excluded=excluded)
        raised = update(schema.studies).where(schema.studies.c.id == owner["id"]).values(roster=owner["roster"] + 1)
        connection.execute(raised)
    return get(connection, study, participant)


def find(connection: Connection, study_number: int, participant: str) -> RowMapping:
    """The participant's row."""
    t = schema.participants
    query = select(t).where(t.c.public_id == participant, t.c.study_id == study_number)
    row = connection.execute(query).mappings().one_or_none() if is_id(participant) else None
    if row is None:
        raise Unknown(f"There is no participant {bounded_text(participant, 40)!r} in this study; check the id.")
    return row


def standing_of(row: RowMapping) -> Standing:
    """How it stands with the participant of a row."""
    return Standing.EXCLUDED if row["excluded"] else Standing(row["state"])


def _participant(row: RowMapping) -> Participant:
    return Participant(row["public_id"], row["parameters"], standing_of(row), row["joined_at"])


def _change(connection: Connection, row: RowMapping, **values: Any) -> None:
    connection.execute(update(schema.participants).where(schema.participants.c.id == row["id"]).values(**values))

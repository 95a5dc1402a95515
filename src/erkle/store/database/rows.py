"""Rows of studies and participants, found by their public ids.

Every write to a study first locks the study's row. The writes to one study therefore happen one after another, also on
PostgreSQL.
"""

from typing import Any

from sqlalchemy import Connection, RowMapping, Select, bindparam, select

from erkle.store.database import schema
from erkle.store.database.contention import waiting_for
from erkle.store.errors import Unknown
from erkle.store.sanitising import bounded_text, is_id

_S, _P = schema.studies.c, schema.participants.c
# Without the settings: parsing their JSON takes longer than finding the row.
_STUDY = select(_S.id, _S.public_id, _S.state, _S.n_objects, _S.roster).where(_S.public_id == bindparam("study"))
# FOR NO KEY UPDATE: others can still add rows that refer to the study. SQLite ignores it: its writers lock everything.
_LOCKED = _STUDY.with_for_update(key_share=True)
_LOCKED_EXCLUSIVELY = _STUDY.with_for_update()
_WITH_STUDY = (
    select(_P.id, _P.public_id, _P.study_id, _P.state, _P.excluded, _S.n_objects)
    .join(schema.studies)
    .where(_P.public_id == bindparam("participant"), _S.public_id == bindparam("study"))
)


def study(connection: Connection, study: str) -> RowMapping:
    """Return the row of a study."""
    return found_study(connection, _STUDY, study)


def lock_study(connection: Connection, study: str, exclusive: bool = False) -> RowMapping:
    """Lock the row of a study until this transaction ends; an exclusive lock also refuses new rows that refer to it."""
    with waiting_for(connection, study):
        return found_study(connection, _LOCKED_EXCLUSIVELY if exclusive else _LOCKED, study)


def participant_and_study(connection: Connection, study: str, participant: str) -> RowMapping:
    """Return the row of a participant, with the number of objects of their study."""
    values, known = {"study": study, "participant": participant}, is_id(study) and is_id(participant)
    row = connection.execute(_WITH_STUDY, values).mappings().one_or_none() if known else None
    if row is None:
        # Raises if it is the study that does not exist.
        found_study(connection, _STUDY, study)
        raise Unknown(f"There is no participant {bounded_text(participant, 40)!r} in this study; check the id.")
    return row


def lock_participant(connection: Connection, study: str, participant: str) -> RowMapping:
    """Lock the study, and return the row of a participant as `participant_and_study` does."""
    if connection.dialect.name != "sqlite":
        # In a separate statement: a join that waits for the lock would return the participant from before the wait.
        lock_study(connection, study)
    return participant_and_study(connection, study, participant)


def found_study(connection: Connection, query: Select[Any], study: str) -> RowMapping:
    """Return the row of a study that a query finds by its public id."""
    row = connection.execute(query, {"study": study}).mappings().one_or_none() if is_id(study) else None
    if row is None:
        raise unknown_study(study)
    return row


def unknown_study(study: str) -> Unknown:
    """Return the error for a study that does not exist, or that the caller must not see."""
    return Unknown(f"There is no study {bounded_text(study, 40)!r}; check the id.")

"""Rows of studies and participants, found by their public ids.

Every write that concerns a study locks its row first. So the writes of a study happen one after the other, on
PostgreSQL too, and an answer that counts was given while the study was open.
"""

from typing import Any

from sqlalchemy import Connection, RowMapping, Select, bindparam, select

from erkle.store.database import schema
from erkle.store.errors import Unknown
from erkle.store.sanitising import bounded_text, is_id

_S, _P = schema.studies.c, schema.participants.c
# Without the settings: to read them as JSON takes longer than to find the row.
_STUDY = select(_S.id, _S.public_id, _S.state, _S.n_objects, _S.roster).where(_S.public_id == bindparam("study"))
# FOR NO KEY UPDATE: others can still add rows that refer to the study. SQLite has locked the whole database by now.
_LOCKED = _STUDY.with_for_update(key_share=True)
_ALONE = _STUDY.with_for_update()
_WITH_STUDY = (
    select(_P.id, _P.public_id, _P.study_id, _P.state, _P.excluded, _S.n_objects, _S.state.label("study_state"))
    .join(schema.studies)
    .where(_P.public_id == bindparam("participant"), _S.public_id == bindparam("study"))
)


def study(connection: Connection, study: str) -> RowMapping:
    """The row of a study."""
    return found_study(connection, _STUDY, study)


def lock_study(connection: Connection, study: str, alone: bool = False) -> RowMapping:
    """Lock the row of a study until this transaction ends; with ``alone``, no new row can refer to it either."""
    return found_study(connection, _ALONE if alone else _LOCKED, study)


def participant_and_study(connection: Connection, study: str, participant: str) -> RowMapping:
    """The row of a participant with the state and the size of their study, in one statement."""
    values, known = {"study": study, "participant": participant}, is_id(study) and is_id(participant)
    row = connection.execute(_WITH_STUDY, values).mappings().one_or_none() if known else None
    if row is None:
        # If it is the study that does not exist, that is the error.
        found_study(connection, _STUDY, study)
        raise Unknown(f"There is no participant {bounded_text(participant, 40)!r} in this study; check the id.")
    return row


def lock_participant(connection: Connection, study: str, participant: str) -> RowMapping:
    """The same, after the study was locked."""
    if connection.dialect.name != "sqlite":
        # A separate statement: one that both waited for the lock and joined would return the participant as it was
        # before the wait.
        lock_study(connection, study)
    return participant_and_study(connection, study, participant)


def found_study(connection: Connection, query: Select[Any], study: str) -> RowMapping:
    """The row of a study that a query finds by its public id."""
    row = connection.execute(query, {"study": study}).mappings().one_or_none() if is_id(study) else None
    if row is None:
        raise Unknown(f"There is no study {bounded_text(study, 40)!r}; check its id.")
    return row

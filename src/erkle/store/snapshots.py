"""Snapshots of a learner: how far it had read, under which roster, and its bytes. The log decides; these save time.

One that was made under another roster than the study's is of no use, and is neither kept nor given out.
"""

from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from erkle.store import leases, schema, studies
from erkle.store.errors import StoreError

__all__ = ["Snapshot", "latest", "save"]

_KEPT = 2
_NPZ = b"PK\x03\x04"


class Snapshot(NamedTuple):
    """A learner that has read the log up to ``sequence``, as the bytes of an npz file; None where there are none."""

    sequence: int
    roster: int
    data: bytes | None
    saved_at: int


def save(
    connection: Connection, study: str, sequence: int, roster: int, data: bytes, fence: int | None, at: int
) -> bool:
    """Keep a snapshot and the one before it; False where the roster or the learner's owner has changed since."""
    if not data.startswith(_NPZ):
        raise StoreError(f"The snapshot begins with {data[:8]!r}; pass the bytes of an npz file.")
    row = studies.locked(connection, study)
    a, t = schema.answers.c, schema.snapshots
    if (
        sequence
        and not connection.execute(select(a.sequence).where(a.study_id == row["id"], a.sequence == sequence)).first()
    ):
        raise StoreError(f"The snapshot is of answer {sequence}, which there is not; pass a number of the log.")
    if row["roster"] != roster or (fence is not None and not leases.is_current(connection, row["id"], fence)):
        return False
    values: dict[str, Any] = {"sequence": sequence, "roster": roster, "data": data, "saved_at": at}
    connection.execute(insert(t).values(study_id=row["id"], **values))
    kept = select(t.c.id).where(t.c.study_id == row["id"]).order_by(t.c.id.desc()).limit(_KEPT)
    connection.execute(delete(t).where(t.c.study_id == row["id"], t.c.id.not_in(kept)))
    return True


def latest(connection: Connection, study: str) -> list[Snapshot]:
    """The snapshots of the study's roster, the newest first."""
    row, t = studies.find(connection, study), schema.snapshots.c
    query = select(t.sequence, t.roster, t.data, t.saved_at).where(t.study_id == row["id"], t.roster == row["roster"])
    return [Snapshot(*found) for found in connection.execute(query.order_by(t.id.desc())).all()]

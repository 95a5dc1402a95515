"""Leases: of several processes one owns a study's learner, until a time that it must keep putting off.

The clock is that of the process; those of machines that share a database must agree to much less than a lease.
"""

from sqlalchemy import Connection, or_, update

from erkle.store import schema, studies
from erkle.store.clock import seconds
from erkle.store.outside import strict_text

__all__ = ["acquire", "release", "renew"]

_OWNER = 200


def acquire(connection: Connection, study: str, owner: str, duration: float, at: int) -> bool:
    """Own the study's learner, if nobody else does."""
    t = schema.leases.c
    return _set(connection, study, or_(t.owner == _name(owner), t.until <= at), owner, at + seconds(duration))


def renew(connection: Connection, study: str, owner: str, duration: float, at: int) -> bool:
    """Put off the end; False where the lease has ended, and somebody else may have had it since."""
    t = schema.leases.c
    return _set(connection, study, (t.owner == _name(owner)) & (t.until > at), owner, at + seconds(duration))


def release(connection: Connection, study: str, owner: str) -> bool:
    """Give it up; False where it was somebody else's."""
    return _set(connection, study, schema.leases.c.owner == _name(owner), "", 0)


def _set(connection: Connection, study: str, condition: object, owner: str, until: int) -> bool:
    number = studies.find(connection, study)["id"]
    change = update(schema.leases).where(schema.leases.c.study_id == number, condition)  # type: ignore[arg-type]
    return connection.execute(change.values(owner=owner, until=until)).rowcount == 1


def _name(owner: str) -> str:
    return strict_text(owner, "The owner", _OWNER)

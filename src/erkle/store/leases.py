"""Leases: of several processes one owns a study's learner, until a time that it must keep putting off.

The clock is that of the process; those of machines that share a database must agree to much less than a lease.
Each new owner gets a greater number, the fence: what an owner of before still sends is known by its smaller one.
"""

from sqlalchemy import ColumnElement, Connection, case, or_, select, update

from erkle.store import schema, studies
from erkle.store.clock import seconds
from erkle.store.outside import strict_text

__all__ = ["acquire", "is_current", "release", "renew"]

_OWNER = 200
_T = schema.leases.c


def acquire(connection: Connection, study: str, owner: str, duration: float, at: int) -> int | None:
    """Own the study's learner, if nobody else does; the fence, or None."""
    mine = _T.owner == _name(owner)
    return _set(connection, study, or_(mine, _T.until <= at), owner, at + seconds(duration))


def renew(connection: Connection, study: str, owner: str, duration: float, at: int) -> int | None:
    """Put off the end; None where the lease has ended, and somebody else may have had it since."""
    mine = _T.owner == _name(owner)
    return _set(connection, study, mine & (_T.until > at), owner, at + seconds(duration))


def release(connection: Connection, study: str, owner: str) -> bool:
    """Give it up; False where it was somebody else's."""
    return _set(connection, study, _T.owner == _name(owner), "", 0) is not None


def is_current(connection: Connection, study_number: int, fence: int) -> bool:
    """Whether nobody else has owned the study's learner since this fence was given out."""
    return bool(connection.execute(select(_T.fence).where(_T.study_id == study_number)).scalar_one() == fence)


def _set(connection: Connection, study: str, condition: ColumnElement[bool], owner: str, until: int) -> int | None:
    number = studies.find(connection, study)["id"]
    fence = _T.fence + case((_T.owner == owner, 0), else_=1) if owner else _T.fence
    change = update(schema.leases).where(_T.study_id == number, condition)
    return connection.execute(change.values(owner=owner, until=until, fence=fence).returning(_T.fence)).scalar()


def _name(owner: str) -> str:
    return strict_text(owner, "The owner", _OWNER)

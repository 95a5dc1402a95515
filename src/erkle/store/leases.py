"""Leases: of several processes one owns a study's learner, until a time that it must keep putting off.

The clock is that of the process; those of machines that share a database must agree to much less than a lease.
Each new owner gets a greater number, the fence: what an owner of before still sends is known by its smaller one.
A lease that ends later than any can last was written by hand, and is over.
"""

from sqlalchemy import ColumnElement, Connection, case, insert, or_, select, update

from erkle.store import schema, studies
from erkle.store.clock import seconds
from erkle.store.errors import StoreError
from erkle.store.sanitising import strict_text

__all__ = ["acquire", "is_current", "release", "renew"]

_OWNER, _LONGEST = 200, 60.0
_T = schema.leases.c
# In SQLite texts are greater than all numbers.
_FENCE = case((_T.fence.between(0, 2**53), _T.fence), else_=0)


def acquire(connection: Connection, study: str, owner: str, duration: float, at: int) -> int | None:
    """Own the study's learner, if nobody else does; the fence, or None."""
    until, mine = at + _checked(duration), _T.owner == _name(owner)
    condition = or_(mine, _T.until <= at, _T.until > at + seconds(_LONGEST))
    fence = _set(connection, study, condition, owner, until)
    if fence is None and _add(connection, study):
        fence = _set(connection, study, condition, owner, until)
    return fence


def renew(connection: Connection, study: str, owner: str, duration: float, at: int) -> int | None:
    """Put off the end; None where the lease has ended, and somebody else may have had it since."""
    mine = _T.owner == _name(owner)
    return _set(connection, study, mine & (_T.until > at), owner, at + _checked(duration))


def release(connection: Connection, study: str, owner: str) -> bool:
    """Give it up; False where it was somebody else's."""
    return _set(connection, study, _T.owner == _name(owner), "", 0) is not None


def is_current(connection: Connection, study_number: int, fence: int) -> bool:
    """Whether nobody else has owned the study's learner since this fence was given out."""
    return bool(connection.execute(select(_T.fence).where(_T.study_id == study_number)).scalar() == fence)


def _set(connection: Connection, study: str, condition: ColumnElement[bool], owner: str, until: int) -> int | None:
    number = studies.find(connection, study)["id"]
    fence = _FENCE + case((_T.owner == owner, 0), else_=1) if owner else _FENCE
    change = update(schema.leases).where(_T.study_id == number, condition)
    return connection.execute(change.values(owner=owner, until=until, fence=fence).returning(_T.fence)).scalar()


def _add(connection: Connection, study: str) -> bool:
    """Make the row that every study has, if somebody has deleted it; whether it was missing."""
    number = studies.locked(connection, study)["id"]
    if connection.execute(select(_T.study_id).where(_T.study_id == number)).first() is not None:
        return False
    connection.execute(insert(schema.leases).values(study_id=number, owner="", until=0))
    return True


def _checked(duration: float) -> int:
    if not 0 < duration <= _LONGEST:
        raise StoreError(f"The lease is of {duration} seconds; pass a number above 0, and at most {_LONGEST:.0f}.")
    return seconds(duration)


def _name(owner: str) -> str:
    return strict_text(owner, "The owner", _OWNER)

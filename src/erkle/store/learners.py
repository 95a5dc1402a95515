"""What a process needs that runs a study's learner: a lease on it, and snapshots of it.

A lease makes one of several processes the owner of a study's learner, until a time that the owner must keep moving by
renewing the lease. The time is that of the process; the clocks of machines that share a database must agree to much
less than the length of a lease. Each new owner gets a greater number, the fence: what an earlier owner still sends is
known by its smaller number.

A snapshot is how far a learner had read the log, under which roster, and its bytes. The log decides; snapshots save
time. One that was made under another roster than the study's is of no use, and is neither kept nor returned.
"""

from functools import partial
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, delete, insert, or_, select, update

from erkle.store import limits
from erkle.store.clock import duration
from erkle.store.database import rows, schema
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import StoreError
from erkle.store.sanitising import strict_text

_KEPT = 2
_NPZ = b"PK\x03\x04"
_duration = partial(duration, name="The lease", most=limits.LEASE_SECONDS)
_L, _S = schema.leases.c, schema.snapshots.c


class Snapshot(NamedTuple):
    """A learner that has read the log up to ``sequence``, as the bytes of an npz file."""

    sequence: int
    roster: int
    data: bytes
    saved_at: int


class Leases(Topic):
    """Leases, by which one of several processes owns a study's learner."""

    @writing
    def acquire(self, study: str, owner: str, seconds: float) -> int | None:
        """Own the study's learner for so many seconds, if nobody else does.

        Returns
        -------
        int or None
            The fence, a number above 0 that is greater with each new owner; None if somebody else owns the learner.
        """
        at = self.clock()
        # One that ends later than any lease can last was given by a clock that has been set back since.
        ended = or_(_L.until <= at, _L.until > at + _duration(limits.LEASE_SECONDS))
        free = or_(_L.owner == _owner(owner), ended)
        return self._set(study, free, owner, at + _duration(seconds))

    @writing
    def renew(self, study: str, owner: str, seconds: float) -> int | None:
        """Own the learner for so many seconds from now, under the same fence; None if the lease has ended."""
        at = self.clock()
        mine = (_L.owner == _owner(owner)) & (_L.until > at)
        return self._set(study, mine, owner, at + _duration(seconds))

    @writing
    def release(self, study: str, owner: str) -> bool:
        """Give up a lease; False if it was somebody else's."""
        return self._set(study, _L.owner == _owner(owner), "", 0) is not None

    def _set(self, study: str, condition: ColumnElement[bool], owner: str, until: int) -> int | None:
        number = rows.study(self.connection, study)["id"]
        fence = _L.fence + case((_L.owner == owner, 0), else_=1) if owner else _L.fence
        change = update(schema.leases).where(_L.study_id == number, condition)
        change = change.values(owner=owner, until=until, fence=fence)
        return self.connection.execute(change.returning(_L.fence)).scalar()


class Snapshots(Topic):
    """Snapshots of learners."""

    @writing
    def save(self, study: str, sequence: int, roster: int, data: bytes, fence: int | None = None) -> bool:
        """Keep a learner's npz bytes, and the snapshot before them.

        Returns
        -------
        bool
            False if the roster has changed since they were made, or, given a fence, somebody else owns the learner.
        """
        if not data.startswith(_NPZ):
            raise StoreError(f"The snapshot begins with {data[:8]!r}; pass the bytes of an npz file.")
        row = rows.lock_study(self.connection, study)
        number, a = row["id"], schema.answers.c
        found = select(a.sequence).where(a.study_id == number, a.sequence == sequence)
        if sequence and not self.connection.execute(found).first():
            raise StoreError(f"The snapshot is of answer {sequence}, which does not exist; pass a number of the log.")
        current = self.connection.execute(select(_L.fence).where(_L.study_id == number)).scalar()
        if row["roster"] != roster or fence not in (None, current):
            return False
        values = {"study_id": number, "sequence": sequence, "roster": roster, "data": data, "saved_at": self.clock()}
        self.connection.execute(insert(schema.snapshots), values)
        kept = select(_S.id).where(_S.study_id == number).order_by(_S.id.desc()).limit(_KEPT)
        self.connection.execute(delete(schema.snapshots).where(_S.study_id == number, _S.id.not_in(kept)))
        return True

    @reading
    def latest(self, study: str) -> list[Snapshot]:
        """The last two snapshots, newest first; none that was made under another roster."""
        row = rows.study(self.connection, study)
        query = select(_S.sequence, _S.roster, _S.data, _S.saved_at).order_by(_S.id.desc())
        query = query.where(_S.study_id == row["id"], _S.roster == row["roster"])
        return [Snapshot(*found) for found in self.connection.execute(query)]


def _owner(owner: str) -> str:
    return strict_text(owner, "The owner", limits.LEASE_OWNER)

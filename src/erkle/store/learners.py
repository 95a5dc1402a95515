"""Leases and snapshots, for the processes that run the learners of studies.

A lease makes one of several processes the owner of a study's learner until the lease expires; the owner renews it in
time. Each process uses its own clock, so the clocks of machines that share a database must differ by much less than
the length of a lease. Each new owner gets a greater number, the fence. A snapshot from an earlier owner is recognised
by its smaller fence and rejected.

A snapshot is a saved learner: its bytes, the number of the last answer it has read, and the roster it has read them
under. Snapshots only save time, since a learner can always be rebuilt from the log. A snapshot from another roster is
useless, so it is neither saved nor returned.
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

# Snapshots kept per study.
_KEPT = 2
# The first bytes of every npz file, which is a ZIP file.
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
    """Leases, which make one of several processes the owner of a study's learner."""

    @writing
    def acquire(self, study: str, owner: str, seconds: float) -> int | None:
        """Become the owner of the study's learner for ``seconds``, unless another process owns it.

        Returns
        -------
        int or None
            The fence, a positive number that grows with each new owner; None if another process owns the learner.
        """
        at = self.clock()
        # If a lease ends later than any lease can from now on, the clock that granted it has been set back since.
        ended = or_(_L.until <= at, _L.until > at + _duration(limits.LEASE_SECONDS))
        free = or_(_L.owner == _owner(owner), ended)
        return self._set(study, free, owner, at + _duration(seconds))

    @writing
    def renew(self, study: str, owner: str, seconds: float) -> int | None:
        """Extend the lease to ``seconds`` from now and return its fence, or None if the lease has expired."""
        at = self.clock()
        mine = (_L.owner == _owner(owner)) & (_L.until > at)
        return self._set(study, mine, owner, at + _duration(seconds))

    @writing
    def release(self, study: str, owner: str) -> bool:
        """Give up the lease; return False if another process owns it."""
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
        """Save a learner, given as the bytes of an npz file, and keep the previous snapshot.

        Returns
        -------
        bool
            False if nothing was saved, because the study has another roster by now or the lease another fence.
        """
        if not data.startswith(_NPZ):
            raise StoreError(f"The snapshot begins with {data[:8]!r}; pass the bytes of an npz file.")
        row = rows.lock_study(self.connection, study)
        number, a = row["id"], schema.answers.c
        found = select(a.sequence).where(a.study_id == number, a.sequence == sequence)
        if sequence and not self.connection.execute(found).first():
            raise StoreError(
                f"The snapshot is of answer {sequence}, but the log has no such answer; pass a number of the log."
            )
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
        """Return the last two snapshots, newest first, without those from another roster."""
        row = rows.study(self.connection, study)
        query = select(_S.sequence, _S.roster, _S.data, _S.saved_at).order_by(_S.id.desc())
        query = query.where(_S.study_id == row["id"], _S.roster == row["roster"])
        return [Snapshot(*found) for found in self.connection.execute(query)]


def _owner(owner: str) -> str:
    return strict_text(owner, "The owner", limits.LEASE_OWNER)

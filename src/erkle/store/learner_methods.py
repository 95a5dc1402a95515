"""What a store does for those who learn from it."""

from erkle.store import leases, snapshots
from erkle.store.opened import Opened
from erkle.store.snapshots import Snapshot

__all__ = ["LearnerMethods"]


class LearnerMethods(Opened):
    """Snapshots of learners, and leases, by which of several processes one owns a study's learner."""

    def save_snapshot(self, study: str, sequence: int, roster: int, data: bytes, fence: int | None = None) -> bool:
        """Keep a learner's npz bytes, and those before.

        False where the roster has changed since they were made, or, given a fence, somebody else owns the learner.
        """
        return self._write(
            lambda connection: snapshots.save(connection, study, sequence, roster, data, fence, self._clock())
        )

    def snapshots(self, study: str) -> list[Snapshot]:
        """The last two snapshots, the newest first; none that was made under another roster."""
        return self._read(lambda connection: snapshots.latest(connection, study))

    def acquire(self, study: str, owner: str, seconds: float) -> int | None:
        """Own the study's learner for so many seconds, if nobody else does.

        The fence, a number above 0 that is greater with each new owner; None where somebody else owns it.
        """
        return self._write(lambda connection: leases.acquire(connection, study, owner, seconds, self._clock()))

    def renew(self, study: str, owner: str, seconds: float) -> int | None:
        """Own it for so many seconds from now, under the same fence; None where the lease has ended."""
        return self._write(lambda connection: leases.renew(connection, study, owner, seconds, self._clock()))

    def release(self, study: str, owner: str) -> bool:
        """Give up a lease; False where it was somebody else's."""
        return self._write(lambda connection: leases.release(connection, study, owner))

"""The states of a learner: starting, watching, restoring, owning, ended.

    Starting ---> Watching --- lease acquired ---> Restoring --- fold restored ---> Owning
                     ^                                 ^                              |
                     |                                 +------- roster changed -------+
                     +------------------ lease lost, failure -------------------------+

`State.poll` polls the database once and returns the next state. Any state can end: when the learner is stopped, when no
request has needed it for a while, or when its study is deleted.

After a failure the lease is released, so that another process can try. This process watches meanwhile, and tries again
after a pause that grows.
"""

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from erkle.service.learning.fold import Fold
from erkle.service.learning.snapshots import SHARE, SavedFold
from erkle.store import Store, StoreError

if TYPE_CHECKING:
    from erkle.service.learning.learning import Learning

# Answers per page of the log.
PAGE = 500
# Seconds that a lease lasts without renewal.
LEASE = 6.0
# Seconds between two attempts to acquire a lease that another process holds.
RETRY = 2.0
# Least number of seconds between two loads of another process's snapshots.
SNAPSHOT = 2.0

log = logging.getLogger("erkle.service")


class Lease:
    """The right of this process to fold the log of a study. It expires unless it is renewed.

    Attributes
    ----------
    fence : int
        A number that grows with each new owner. The store refuses late writes of earlier owners.
    held : bool
        Whether this process still owns the learner, as far as it knows.
    """

    def __init__(self, store: Store, study: str, owner: str, fence: int) -> None:
        self._store, self._study, self._owner = store, study, owner
        self.fence, self.held = fence, True

    def renew(self) -> None:
        """Extend the lease."""
        try:
            self.held = self.held and self._store.leases.renew(self._study, self._owner, LEASE) is not None
        except StoreError as trouble:
            # Another process may become the owner. The fence then keeps this one from overwriting its snapshots.
            log.warning("a lease could not be renewed", extra={"trouble": str(trouble)})

    def release(self) -> None:
        """Give up the lease, so that another process can own the learner at once."""
        if self.held:
            self.held = False
            try:
                self._store.leases.release(self._study, self._owner)
            except StoreError as trouble:
                # It expires by itself.
                log.warning("a lease could not be released", extra={"trouble": str(trouble)})


class Step(NamedTuple):
    """The result of a poll: the next state, and whether there were new answers in the log."""

    state: "State"
    has_answers: bool = False


class State:
    """What a learner does now. This base class does nothing and stays as it is."""

    lease: Lease | None = None

    def poll(self, learning: "Learning") -> Step:
        """Poll the database once, and return the next state."""
        return Step(self)

    def after_failure(self, pause: float) -> "State":
        """Return the state that follows an unexpected error; after ``pause`` seconds it tries to own the learner."""
        if self.lease is not None:
            self.lease.release()
        return Watching(pause)

    def end(self, learning: "Learning") -> None:
        """Save a last snapshot and release the lease, if this state has them."""


class Starting(State):
    """The thread has just started. It reads the questions that were open before."""

    def poll(self, learning: "Learning") -> Step:
        """Read the open questions."""
        learning.read_pending()
        return Step(Watching())


class Watching(State):
    """The process does not own the learner. It reads the log for the tables, and snapshots for the map."""

    def __init__(self, pause: float = 0.0) -> None:
        self._lease_due, self._snapshot_due = time.monotonic() + pause, 0.0

    def poll(self, learning: "Learning") -> Step:
        """Try to own the learner. Otherwise read the log and the newest snapshot."""
        if time.monotonic() >= self._lease_due:
            if (lease := learning.acquire()) is not None:
                return Step(Restoring(lease))
            self._lease_due = time.monotonic() + RETRY
        has_answers = learning.read_columns() > 0
        if time.monotonic() >= self._snapshot_due:
            begun = time.monotonic()
            saved = learning.restored()
            self._snapshot_due = time.monotonic() + max(SNAPSHOT, SHARE * (time.monotonic() - begun))
            if saved is not None:
                learning.publish(saved.fold, saved.roster)
                learning.ready = True
        return Step(self, has_answers)


class Restoring(State):
    """The process owns the learner but has no fold yet. It loads a snapshot, or starts at the first answer."""

    lease: Lease

    def __init__(self, lease: Lease) -> None:
        self.lease = lease

    def poll(self, learning: "Learning") -> Step:
        """Restore the fold."""
        if not self.lease.held:
            return Step(Watching())
        roster, saved = learning.roster(), learning.restored()
        if saved is None:
            return Step(Owning(self.lease, Fold(learning.n_objects, learning.features()), roster))
        return Step(Owning(self.lease, saved.fold, saved.roster))

    def end(self, learning: "Learning") -> None:
        """Release the lease."""
        self.lease.release()


class Owning(State):
    """The process owns the learner. It folds the log, publishes what it knows, and saves snapshots."""

    lease: Lease

    def __init__(self, lease: Lease, fold: Fold, roster: int) -> None:
        self.lease, self._fold, self._roster = lease, fold, roster

    def poll(self, learning: "Learning") -> Step:
        """Read a page of the log, learn it and publish."""
        if not self.lease.held:
            return Step(Watching())
        if learning.roster() > self._roster:
            # Somebody changed who is excluded, or the features. Learn from the start; the old view stays published.
            # The test is not ``!=``, because the number read here may be older than the snapshot's.
            return Step(Restoring(self.lease))
        page = learning.page(self._fold.sequence)
        # Before learning, so that the tables have every answer even if learning fails.
        learning.add_to_columns(page, page[-1].sequence if page else self._fold.sequence)
        self._fold.learn(page)
        learning.publish(self._fold, self._roster)
        learning.ready = learning.ready or len(page) < PAGE
        self._save(learning)
        return Step(self, bool(page))

    def end(self, learning: "Learning") -> None:
        """Save a last snapshot and release the lease."""
        if self.lease.held:
            self._save(learning, at_once=True)
            self.lease.release()

    def _save(self, learning: "Learning", at_once: bool = False) -> None:
        learning.snapshots.save(SavedFold(self._fold, learning.map, self._roster), self.lease.fence, at_once)


class Ended(State):
    """The thread has ended. A later request starts a new learner."""

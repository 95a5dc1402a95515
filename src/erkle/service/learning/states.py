"""The life of a learner: it watches, restores, owns, and ends.

    Watching --- lease acquired ---> Restoring --- fold restored ---> Owning
       ^                                 ^                              |
       |                                 +--- roster changed, failure --+
       +------------------------- lease lost ---------------------------+

`look` of a state says what one look at the database does, and which state comes next. Any state can end: the learner
is stopped, nobody wants it any more, or its study is deleted.
"""

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from erkle.service.learning.fold import Fold
from erkle.service.learning.snapshots import SHARE, Kept
from erkle.store import Store, StoreError

if TYPE_CHECKING:
    from erkle.service.learning.learning import Learning

# Answers that are read at once.
PAGE = 500
# Seconds for which a lease lasts.
LEASE = 6.0
# Seconds between two attempts to acquire a lease that another process has.
_RETRY = 2.0
# Seconds between two looks at the snapshots of another process, at least.
_SNAPSHOT = 2.0

log = logging.getLogger("erkle.service")


class Lease:
    """The right of this process to fold the log of a study, for as long as it is renewed.

    Attributes
    ----------
    fence : int
        A number that grows with each new owner; the store refuses late writes of earlier owners.
    held : bool
        False once another process may own the learner.
    """

    def __init__(self, store: Store, study: str, owner: str, fence: int) -> None:
        self._store, self._study, self._owner = store, study, owner
        self.fence, self.held = fence, True

    def renew(self) -> None:
        """Let it last longer."""
        try:
            self.held = self.held and self._store.leases.renew(self._study, self._owner, LEASE) is not None
        except StoreError as trouble:
            # Another process may own the learner soon; the fence keeps this one from doing harm.
            log.warning("a lease could not be renewed", extra={"trouble": str(trouble)})

    def release(self) -> None:
        """Let another process own the learner at once."""
        if self.held:
            self.held = False
            self._store.leases.release(self._study, self._owner)


class Step(NamedTuple):
    """What follows a look: the next state, and whether there was anything new in the log."""

    state: "State"
    news: bool = False


class State:
    """What a learner does now. This one, on its own, does nothing and stays as it is."""

    lease: Lease | None = None

    def look(self, learning: "Learning") -> Step:
        """Look once at the database; the state that follows."""
        return Step(self)

    def after_failure(self) -> "State":
        """The state that follows an unexpected error."""
        return self

    def end(self, learning: "Learning") -> None:
        """Save what may be useful, and let another process go on."""


class Watching(State):
    """Another process folds the log, or none does: read the log for the tables, and snapshots for the map."""

    def __init__(self) -> None:
        self._lease_due = self._snapshot_due = 0.0

    def look(self, learning: "Learning") -> Step:
        """Try to own the learner; otherwise read on."""
        if time.monotonic() >= self._lease_due:
            if (lease := learning.acquire()) is not None:
                return Step(Restoring(lease))
            self._lease_due = time.monotonic() + _RETRY
        news = learning.read_columns()
        if time.monotonic() >= self._snapshot_due:
            begun = time.monotonic()
            kept = learning.restored()
            self._snapshot_due = time.monotonic() + max(_SNAPSHOT, SHARE * (time.monotonic() - begun))
            if kept is not None:
                learning.publish(kept.fold, kept.roster)
                learning.ready = True
        return Step(self, news)


class Restoring(State):
    """The process owns the learner and has no fold yet: take the newest snapshot, or begin at the first answer."""

    lease: Lease

    def __init__(self, lease: Lease) -> None:
        self.lease = lease

    def look(self, learning: "Learning") -> Step:
        """Restore the fold."""
        if not self.lease.held:
            return Step(Watching())
        roster, kept = learning.roster(), learning.restored()
        if kept is None:
            return Step(Owning(self.lease, Fold(learning.n_objects), roster))
        return Step(Owning(self.lease, kept.fold, kept.roster))

    def end(self, learning: "Learning") -> None:
        """Give up the lease."""
        self.lease.release()


class Owning(State):
    """The process owns the learner: it folds the log, publishes what it knows, and saves snapshots."""

    lease: Lease

    def __init__(self, lease: Lease, fold: Fold, roster: int) -> None:
        self.lease, self._fold, self._roster = lease, fold, roster

    def look(self, learning: "Learning") -> Step:
        """Read a page of the log, learn it and publish."""
        if not self.lease.held:
            return Step(Watching())
        if learning.roster() > self._roster:
            # Somebody was excluded or included again: learn from the start, while the old view stays published.
            # Not ``!=``: the number only grows, and the one read here may be older than that of the snapshot.
            return Step(Restoring(self.lease))
        page = learning.page(self._fold.sequence)
        self._fold.learn(page)
        # Before the view, so that whoever sees an answer in the map finds it in the tables.
        learning.note(page, self._fold.sequence)
        learning.publish(self._fold, self._roster)
        learning.ready = learning.ready or len(page) < PAGE
        self._save(learning)
        return Step(self, bool(page))

    def after_failure(self) -> State:
        """Restore: the fold may be half changed."""
        return Restoring(self.lease)

    def end(self, learning: "Learning") -> None:
        """Save a last snapshot and give up the lease."""
        if self.lease.held:
            self._save(learning, at_once=True)
            self.lease.release()

    def _save(self, learning: "Learning", at_once: bool = False) -> None:
        learning.snapshots.save(Kept(self._fold, learning.map, self._roster), self.lease.fence, at_once)


class Ended(State):
    """The thread is over; whoever wants the learner again begins another."""

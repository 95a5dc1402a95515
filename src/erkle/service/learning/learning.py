"""The learner of one study in this process: it reads the log, learns, and publishes what it knows.

If there are several processes, one owns the learner and folds the log. It saves `snapshots` from time to time, which
the other processes show. `states` describes what the thread does in each case. Answers are never passed from process to
process: every process reads them from the log.
"""

import logging
import threading
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.service.learning.aligned_map import aligned_map
from erkle.service.learning.columns import Columns
from erkle.service.learning.fold import Fold
from erkle.service.learning.pending import Pending
from erkle.service.learning.snapshots import SavedFold, Snapshots
from erkle.service.learning.stall import Stall
from erkle.service.learning.states import LEASE, PAGE, Ended, Lease, Starting, State
from erkle.service.learning.view import View
from erkle.store import Answer, Store, StoreError, Study, Unknown
from erkle.store.clock import now

Query = tuple[int, int, int]

# Seconds to wait after new answers, so that answers that arrive meanwhile are learned together.
_BATCH_WAIT = 0.01
# Seconds between two polls of the database.
POLL = 0.25
# Seconds between two polls once the study is quiet.
_QUIET_POLL = 2.0
# Seconds without new answers after which the study counts as quiet.
_QUIET_AFTER = 25.0
# The most questions that `Learning.not_learned_yet` returns.
_RECENT = 2000
# Seconds without new answers and without requests after which a learner ends.
IDLE = 900.0
# Seconds to wait after a poll that failed.
AFTER_FAILURE = 1.0

log = logging.getLogger("erkle.service")


class Published(NamedTuple):
    """What other threads may read of a learner. It is immutable, and replaced as a whole.

    Attributes
    ----------
    view : View
        What has been learned.
    map : (n, 2) array or None
        The two-dimensional map, aligned with the previous one; None as long as nothing is known about the objects.
    roster : int
        The number of the roster (who is excluded, and the features) for which the answers were learned.
    """

    view: View
    map: NDArray[np.float64] | None
    roster: int


class Learning:
    """What is known about a study now, and the thread that learns it.

    Attributes
    ----------
    published : Published or None
        What has been learned.
    map : (n, 2) array or None
        The last map that was shown. It may come from a snapshot of an earlier process.
    ready : bool
        Whether the view has been up to date at least once.
    stall : Stall or None
        Why the model stands still, if learning fails.
    wanted_at : float
        When a request last needed the learner, on the monotonic clock.
    """

    def __init__(self, store: Store, study: Study, owner: str) -> None:
        self.study, self.n_objects = study.id, study.n_objects
        self.published: Published | None = None
        self.ready = False
        self.stall: Stall | None = None
        self.columns, self.pending = Columns(), Pending()
        self.snapshots = Snapshots(store, study.id, study.n_objects)
        self._store, self._owner = store, owner
        self._state: State = Starting()
        self.map: NDArray[np.float64] | None = None
        self._roster, self._roster_due = study.roster, 0.0
        self._notified, self._stopping = threading.Event(), threading.Event()
        self._answers_at = self.wanted_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"erkle-learner-{study.id}", daemon=True)
        self._thread.start()

    @property
    def view(self) -> View | None:
        """What has been learned."""
        return None if self.published is None else self.published.view

    @property
    def alive(self) -> bool:
        """Whether the learner has not been stopped."""
        return not self._stopping.is_set()

    @property
    def ended(self) -> bool:
        """Whether the thread has ended, after saving its last snapshot."""
        return not self._thread.is_alive()

    @property
    def owns(self) -> bool:
        """Whether this process folds the log."""
        lease = self._state.lease
        return lease is not None and lease.held

    @property
    def sequence(self) -> int:
        """The number of the last answer of the log that is in the view."""
        return self.view.sequence if self.view is not None else 0

    def lag(self) -> int:
        """Return how many answers of the log are not in the view yet."""
        return max(0, self._store.answers.last(self.study) - self.sequence)

    def notify(self) -> None:
        """Wake the thread: the log has a new answer, or the roster has changed."""
        self._notified.set()

    def renew(self) -> None:
        """Renew the lease. Another thread calls this, so that a long fit does not lose the lease."""
        if (lease := self._state.lease) is not None:
            lease.renew()

    def not_learned_yet(self) -> list[Query]:
        """Return answered questions that are not in the view yet: many, if another process owns the learner."""
        with self.columns.lock:
            first = int(np.searchsorted(self.columns.sequence_number, self.sequence, "right"))
            T = self.columns.triplets(slice(max(first, len(self.columns) - _RECENT), None))
            queries: list[Query] = list(map(tuple, T.tolist()))
        return queries

    def catch_up(self) -> None:
        """Read all new answers into the columns, so that counts do not wait for the learner. Safe in every thread."""
        while self.read_columns() == PAGE:
            pass

    def stop(self) -> None:
        """Ask the thread to end soon."""
        self._stopping.set()
        self._notified.set()

    def close(self) -> None:
        """Stop, save a snapshot, and wait until the thread has ended."""
        self.stop()
        self._thread.join()

    # The states call the methods below, in the learner's thread only.

    def acquire(self) -> Lease | None:
        """Try to acquire the lease. Return None if another process holds it."""
        fence = self._store.leases.acquire(self.study, self._owner, LEASE)
        return None if fence is None else Lease(self._store, self.study, self._owner, fence)

    def roster(self) -> int:
        """Return the number of the roster, which grows when exclusions or features change."""
        if time.monotonic() >= self._roster_due:
            self._roster = self._store.studies.get(self.study).roster
            self._roster_due = time.monotonic() + POLL
        return self._roster

    def features(self) -> dict[str, NDArray[np.float32]]:
        """Read the features of the objects."""
        return self._store.features.all(self.study)

    def restored(self) -> SavedFold | None:
        """Load the newest snapshot. The next map is aligned with its map."""
        saved = self.snapshots.newest()
        if saved is not None and self.map is None:
            self.map = saved.map
        return saved

    def page(self, after: int) -> list[Answer]:
        """Read the next page of the log after a sequence number."""
        return list(self._store.answers.log(self.study, after, PAGE, include_excluded=True))

    def read_pending(self) -> None:
        """Read the open questions."""
        self.pending.add(self._store.questions.pending(self.study))

    def read_columns(self) -> int:
        """Read the next page of the log into the columns without learning it. Return its number of answers."""
        page = self.page(self.columns.sequence)
        self._add_to_columns(page)
        return len(page)

    def add_to_columns(self, page: list[Answer], last: int) -> None:
        """Add the answers up to the number ``last`` to the columns. Those before the page are read from the log."""
        has_more = True
        while has_more and self.columns.sequence < last:
            is_next = page and page[0].sequence <= self.columns.sequence + 1
            has_more = self._add_to_columns(page if is_next else self.page(self.columns.sequence))

    def _add_to_columns(self, page: list[Answer]) -> bool:
        # The page may have answers that another process received, to questions that are pending here.
        self.pending.drop(*(answer.token for answer in page))
        # Never read the log while holding this lock: a thread that waits for it may hold the connection needed.
        with self.columns.lock:
            # Another thread may have added some of them since the page was read.
            self.columns.add(answer for answer in page if answer.sequence > self.columns.sequence)
        return bool(page)

    def publish(self, fold: Fold, roster: int) -> None:
        """Publish what a fold knows, if it is new. A restarted fold is published once it has caught up."""
        if self.published is not None:
            before = self.published.view.sequence
            is_known = fold.sequence == before and roster == self.published.roster
            if fold.sequence < before or is_known:
                return
        view = View.of(fold.learner, fold.sequence, fold.held_out)
        # The map is made here and not when it is read, so that reading never changes what is saved.
        aligned = aligned_map(view, self.map) if view.n_learned or view.features else None
        self.map = self.map if aligned is None else aligned
        self.published = Published(view, aligned, roster)

    def _run(self) -> None:
        try:
            while not (self._stopping.is_set() or self._is_idle()):
                self._poll()
        except Unknown:
            log.info("a study was deleted; its learner ends")
        finally:
            self._stopping.set()
            self._end()

    def _is_idle(self) -> bool:
        """Return whether nothing has needed the learner for a while. A later request starts a new one."""
        return time.monotonic() - max(self._answers_at, self.wanted_at) > IDLE

    def _poll(self) -> None:
        """Poll the database once, and wait until the next poll is due."""
        try:
            before, (self._state, has_answers) = self._state, self._state.poll(self)
        except Unknown:
            raise
        except Exception as error:
            self._fail(error)
            self._stopping.wait(AFTER_FAILURE)
            return
        self._recover()
        if has_answers:
            self._answers_at = time.monotonic()
            self._stopping.wait(_BATCH_WAIT)
        elif self._state is before:
            is_quiet = time.monotonic() - self._answers_at >= _QUIET_AFTER
            self._notified.wait(_QUIET_POLL if is_quiet else POLL)
        self._notified.clear()

    def _fail(self, error: Exception) -> None:
        """Record why the model stands still. If only the database fails, the state remains sound."""
        stall = self.stall
        self.stall = Stall.of(error, self.sequence, now()) if stall is None else stall.again(error)
        if isinstance(error, StoreError):
            log.warning("the learner waits for the database", extra={"trouble": str(error)})
            return
        log.exception("the learner failed and will try again")
        # The fold may have learned only part of a page, so it is not used again.
        self._state = self._state.after_failure(self.stall.pause)

    def _recover(self) -> None:
        """Forget the stall once the view has moved on, or has everything that was read."""
        if self.stall is None:
            return
        has_roster = self.published is None or self.published.roster >= self._roster
        if self.sequence > self.stall.sequence or (has_roster and self.sequence >= self.columns.sequence):
            log.info("the learner works again")
            self.stall = None

    def _end(self) -> None:
        try:
            self._state.end(self)
        finally:
            self._state = Ended()

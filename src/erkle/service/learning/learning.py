"""The learner of one study in this process: it reads the log, learns, and publishes what it knows.

Of several processes one owns the learner and folds the log; it saves `snapshots` now and then, and the others show
those. `states` says what the thread does in each case. An answer is never passed from process to process: it is in the
log, where every process finds it.
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
from erkle.service.learning.snapshots import Kept, Snapshots
from erkle.service.learning.states import LEASE, PAGE, Ended, Lease, State, Watching
from erkle.service.learning.view import View
from erkle.store import Answer, Store, StoreError, Study, Unknown

Query = tuple[int, int, int]

# Seconds to wait after news: answers that come in the meantime are learned together.
_TOGETHER = 0.01
# Seconds between two looks for news that nobody announces.
_SOON = 0.25
# The same after a while without news.
_LATE = 2.0
# Seconds without news after which looks become rare.
_QUIET = 25.0
# Most recent answers that are not in the view yet and whose questions `Learning.since` returns, at most.
_RECENT = 2000
# Seconds without news, and without anybody who asks, after which a learner ends.
_IDLE = 900.0
# Seconds to wait after an unexpected error, and while the database cannot be used.
_AFTER_FAILURE, _WITHOUT_DATABASE = 5.0, 1.0

log = logging.getLogger("erkle.service")


class Published(NamedTuple):
    """What everybody may see of a learner; replaced as a whole, and never changed.

    Attributes
    ----------
    view : View
        What has been learned.
    map : (n, 2) array or None
        The map in the plane, aligned with the maps before; None before the first answer.
    roster : int
        The roster whose answers were learned.
    """

    view: View
    map: NDArray[np.float64] | None
    roster: int


class Learning:
    """What is known of a study now, and the thread that learns it.

    Attributes
    ----------
    published : Published or None
        What has been learned.
    map : (n, 2) array or None
        The map that people saw last, also before this process was started.
    ready : bool
        Whether the view has ever been up to date.
    wanted_at : float
        When somebody last asked for the learner, on the monotonic clock.
    """

    def __init__(self, store: Store, study: Study, owner: str) -> None:
        self.study, self.n_objects = study.id, study.n_objects
        self.published: Published | None = None
        self.ready = False
        self.columns, self.pending = Columns(), Pending()
        self.snapshots = Snapshots(store, study.id, study.n_objects)
        self._store, self._owner = store, owner
        self._state: State = Watching()
        self.map: NDArray[np.float64] | None = None
        self._roster, self._roster_due = study.roster, 0.0
        self._heard, self._stopping = threading.Event(), threading.Event()
        self._news_at = self.wanted_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"erkle-learner-{study.id}", daemon=True)
        self._thread.start()

    @property
    def view(self) -> View | None:
        """What has been learned."""
        return None if self.published is None else self.published.view

    @property
    def alive(self) -> bool:
        """Whether it still learns."""
        return not self._stopping.is_set()

    @property
    def ended(self) -> bool:
        """Whether its thread is over, with its last snapshot saved."""
        return not self._thread.is_alive()

    @property
    def owns(self) -> bool:
        """Whether this process folds the log."""
        lease = self._state.lease
        return lease is not None and lease.held

    @property
    def lag(self) -> int:
        """Answers that have been read and not learned yet."""
        return max(0, self.columns.sequence - (self.view.sequence if self.view else 0))

    def heard(self) -> None:
        """There is a new answer in the log, or the roster has changed."""
        self._heard.set()

    def renew(self) -> None:
        """Go on owning the learner, however long a fit takes just now."""
        if (lease := self._state.lease) is not None:
            lease.renew()

    def since(self) -> list[Query]:
        """Answered questions that are not in the view yet. There can be many if another process owns the learner."""
        with self.columns.lock:
            known = self.view.sequence if self.view is not None else 0
            first = int(np.searchsorted(self.columns.number, known, "right"))
            T = self.columns.triplets(slice(max(first, len(self.columns) - _RECENT), None))
            queries: list[Query] = list(map(tuple, T.tolist()))
        return queries

    def stop(self) -> None:
        """End soon."""
        self._stopping.set()
        self._heard.set()

    def close(self) -> None:
        """End, with a snapshot, and wait for it."""
        self.stop()
        self._thread.join()

    # What states do with the database and with what is published; only the learner's thread calls it.

    def acquire(self) -> Lease | None:
        """Own the learner, if no other process does."""
        fence = self._store.leases.acquire(self.study, self._owner, LEASE)
        return None if fence is None else Lease(self._store, self.study, self._owner, fence)

    def roster(self) -> int:
        """The number of the roster, which grows when somebody is excluded or included again."""
        if time.monotonic() >= self._roster_due:
            self._roster = self._store.studies.get(self.study).roster
            self._roster_due = time.monotonic() + _SOON
        return self._roster

    def restored(self) -> Kept | None:
        """The newest snapshot; its map is the one to go on from."""
        kept = self.snapshots.newest()
        if kept is not None and self.map is None:
            self.map = kept.map
        return kept

    def page(self, after: int) -> list[Answer]:
        """The answers that follow a number in the log."""
        return list(self._store.answers.log(self.study, after, PAGE, include_excluded=True))

    def read_columns(self) -> bool:
        """Read the next page of the log into the columns without learning it; return whether there were new answers."""
        page = self.page(self.columns.sequence)
        self.note(page, page[-1].sequence if page else 0)
        return bool(page)

    def note(self, page: list[Answer], last: int) -> None:
        """Add every answer up to the number ``last`` to the columns once; what the page lacks is read from the log."""
        # Also those that another process has asked.
        self.pending.drop(*(answer.token for answer in page))
        if not page or page[0].sequence != self.columns.sequence + 1:
            page = self.page(self.columns.sequence) if self.columns.sequence < last else []
        while page:
            # Do not hold this lock while the log is read: whoever waits for it may hold the connection that this needs.
            with self.columns.lock:
                self.columns.add(answer for answer in page if answer.sequence <= last)
            page = self.page(self.columns.sequence) if self.columns.sequence < last else []

    def publish(self, fold: Fold, roster: int) -> None:
        """Show what a fold knows, if that is new. A restarted fold is shown once it has caught up with the view."""
        if self.published is not None:
            before = self.published.view.sequence
            is_known = fold.sequence == before and roster == self.published.roster
            if fold.sequence < before or is_known:
                return
        view = View.of(fold.learner, fold.sequence, fold.held_out)
        # Here and not where the map is read, so that nobody who looks at it changes what is saved.
        aligned = aligned_map(view, self.map) if view.n_learned else None
        self.map = self.map if aligned is None else aligned
        self.published = Published(view, aligned, roster)

    def _run(self) -> None:
        try:
            self.pending.add(self._store.questions.pending(self.study))
            while not (self._stopping.is_set() or self._is_idle()):
                self._look()
        except Unknown:
            log.info("a study has been deleted; its learner ends")
        finally:
            self._stopping.set()
            self._end()

    def _is_idle(self) -> bool:
        """Whether nobody wants the learner; when somebody does, another begins from the snapshot."""
        return time.monotonic() - max(self._news_at, self.wanted_at) > _IDLE

    def _look(self) -> None:
        """One look at what is new, and the wait until the next one."""
        try:
            before, (self._state, news) = self._state, self._state.look(self)
        except Unknown:
            raise
        except StoreError as trouble:
            # A full disk, or a database that has gone away: nothing is lost, for the log decides.
            log.warning("the learner waits for the database", extra={"trouble": str(trouble)})
            self._stopping.wait(_WITHOUT_DATABASE)
            return
        except Exception:
            log.exception("the learner has failed, and begins anew")
            self._state = self._state.after_failure()
            self._stopping.wait(_AFTER_FAILURE)
            return
        if news:
            self._news_at = time.monotonic()
            self._stopping.wait(_TOGETHER)
        elif self._state is before:
            self._heard.wait(_SOON if time.monotonic() - self._news_at < _QUIET else _LATE)
        self._heard.clear()

    def _end(self) -> None:
        try:
            self._state.end(self)
        except StoreError as trouble:
            log.warning("no last snapshot was saved", extra={"trouble": str(trouble)})
        finally:
            self._state = Ended()

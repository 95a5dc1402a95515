"""The learner of one study: it reads the log, learns, and publishes what it knows.

Of several processes one owns the learner and folds the log; it keeps `snapshots` now and then, and the others look at
those. An answer is never passed from process to process: it is in the log, where everybody finds it.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from erkle.service.learning.columns import Columns
from erkle.service.learning.fold import Fold
from erkle.service.learning.pending import Pending
from erkle.service.learning.snapshots import SHARE, Kept, Snapshots
from erkle.service.learning.view import View
from erkle.store import Answer, Store, StoreError, Study, Unknown

__all__ = ["PAGE", "Learning"]

Query = tuple[int, int, int]

LEASE = 6.0
PAGE = 500
# Answers that come within this time are learned together: one look at the log for all of them.
_TOGETHER = 0.01
# How often to look for news that nobody tells of, at first and after a while without any.
_SOON, _LATE = 0.25, 2.0
# Answers that the view does not know yet, and that are not asked again.
_RECENT = 2000
# Seconds without news, and without anybody who wants to know, after which a learner ends.
_IDLE = 900.0
_AFTER_FAILURE = 5.0
# Who wants the kernel of all answers waits so many seconds for it at most.
_PATIENCE = 60.0

log = logging.getLogger("erkle.service")


class Learning:
    """What is known of a study now, and the thread that sees to it.

    Attributes
    ----------
    view : View or None
        What has been learned; replaced as a whole, and never changed.
    ready : bool
        Whether the view has ever been up to date.
    owns : bool
        Whether this process folds the log.
    """

    def __init__(self, store: Store, study: Study, process: str) -> None:
        self.study = study.id
        self.n_objects = study.n_objects
        self.view: View | None = None
        self.shown: NDArray[np.float64] | None = None
        self.ready = self.owns = False
        self.columns = Columns()
        self.reading, self._folding = threading.Lock(), threading.Lock()
        self.pending = Pending()
        self._store, self._process = store, process
        self._snapshots = Snapshots(store, study.id, study.n_objects)
        self._roster = self._published = study.roster
        self._fold: Fold | None = None
        self._fence: int | None = None
        self._heard, self._stopping = threading.Event(), threading.Event()
        self._lease_due = self._look_due = self._watch_due = 0.0
        self._quiet_since = self.wanted_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"erkle-learner-{study.id}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still learns."""
        return self._thread.is_alive() and not self._stopping.is_set()

    @property
    def lag(self) -> int:
        """Answers that have been read and not learned yet."""
        return max(0, self.columns.sequence - (self.view.sequence if self.view else 0))

    def heard(self) -> None:
        """There is a new answer in the log, or the roster has changed."""
        self._heard.set()

    def put_off(self) -> None:
        """Go on owning the learner, however long a fit takes just now."""
        if self.owns:
            try:
                self.owns = self._store.leases.renew(self.study, self._process, LEASE) is not None
            except StoreError as trouble:
                # It may be another's soon; its fence keeps this one from harm.
                log.warning("a lease could not be put off", extra={"trouble": str(trouble)})

    def since(self) -> list[Query]:
        """Questions that were answered, and that the view does not know of yet: many, where another process learns."""
        with self.reading:
            known = self.view.sequence if self.view is not None else 0
            first = int(np.searchsorted(self.columns.number, known, "right"))
            T = self.columns.triplets(slice(max(first, len(self.columns) - _RECENT), None))
            queries: list[Query] = list(map(tuple, T.tolist()))
        return queries

    @contextmanager
    def fold(self, roster: int, last: int) -> Iterator[Fold | None]:
        """Its own fold, held still, once it has come so far with this roster; None where it does not."""
        until = time.monotonic() + _PATIENCE
        while self.alive and self._is_on_the_way(roster, last) and time.monotonic() < until:
            self.heard()
            time.sleep(0.02)
        with self._folding:
            own = self._fold if self.owns and self._roster >= roster else None
            yield own if own is not None and own.sequence >= last else None

    def _is_on_the_way(self, roster: int, last: int) -> bool:
        """Whether the learner's own fold will come there; for that of another process nobody waits."""
        if not self.owns:
            return self._lease_due == 0.0
        return self._fold is None or self._roster < roster or self._fold.sequence < last

    def stop(self) -> None:
        """End soon."""
        self._stopping.set()
        self._heard.set()

    def close(self) -> None:
        """End, with a snapshot, and wait for it."""
        self.stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            self.pending.add(self._store.questions.pending(self.study))
            while not self._stopping.is_set():
                self._look()
        except Unknown:
            log.info("a study has been deleted; its learner ends")
        finally:
            self._stopping.set()
            self._end()

    def _look(self) -> None:
        """One look at what is new."""
        try:
            self._follow_roster()
            self._seek_lease()
            news = self._read() if self.owns else self._watch()
        except Unknown:
            raise
        except StoreError as trouble:
            # A full disk, or a database that has gone away: nothing is lost, for the log decides.
            log.warning("the learner waits for the database", extra={"trouble": str(trouble)})
            self._stopping.wait(1.0)
            return
        except Exception:
            log.exception("the learner has failed, and begins anew")
            self._fold = None
            self._stopping.wait(_AFTER_FAILURE)
            return
        if news:
            self._quiet_since = time.monotonic()
            self._stopping.wait(_TOGETHER)
        else:
            quiet = time.monotonic() - self._quiet_since
            self._heard.wait(_SOON if quiet < 100 * _SOON else _LATE)
            if quiet > _IDLE and time.monotonic() - self.wanted_at > _IDLE:
                # It begins again, from its snapshot, when somebody wants it.
                self._stopping.set()
        self._heard.clear()

    def _follow_roster(self) -> None:
        if time.monotonic() < self._look_due:
            return
        roster = self._store.studies.get(self.study).roster
        self._look_due = time.monotonic() + _SOON
        if roster != self._roster:
            # Somebody was excluded or included again: learn anew, while the old view stands.
            self._roster, self._fold = roster, None
            self._snapshots.begin_anew()

    def _seek_lease(self) -> None:
        if not self.owns:
            self._fold = None
            if time.monotonic() >= self._lease_due:
                self._fence = self._store.leases.acquire(self.study, self._process, LEASE)
                self.owns = self._fence is not None
                self._lease_due = time.monotonic() + 2.0

    def _read(self) -> bool:
        """Read on and learn; whether there was anything."""
        if self._fold is None:
            self._fold = self._restored() or Fold(self.n_objects)
        page = self._page(self._fold.sequence)
        with self._folding:
            self._fold.learn(page)
        # Before the view, so that whoever sees an answer in the map finds it in the tables.
        self._note(page, self._fold.sequence)
        if page or self._is_news(self._fold):
            self._publish(self._fold)
        self.ready = self.ready or len(page) < PAGE
        self._keep(self._fold)
        return bool(page)

    def _watch(self) -> bool:
        """Another process learns: read the log for the tables, and its snapshots for the map."""
        page = self._page(self.columns.sequence)
        self._note(page, page[-1].sequence if page else 0)
        if time.monotonic() >= self._watch_due:
            begun = time.monotonic()
            fold = self._restored()
            self._watch_due = time.monotonic() + max(_LATE, SHARE * (time.monotonic() - begun))
            if fold is not None and self._is_news(fold):
                self._publish(fold)
                self.ready = True
        return bool(page)

    def _page(self, after: int) -> list[Answer]:
        return list(self._store.answers.log(self.study, after, PAGE, include_excluded=True))

    def _note(self, page: list[Answer], last: int) -> None:
        """Columns know every answer up to the last once, even where the fold has come from a snapshot or anew."""
        # Those that another process has asked, too.
        self.pending.drop(*(answer.token for answer in page))
        if not page or page[0].sequence != self.columns.sequence + 1:
            page = self._page(self.columns.sequence) if self.columns.sequence < last else []
        while page:
            # Never while the log is read: who waits for the columns may hold the connection that this would need.
            with self.reading:
                self.columns.add(answer for answer in page if answer.sequence <= last)
            page = self._page(self.columns.sequence) if self.columns.sequence < last else []

    def _is_news(self, fold: Fold) -> bool:
        """Whether nothing like it has been published."""
        return self.view is None or fold.sequence > self.view.sequence or self._published != self._roster

    def _publish(self, fold: Fold) -> None:
        """Show what is known, unless it is on its way to where the view has been."""
        if self.view is None or fold.sequence >= self.view.sequence:
            self.view, self._published = View.of(fold.learner, fold.sequence, fold.held_out), self._roster

    def _restored(self) -> Fold | None:
        kept = self._snapshots.newest()
        if kept is None:
            return None
        self.shown = kept.shown if self.shown is None else self.shown
        return kept.fold

    def _keep(self, fold: Fold, at_once: bool = False) -> None:
        self._snapshots.keep(Kept(fold, self.shown), self._roster, self._fence, at_once)

    def _end(self) -> None:
        if not self.owns:
            return
        try:
            if self._fold is not None:
                self._keep(self._fold, at_once=True)
            self._store.leases.release(self.study, self._process)
        except (StoreError, Unknown) as trouble:
            log.warning("no last snapshot was kept", extra={"trouble": str(trouble)})
        finally:
            self.owns = False

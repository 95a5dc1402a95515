"""One runtime per study: its learner, its prepared settings and its dashboard start and end together.

A runtime starts with the first request for its study. It ends when the study is deleted, when its learner has stopped
because no request came for a while, or when the process ends.
"""

import logging
import os
import secrets
import socket
import threading
import time

from erkle.service.dashboard.dashboard import Dashboard
from erkle.service.dashboard.participants.rows import ParticipantRow, participant_rows
from erkle.service.every import Every
from erkle.service.learning import Learning
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.store import Store, Study, Transaction, Unavailable

# Seconds between two renewals of all leases. A lease lasts three times as long, so that a busy machine keeps it.
RENEWAL_SECONDS = 2.0

log = logging.getLogger("erkle.service")


class Runtime:
    """The state of one study in this process.

    Attributes
    ----------
    learning : Learning
        Learns from the study's answers.
    dashboard : Dashboard
        What researchers see of the study.
    """

    def __init__(self, store: Store, study: Study, owner: str) -> None:
        self.learning = Learning(store, study, owner)
        self.dashboard = Dashboard(store, self.learning)
        self._prepared: tuple[int, PreparedStudy] | None = None

    def prepared(self, study: Study, source: Store | Transaction) -> PreparedStudy:
        """Return the settings and objects for asking questions, read from ``source`` if they have changed."""
        if study.n_objects != self.learning.n_objects:
            # Another process has replaced the objects of the draft. The next request starts a new runtime.
            self.learning.stop()
            raise Unavailable("The objects of the study have changed; try again.")
        roster, found = self._prepared or (study.roster, None)
        if found is None or roster != study.roster or found.raw != study.settings:
            found = PreparedStudy.of(study, source.studies.objects(study.id))
            self._prepared = study.roster, found
        return found

    def participants(self, study: Study, store: Store) -> list[ParticipantRow]:
        """Return a row for each participant."""
        prepared, skips = self.prepared(study, store), store.answers.skips(study.id)
        people = store.participants.all(study.id)
        self.learning.catch_up()
        with self.learning.columns.lock:
            return participant_rows(people, skips, self.learning.columns, self.learning.view, prepared)


class Runtimes:
    """The runtimes of all studies in this process, and the thread that renews their leases.

    Parameters
    ----------
    store : Store
    renewal_seconds : float
        Time between two renewals.
    """

    def __init__(self, store: Store, renewal_seconds: float = RENEWAL_SECONDS) -> None:
        self._store = store
        self._process = f"{socket.gethostname()[:60]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._by_study: dict[str, Runtime] = {}
        self._is_closing = False
        self._renewal = Every(renewal_seconds, self._renew, "leases")

    def of(self, study: str) -> Runtime:
        """Return the runtime of a study, or raise `Unknown` if there is no such study."""
        with self._lock:
            found = self._by_study.get(study)
        if found is None or not found.learning.alive:
            # Read the study before taking the lock, because every request takes the lock.
            known = self._store.studies.get(study)
            with self._lock:
                if self._is_closing:
                    raise Unavailable("The server is shutting down; try again later.")
                found = self._by_study.get(study)
                if found is None or not found.learning.alive:
                    # A unique owner, so that a learner that is ending cannot release the lease of its successor.
                    owner = f"{self._process}-{secrets.token_hex(4)}"
                    found = self._by_study[study] = Runtime(self._store, known, owner)
        found.learning.wanted_at = time.monotonic()
        return found

    def running(self, study: str) -> Runtime | None:
        """Return the runtime of a study if it has one, without starting one."""
        with self._lock:
            return self._by_study.get(study)

    def all(self) -> list[Runtime]:
        """Return all runtimes."""
        with self._lock:
            return list(self._by_study.values())

    def stop(self, study: str) -> None:
        """End the runtime of a study, without waiting for a learner that is busy."""
        if (found := self.running(study)) is not None:
            found.learning.stop()

    def close(self) -> None:
        """Save snapshots, release all leases and end all threads."""
        with self._lock:
            self._is_closing = True
        for runtime in self.all():
            runtime.learning.stop()
        for runtime in self.all():
            runtime.learning.close()
        self._renewal.close()

    def _renew(self) -> None:
        for runtime in self.all():
            try:
                runtime.learning.renew()
            except Exception:
                # Any error: the other leases must still be renewed.
                log.exception("a lease could not be renewed")
        # Drop studies whose learner has ended because no request came, or because another process deleted them. A
        # learner that is still saving its last snapshot stays, so that `close` waits for it.
        with self._lock:
            self._by_study = {study: each for study, each in self._by_study.items() if not each.learning.ended}

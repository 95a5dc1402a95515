"""The engine: the learners of all studies in this process, and the leases that make one process their owner."""

import logging
import os
import secrets
import socket
import threading
import time

from erkle.service.learning.learning import Learning
from erkle.store import Store

__all__ = ["Engine"]

# A lease is put off long before it ends, so that a busy machine does not lose one.
_PUT_OFF = 2.0

log = logging.getLogger("erkle.service")


class Engine:
    """Learners by study, each in a thread of its own, begun when somebody first asks for it.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._name = f"{socket.gethostname()[:60]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._learnings: dict[str, Learning] = {}
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="erkle-leases", daemon=True)
        self._keeper.start()

    def learning(self, study: str) -> Learning:
        """The learner of a study; an error if there is no such study."""
        with self._lock:
            found = self._learnings.get(study)
            if found is None or not found.alive:
                # A name of its own: one that ends must not give up the lease of its successor.
                owner = f"{self._name}-{secrets.token_hex(4)}"
                found = self._learnings[study] = Learning(self._store, self._store.studies.get(study), owner)
            found.wanted_at = time.monotonic()
            return found

    def learnings(self) -> list[Learning]:
        """All that have been asked for."""
        with self._lock:
            return list(self._learnings.values())

    def forget(self, study: str) -> None:
        """End the learner of a study that is about to be deleted."""
        with self._lock:
            found = self._learnings.pop(study, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """Keep snapshots, give up all leases and end all threads."""
        self._closing.set()
        for learning in self.learnings():
            learning.stop()
        for learning in self.learnings():
            learning.close()
        self._keeper.join()

    def _keep(self) -> None:
        while not self._closing.wait(_PUT_OFF):
            for learning in self.learnings():
                try:
                    learning.put_off()
                except Exception:
                    # Whatever it is: the other leases must be put off all the same.
                    log.exception("a lease could not be put off")

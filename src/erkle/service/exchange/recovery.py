"""A thread that completes or undoes imports whose process was killed; see `Store.recover`."""

import logging
import threading

from erkle.store import Store

# Seconds between two looks.
_SECONDS = 60.0

log = logging.getLogger("erkle.service")


class Recovery:
    """Recovers when it starts, and then every minute, because another process may be killed at any time.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="erkle-recovery", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._store.recover()
            except Exception:
                # Any error, such as a full disk: try again later.
                log.exception("unfinished imports could not be recovered")
            self._closing.wait(_SECONDS)

"""A thread that looks after the database every few seconds, also when nobody sends a request."""

import logging

from erkle.service.every import Every
from erkle.store import Store

# Seconds between two looks.
SECONDS = 2.0

log = logging.getLogger("erkle.service")


class Watchdog:
    """The thread that looks after a database, until it is closed.

    Parameters
    ----------
    store : Store
    seconds : float
        Time between two looks.
    """

    def __init__(self, store: Store, seconds: float = SECONDS) -> None:
        self._store = store
        # What was wrong at the last look; the same trouble is logged once.
        self._trouble = ""
        self._looking = Every(seconds, self._look, "watchdog")

    def close(self) -> None:
        """End the thread, and look a last time."""
        self._looking.close()
        self._look()

    def _look(self) -> None:
        before, self._trouble = self._trouble, self._tend()
        if self._trouble and self._trouble != before:
            log.error("the database needs attention", extra={"trouble": self._trouble})

    def _tend(self) -> str:
        """Tend to the database; return what is wrong with it, or nothing."""
        try:
            self._store.tend()
        except (ValueError, OSError) as trouble:
            # StoreError, or the disk refuses a file.
            return str(trouble)
        except Exception as error:
            log.exception("the database could not be tended")
            return type(error).__name__
        return ""

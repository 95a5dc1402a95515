"""Work that a thread does every few seconds, also when nobody sends a request."""

import logging
import threading
from collections.abc import Callable

log = logging.getLogger("erkle.service")


class Every:
    """A thread that calls a function at once and then every few seconds, until it is closed.

    Parameters
    ----------
    seconds : float
        Time between two calls.
    work : function
        What to do. If it returns true, there is more to do, and it is called again at once.
    name : str
        The name of the work, for the thread and for messages.
    """

    def __init__(self, seconds: float, work: Callable[[], object], name: str) -> None:
        self._seconds, self._work, self._name = seconds, work, name
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"erkle-{name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for a call that is running, and end the thread."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            if not self._has_more():
                self._closing.wait(self._seconds)

    def _has_more(self) -> object:
        """Do the work, and return whether there is more to do."""
        try:
            return self._work()
        except Exception:
            # Any error, such as a full disk: try again later.
            log.exception("%s failed", self._name)
            return False

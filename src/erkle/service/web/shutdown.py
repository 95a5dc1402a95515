"""Shutdown: the server ends within seconds of a signal, whatever its threads are doing.

1. Event streams, which never end by themselves, end at once.
2. Uvicorn waits for the other requests, for a few seconds.
3. Threads end, and learners save their last snapshots. A learner that is compiling or fitting cannot be interrupted, so
   the process ends without it. Nothing is lost, because the log has every acknowledged answer.
"""

import logging
import os
import signal
import threading
import time
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Seconds from the end of the requests to the end of the process.
_SECONDS = 3.0

log = logging.getLogger("erkle.service")


class Shutdown:
    """Whether the server has been asked to stop.

    Uvicorn notifies the application only after all connections are closed, so this class handles the signals itself
    and then calls uvicorn's handlers.

    Parameters
    ----------
    owns_process : bool
        Whether the process does nothing else, so that `end_soon` may end it.
    """

    def __init__(self, owns_process: bool) -> None:
        self.asked = threading.Event()
        self._owns_process = owns_process
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in _SIGNALS}
            for number in _SIGNALS:
                signal.signal(number, self._handle)

    def end_soon(self) -> None:
        """End the process in a few seconds, even if a thread is still busy then."""
        if self._owns_process:
            threading.Thread(target=_end_process, name="erkle-shutdown", daemon=True).start()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked.is_set():
            # After a second signal, uvicorn does not tell the application that all requests have ended.
            self.end_soon()
        self.asked.set()
        before = self._before[signal.Signals(number)]
        if callable(before):
            before(number, frame)


def _end_process() -> None:
    time.sleep(_SECONDS)
    log.warning("the server ends although a thread is still busy; nothing is lost")
    # Not sys.exit: the interpreter would wait for threads, and compiled code must not run while it is taken down.
    os._exit(0)

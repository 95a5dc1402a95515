"""Shutdown: event streams, which never end by themselves, end as soon as the server is asked to stop."""

import signal
import threading
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Shutdown:
    """Whether the server has been asked to stop.

    Uvicorn notifies the application only after all connections are closed, so this class handles the signals itself
    and then calls uvicorn's handlers.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in _SIGNALS}
            for number in _SIGNALS:
                signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked.set()
        before = self._before[signal.Signals(number)]
        if callable(before):
            before(number, frame)

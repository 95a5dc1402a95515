"""The end of the server: streams, which have none of their own, hear of it and end; the server waits for no reader."""

import signal
import threading
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Shutdown:
    """Whether the server has been asked to end.

    The server's own handlers of signals are called as before. They are not seen by the application, which is told of
    the end only when all connections are closed.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in _SIGNALS}
            for number in _SIGNALS:
                signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.asked.set()
        before = self._before[signal.Signals(number)]
        if callable(before):
            before(number, frame)

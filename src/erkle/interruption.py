"""Work that Ctrl-C must not divide."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class uninterrupted:
    """A block in which Ctrl-C is only noted. It takes effect right after the block.

    Only the main thread gets signals, so in other threads there is nothing to do.
    """

    def __enter__(self) -> None:
        self._asked = False
        self._handler: Any = None
        if threading.current_thread() is threading.main_thread():
            # None if the handler was not installed from Python; it could not be restored.
            self._handler = signal.getsignal(signal.SIGINT)
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._asked = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        if self._asked:
            signal.raise_signal(signal.SIGINT)

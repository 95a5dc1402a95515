"""Work that Ctrl-C must not divide."""

import threading

# The functions of `signal` look up names of signals and handlers first, which takes as long as learning an answer.
from _signal import getsignal, signal  # type: ignore[import-not-found]
from signal import SIGINT, raise_signal
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
            self._handler = getsignal(SIGINT)
        if self._handler is not None:
            signal(SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._asked = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal(SIGINT, self._handler)
        if self._asked:
            raise_signal(SIGINT)

"""Work that Ctrl-C and SIGTERM must not divide."""

import threading

# The functions of `signal` look up names of signals and handlers first, which takes as long as learning an answer.
from _signal import getsignal, signal  # type: ignore[import-not-found]
from signal import SIGINT, SIGTERM, raise_signal
from types import FrameType, TracebackType
from typing import Any


class uninterrupted:
    """A block in which Ctrl-C and SIGTERM are only noted. They take effect right after the block, or at a `checkpoint`.

    Only the main thread gets signals, so in other threads there is nothing to do.
    """

    def __enter__(self) -> None:
        self._asked: list[int] = []
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            handlers = {number: getsignal(number) for number in (SIGINT, SIGTERM)}
            # It is None if the handler was not installed from Python; it could not be restored.
            self._handlers = {number: handler for number, handler in handlers.items() if handler is not None}
            self._defer()
            _blocks.append(self)

    def _defer(self) -> None:
        for number in self._handlers:
            signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._asked.append(number)

    def _let_through(self) -> None:
        for number, handler in self._handlers.items():
            signal(number, handler)
        asked, self._asked = self._asked, []
        for number in asked[:1]:
            raise_signal(number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self in _blocks:
            _blocks.remove(self)
        self._let_through()


# The blocks that the main thread is in, the innermost last.
_blocks: list[uninterrupted] = []


def checkpoint() -> None:
    """Let a signal that was noted take effect now. Long work calls this where it can stop and be repeated later."""
    if _blocks and _blocks[-1]._asked and threading.current_thread() is threading.main_thread():
        block = _blocks[-1]
        block._let_through()
        # Its handler has not raised an error, so the work goes on.
        block._defer()

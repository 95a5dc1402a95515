"""Work that Ctrl-C and SIGTERM must not divide."""

import threading

# The functions of `signal` look up names of signals and handlers first, which takes as long as learning an answer.
from _signal import getsignal, signal  # type: ignore[import-not-found]
from signal import SIG_DFL, SIGINT, SIGTERM, raise_signal
from types import FrameType, TracebackType
from typing import Any


class uninterrupted:
    """A block in which Ctrl-C and SIGTERM are only noted. They take effect after it, or at `let_signals_through`.

    Only the main thread gets signals, so in other threads there is nothing to do.
    """

    def __enter__(self) -> None:
        self._asked: list[int] = []
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            handlers = {number: getsignal(number) for number in (SIGINT, SIGTERM)}
            # It is None if the handler was not installed from Python; it could not be restored.
            self._handlers = {number: handler for number, handler in handlers.items() if handler is not None}
            try:
                _blocks.append(self)
                for number in self._handlers:
                    signal(number, self._note)
            except BaseException:
                self._leave()
                raise

    def _leave(self) -> None:
        if self in _blocks:
            _blocks.remove(self)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self in _blocks:
            self._asked.append(number)
        else:
            # An error has left the block before this handler was replaced.
            signal(number, self._handlers[number])
            raise_signal(number)

    def _deliver(self) -> None:
        """Call the handler of the first signal that was noted. Others are still only noted."""
        number, self._asked = self._asked[0], []
        handler = self._handlers[number]
        if callable(handler):
            handler(number, None)
        elif handler == SIG_DFL:
            signal(number, SIG_DFL)
            raise_signal(number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        for number, handler in self._handlers.items():
            signal(number, handler)
        for number in self._asked[:1]:
            raise_signal(number)


# The blocks that the main thread is in, the innermost last.
_blocks: list[uninterrupted] = []


def let_signals_through() -> None:
    """Let a signal that was noted take effect now. Long work calls this where it can stop and be repeated later."""
    if threading.current_thread() is threading.main_thread() and _blocks and _blocks[-1]._asked:
        _blocks[-1]._deliver()

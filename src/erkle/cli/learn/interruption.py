"""Ctrl-C and SIGTERM: the first one finishes the current work or ends waiting, the second one ends at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether the user has asked to stop, and whether the current work must be finished first."""

    def __init__(self) -> None:
        self.asked = False
        self._twice = False
        self._busy = False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside the block, the first interruption only sets ``asked``."""
        with self._set_busy(True):
            yield

    @contextmanager
    def ending_block(self) -> Iterator[None]:
        """The first interruption ends the block, unless it is deferred inside."""
        try:
            with self._set_busy(False):
                yield
        except KeyboardInterrupt:
            if self._twice:
                raise

    @contextmanager
    def _set_busy(self, busy: bool) -> Iterator[None]:
        before, self._busy = self._busy, busy
        try:
            yield
        finally:
            self._busy = before

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._twice, self.asked = self.asked, True
        if self._twice or not self._busy:
            raise KeyboardInterrupt


@contextmanager
def watching() -> Iterator[Interruption]:
    """Handle SIGINT and SIGTERM inside the block."""
    interruption = Interruption()
    before = {number: signal.signal(number, interruption._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

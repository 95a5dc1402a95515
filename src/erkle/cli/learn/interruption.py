"""Ctrl-C and SIGTERM: work in hand is finished first, waiting is cut short, and a second one ends at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether somebody wants us to stop, and whether we are in the middle of something."""

    def __init__(self) -> None:
        self.asked = False
        self._twice = False
        self._busy = False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside the block a first interruption is only noted."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    @contextmanager
    def ending_block(self) -> Iterator[None]:
        """Inside the block, where nothing is in hand, a first interruption ends the block."""
        try:
            yield
        except KeyboardInterrupt:
            if self._twice:
                raise

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._twice, self.asked = self.asked, True
        if self._twice or not self._busy:
            raise KeyboardInterrupt


@contextmanager
def watching() -> Iterator[Interruption]:
    """Watch for SIGINT and SIGTERM while the block runs."""
    interruption = Interruption()
    before = {number: signal.signal(number, interruption._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

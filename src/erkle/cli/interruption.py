"""Ctrl-C and SIGTERM: work in hand is finished first, waiting is cut short, and a second one ends at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interruption", "watching"]


class Interruption:
    """Whether somebody wants us to stop, and whether we are in the middle of something."""

    def __init__(self) -> None:
        self.asked = False
        self._busy = False

    @contextmanager
    def finishing_first(self) -> Iterator[None]:
        """Inside the block a first interruption is only noted."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    @contextmanager
    def cutting_short(self) -> Iterator[None]:
        """Inside the block a first interruption ends the block; a second one goes through."""
        try:
            yield
        except KeyboardInterrupt:
            if self._busy:
                raise

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        at_once = self.asked or not self._busy
        self.asked = True
        if at_once:
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

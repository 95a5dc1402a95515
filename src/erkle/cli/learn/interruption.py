"""Ctrl-C and SIGTERM: the first one finishes the current work or ends waiting, the second one ends at once.

The loss of a cluster ends the current work like a first Ctrl-C, so that what was learned can be saved.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from erkle.cluster import ClusterError


class Interruption:
    """Whether the user has asked to stop. The first interruption only sets ``asked``, except in `run`."""

    def __init__(self) -> None:
        self.asked = False
        self.error: ClusterError | None = None
        self._twice = False
        self._busy = True

    def run(self, work: Callable[[], object]) -> None:
        """Do work that the first interruption ends, unless it is `deferred` inside."""
        before = self._busy
        # Outside of this `try`, nobody would catch the KeyboardInterrupt of a first interruption.
        try:
            self._busy = False
            work()
            self._busy = True
        except KeyboardInterrupt:
            if self._twice:
                raise
        except ClusterError as error:
            self.asked, self.error = True, error
        finally:
            self._busy = before

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside the block, the first interruption only sets ``asked``."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._twice, self.asked = self.asked, True
        if self._twice or not self._busy:
            self._busy = True
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

"""Standard input that does something useful while no line arrives."""

import select
from collections.abc import Callable
from typing import Any, BinaryIO


class StandardInput:
    """A binary stream that calls ``when_silent`` whenever nothing has arrived for a while.

    Parameters
    ----------
    stream : binary file
        A pipe, a terminal or a regular file.
    seconds : function
        Returns how long to wait before the next call of ``when_silent``; None if there is no need for a call.
    when_silent : function
        Called between two reads, in the same thread.
    """

    def __init__(self, stream: BinaryIO, seconds: Callable[[], float | None], when_silent: Callable[[], None]) -> None:
        self._stream, self._seconds, self._when_silent = stream, seconds, when_silent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read1(self, size: int) -> bytes:
        """Wait until there is something, and return at most ``size`` bytes of it; nothing at the end."""
        # A read of more bytes than the buffer holds leaves nothing in the buffer, so the pipe says what there is.
        while not select.select([self._stream], [], [], self._seconds())[0]:
            self._when_silent()
        found: bytes = self._stream.read1(size)  # type: ignore[attr-defined]
        return found

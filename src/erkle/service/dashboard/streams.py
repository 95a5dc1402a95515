"""Event streams that are open. Each occupies a connection and asks for news twice a second, so there are few.

A browser that gets no stream asks for the dashboard every few seconds instead.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from fastapi import Depends, Request

from erkle.service.web.dependencies import AccountDep
from erkle.service.web.errors import Problem
from erkle.service.web.middleware.addressing import address_of

# Streams of one account, and of all accounts from one address.
_PER_ACCOUNT, _PER_ADDRESS = 10, 50


class Streams:
    """Counts the open streams. Used only by the event loop, so it needs no lock."""

    def __init__(self) -> None:
        self._open: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def one(self, account: str, address: str) -> Iterator[None]:
        """Count a stream as long as the block runs, or refuse it."""
        limits = {("account", account): _PER_ACCOUNT, ("address", address): _PER_ADDRESS}
        for (kind, key), most in limits.items():
            if self._open[kind, key] >= most:
                sentence = f"This {kind} has {most} live dashboards open; close one of them."
                raise Problem(429, "too-many-streams", sentence)
        self._open.update(limits.keys())
        try:
            yield
        finally:
            self._open.subtract(limits.keys())
            # Drop zeros.
            self._open += Counter()


async def _one_stream(request: Request, account: AccountDep) -> AsyncIterator[None]:
    with request.app.state.streams.one(account.id, address_of(request.scope)):
        yield


# FastAPI ends it after the last byte of the response.
OneStream = Depends(_one_stream)

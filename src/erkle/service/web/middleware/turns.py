"""Requests of one address take turns. Somebody who sends as much as they can delays other people by a few requests.

A turn begins when the whole body has arrived and ends when the response begins, so that a client that sends or reads
slowly does not keep others of its address waiting.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.web.errors import Problem
from erkle.service.web.middleware.addressing import address_of
from erkle.service.web.middleware.bodies import OF_RESEARCHERS, is_upload

# Requests of participants at one address that are worked on at the same time: enough to share flushes of the disk.
_OF_PARTICIPANTS = 8
# The same for all other requests. More would keep other people waiting for Python's interpreter lock.
_OTHERS = 1
# An address that sends faster than it is served: requests that wait for their turn or have it, and the seconds between
# two of its turns, or between two of monitoring.
_CROWD, _REST = 20, 0.01
# Bytes from which a body is large. Its JSON is parsed at once, and everybody else waits meanwhile.
_LARGE = 32_000
# Seconds after a large body before the next one of the same address is parsed.
_PAUSE = 0.2
# Monitoring has turns of its own, so that it does not wait for others at the same address.
_MONITORING = ("/health", "/alive")
# Where participants answer, which means waiting for the disk.
_TAKING_PART = "/api/take/"
_EXPORT = "/export/"


class InTurn:
    """ASGI middleware that works on few requests of one address at the same time; the others wait."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._of_participants, self._others, self._large = Turns(_OF_PARTICIPANTS), Turns(_OTHERS), Turns(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request when it is its turn."""
        if scope["type"] != "http" or _may_take_minutes(scope):
            return await self._app(scope, receive, send)
        size = 0
        if scope["method"] not in ("GET", "HEAD"):
            try:
                receive, size = await _arrived(receive)
            except Problem as problem:
                return await problem.refuse(scope, receive, send)
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._turn(scope, size))

            async def watched(message: Message) -> None:
                if message["type"] == "http.response.start":
                    await turn.aclose()
                await send(message)

            await self._app(scope, receive, watched)

    @asynccontextmanager
    async def _turn(self, scope: Scope, size: int) -> AsyncIterator[None]:
        """The turn of a request with a body of this size."""
        address, path = address_of(scope), scope["path"]
        if size > _LARGE:
            async with self._large.turn(address):
                yield
                await asyncio.sleep(_PAUSE)
        elif scope["method"] == "POST" and path.startswith(_TAKING_PART):
            async with self._of_participants.turn(address):
                yield
        else:
            is_monitoring = path in _MONITORING
            async with self._others.turn((address, is_monitoring)):
                yield
                if is_monitoring or self._others.users((address, False)) > _CROWD:
                    await asyncio.sleep(_REST)


class Turns:
    """At most ``most`` turns per key at the same time; the others wait, first come, first served."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._turns: dict[Hashable, asyncio.Semaphore] = {}
        self._users: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        return len(self._turns)

    def users(self, key: Hashable) -> int:
        """How many wait for a turn of this key or have it."""
        return self._users[key]

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, and have it for the duration of a block."""
        free = self._turns.setdefault(key, asyncio.Semaphore(self._most))
        self._users[key] += 1
        try:
            async with free:
                # Requests that never wait would otherwise all be served at once, before those of other people.
                await asyncio.sleep(0)
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._turns[key]


def _may_take_minutes(scope: Scope) -> bool:
    """Return whether this is an export, an upload or a deletion of a researcher."""
    is_long = is_upload(scope) or scope["method"] == "DELETE" or _EXPORT in scope["path"]
    return scope["path"].startswith(OF_RESEARCHERS) and is_long


async def _arrived(receive: Receive) -> tuple[Receive, int]:
    """Read the whole body, which has at most a megabyte; return a function that receives it at once, and its size."""
    message, body = await receive(), bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            message = {"type": "http.request", "body": bytes(body), "more_body": False}
            break
        message = await receive()
    kept = [message]

    async def again() -> Message:
        return kept.pop() if kept else await receive()

    return again, len(body)

"""Whether and when a request is worked on, decided before its body is read.

Each address has a limited rate. Only a few requests of one address are worked on at the same time; its others wait for
their turn. So an address that sends as much as it can delays other people by only a few requests.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.web.errors import Problem
from erkle.service.web.limits import limits_of
from erkle.service.web.middleware.addressing import address_of

# Requests of one address that are worked on at the same time: enough to share flushes of the disk, and less than half
# of the 40 threads of the server.
_AT_ONCE = 16
# What researchers do may take minutes, and needs a session.
_WITHOUT_TURNS = ("/api/studies", "/api/import")
# Parameters of a query, or cookies: splitting 16 kB into thousands of them takes milliseconds.
_MOST_PARAMETERS = 200


class Admission:
    """ASGI middleware that limits the requests of each address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._turns = app, Turns(_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request when it is its turn, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        try:
            _check_parameters(scope)
            limits_of(scope).request(scope["method"], scope["path"])
        except Problem as problem:
            return await problem.refuse(scope, receive, send)
        if scope["path"].startswith(_WITHOUT_TURNS):
            return await self._app(scope, receive, send)
        await self._in_turn(scope, receive, send)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._turns.turn(address_of(scope)))

            async def watched(message: Message) -> None:
                # The work is done. A slow client may take long to read the response.
                if message["type"] == "http.response.start":
                    await turn.aclose()
                await send(message)

            await self._app(scope, receive, watched)


class Turns:
    """At most ``most`` turns per key at the same time; the others wait, first come, first served."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._users: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._turns)

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it for the duration of a block."""
        free = self._turns.setdefault(key, asyncio.Semaphore(self._most))
        self._users[key] += 1
        try:
            async with free:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._turns[key]


def _check_parameters(scope: Scope) -> None:
    cookies = sum(value.count(b";") for name, value in scope["headers"] if name == b"cookie")
    if max(cookies, scope["query_string"].count(b"&")) >= _MOST_PARAMETERS:
        sentence = f"The request has more than {_MOST_PARAMETERS} URL parameters or cookies; send fewer."
        raise Problem(400, "too-many-parameters", sentence)

"""Whether a request is accepted, decided before its body is read: each address has a limited rate.

Requests above a rate, here or in a route, are refused after a pause.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.accounts.sessions import drop_other_cookies
from erkle.service.web.errors import Problem
from erkle.service.web.limits import limits_of

# Seconds before a request above a rate is refused. Without this pause, refusing requests as fast as somebody can send
# them would keep the server busy.
PAUSE = 1.0
# Parameters of a query: splitting 16 kB into thousands of them takes milliseconds.
_MOST_PARAMETERS = 200


class Admission:
    """ASGI middleware that refuses requests above the rate of their address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def paused(message: Message) -> None:
            if message.get("status") == 429:
                await asyncio.sleep(PAUSE)
            await send(message)

        try:
            limits_of(scope).request(scope["method"], scope["path"])
            _check_parameters(scope)
            drop_other_cookies(scope)
        except Problem as problem:
            return await problem.refuse(scope, receive, paused)
        await self._app(scope, receive, paused)


def _check_parameters(scope: Scope) -> None:
    if scope["query_string"].count(b"&") >= _MOST_PARAMETERS:
        sentence = f"The request has more than {_MOST_PARAMETERS} URL parameters; send fewer."
        raise Problem(400, "too-many-parameters", sentence)

"""Whether a request is accepted, decided before its body is read: each address has a limited rate.

Requests above the rate are refused after a pause.
"""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from erkle.service.web.errors import Problem
from erkle.service.web.limits import limits_of

# Seconds before a request is refused. Without this pause, refusing requests as fast as somebody can send them would
# keep the server busy.
PAUSE = 1.0
# Parameters of a query, or cookies: splitting 16 kB into thousands of them takes milliseconds.
_MOST_PARAMETERS = 200


class Admission:
    """ASGI middleware that refuses requests above the rate of their address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or refuse it."""
        if scope["type"] == "http":
            try:
                limits_of(scope).request(scope["method"], scope["path"])
                _check_parameters(scope)
            except Problem as problem:
                await asyncio.sleep(PAUSE)
                return await problem.refuse(scope, receive, send)
        await self._app(scope, receive, send)


def _check_parameters(scope: Scope) -> None:
    cookies = sum(value.count(b";") for name, value in scope["headers"] if name == b"cookie")
    if max(cookies, scope["query_string"].count(b"&")) >= _MOST_PARAMETERS:
        sentence = f"The request has more than {_MOST_PARAMETERS} URL parameters or cookies; send fewer."
        raise Problem(400, "too-many-parameters", sentence)

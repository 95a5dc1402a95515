"""Every request is logged and counted. An unexpected error is logged, and the client only gets a 500."""

import logging
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.web.errors import Problem
from erkle.service.web.logs import frames
from erkle.service.web.metrics import REFUSED, REQUESTS

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_log = logging.getLogger("erkle.requests")


class Observing:
    """ASGI middleware that logs and counts requests, and responds with 500 to unexpected errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request and observe the response."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, status, streams = time.perf_counter(), 0, False

        async def watched(message: Message) -> None:
            nonlocal status, streams
            if message["type"] == "http.response.start":
                status = message["status"]
                streams = any(value.startswith(b"text/event-stream") for _, value in message["headers"])
            await send(message)

        failed: dict[str, Any] = {}
        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            failed = {"reason": "unexpected", **frames(error)}
            if not status:
                problem = Problem(500, "unexpected", "The server had an error, which it has logged; try again.")
                await problem.response()(scope, receive, watched)
        # Without a status the client has disconnected before the response: 499, as nginx logs it.
        _note(scope, status or 499, time.perf_counter() - began, streams, failed)


def _note(scope: Scope, status: int, seconds: float, streams: bool, failed: dict[str, Any]) -> None:
    method = scope["method"] if scope["method"] in _METHODS else "OTHER"
    route = _template(scope)
    reason = scope.get("erkle.reason")
    if not streams:
        REQUESTS.labels(method, route, str(status)).observe(seconds)
    if reason is not None:
        REFUSED.labels(route, reason).inc()
    fields = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 2)}
    if reason is not None:
        fields["reason"] = reason
    _log.log(logging.ERROR if failed else logging.INFO, "request", extra=fields | failed)


def _template(scope: Scope) -> str:
    """Return the path of the route with its parameters' names, ``/static`` for files, or ``unmatched``."""
    if (route := scope.get("route")) is not None:
        return str(route.path)
    return "/static" if scope["path"].startswith("/static/") else "unmatched"

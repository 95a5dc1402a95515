"""Front ends that are somewhere else: what participants need may be used from the origins that the operator names.

Cookies are never part of it: what researchers do is done on our own pages, or by programs.
"""

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from erkle.service.configuration import Configuration

_PATHS = ("/api/take/", "/media/")


class Cors:
    """ASGI middleware that answers with CORS headers, at participants' addresses, if there are such origins."""

    def __init__(self, app: ASGIApp, configuration: Configuration) -> None:
        self._app = app
        self._open = CORSMiddleware(
            app,
            allow_origins=configuration.allowed_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type"],
            max_age=3600,
        )
        self._is_used = bool(configuration.allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, by way of CORS where that is meant."""
        is_open = self._is_used and scope["type"] == "http" and scope["path"].startswith(_PATHS)
        await (self._open if is_open else self._app)(scope, receive, send)

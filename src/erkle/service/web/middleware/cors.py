"""CORS for front ends on other sites: they may use the participants' API if the operator allows their origin.

Cookies are never allowed: researchers use the pages of this server, or programs.
"""

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from erkle.service.configuration import Configuration

_PATHS = ("/api/take/", "/media/")


class Cors:
    """ASGI middleware that adds CORS headers to the participants' API, if any origins are allowed."""

    def __init__(self, app: ASGIApp, configuration: Configuration) -> None:
        self._app = app
        self._with_cors = CORSMiddleware(
            app,
            allow_origins=configuration.allowed_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type"],
            max_age=3600,
        )
        self._is_used = bool(configuration.allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, with CORS headers if its path allows them."""
        is_open = self._is_used and scope["type"] == "http" and scope["path"].startswith(_PATHS)
        await (self._with_cors if is_open else self._app)(scope, receive, send)

"""A limit on the size of request bodies, whatever their headers say.

Only researchers may send more than 32 kB, and only where studies are created, changed and imported. Both are checked
here because FastAPI reads and parses the whole body before it runs the dependencies of a route.
"""

import re

from anyio.to_thread import run_sync
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.accounts.sessions import needed, token_of
from erkle.service.configuration import Configuration
from erkle.service.web.errors import Problem, problem_of
from erkle.store import StoreError

# Where all requests need a session.
OF_RESEARCHERS = ("/api/studies", "/api/import")
# The methods and paths that accept files.
_UPLOADS = re.compile(
    r"POST /api/(?:studies/upload|studies/[^/]+/(?:import|objects|features)|import|import/triplets)"
    r"|PUT /api/studies/[^/]+/objects"
)
# Bytes that anybody may send. The largest body of a participant is an answer, with 2 kB about the browser.
_ANYBODY = 32_000
# Bytes of the largest body for each list or object that its JSON may have: when Python parses 300,000 empty lists, its
# garbage collector keeps everybody waiting for a second.
_BYTES_PER_LIST = 32


class BodyLimit:
    """ASGI middleware that refuses a body as soon as it exceeds the limit."""

    def __init__(self, app: ASGIApp, configuration: Configuration) -> None:
        self._app = app
        self._body, self._upload = configuration.body_bytes, configuration.upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or refuse it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            return await self._app(scope, receive, send)
        try:
            most = await self._most(scope)
        except (Problem, StoreError) as error:
            return await problem_of(error).refuse(scope, receive, send)
        await self._app(scope, _counted(receive, most, counts_lists=not is_upload(scope)), send)

    async def _most(self, scope: Scope) -> int:
        """Return the most bytes that the body may have, or raise the problem with who sends it or how large it is."""
        connection, most = HTTPConnection(scope), min(_ANYBODY, self._body)
        if scope["path"].startswith(OF_RESEARCHERS):
            await run_sync(needed, scope["app"].state.store, token_of(connection))
            most = self._upload if is_upload(scope) else self._body
        length = connection.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) <= 18 and int(length) <= most):
            raise _too_large(most)
        if is_upload(scope):
            # Before the upload is received, because it is stored in a temporary file first.
            await run_sync(scope["app"].state.store.check_room, int(length))
        return most


def is_upload(scope: Scope) -> bool:
    """Return whether a request may contain files."""
    return _UPLOADS.fullmatch(f"{scope['method']} {scope['path']}") is not None


def _counted(receive: Receive, most: int, counts_lists: bool) -> Receive:
    n_bytes = n_lists = 0

    async def counted() -> Message:
        nonlocal n_bytes, n_lists
        message = await receive()
        body = message.get("body", b"")
        n_bytes += len(body)
        if n_bytes > most:
            raise _too_large(most)
        n_lists += body.count(b"[") + body.count(b"{")
        if counts_lists and n_lists > (most_lists := most // _BYTES_PER_LIST):
            raise _refusal(f"more than {most_lists:,} lists and objects")
        return message

    return counted


def _too_large(most: int) -> Problem:
    return _refusal(f"more than {most:,} bytes")


def _refusal(found: str) -> Problem:
    # The rest of the body stays unread, so the connection cannot be reused.
    return Problem(
        413, "too-large", f"The request has {found}; send less in one request.", headers={"Connection": "close"}
    )

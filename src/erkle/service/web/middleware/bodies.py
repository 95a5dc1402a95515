"""A limit on the size of request bodies, whatever their headers say.

Only signed-in researchers may upload large files. This is checked here because FastAPI reads the whole body before it
runs the dependencies of a route.
"""

from anyio.to_thread import run_sync
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.accounts.sessions import COOKIE
from erkle.service.configuration import Configuration
from erkle.service.web.errors import Problem, problem_of
from erkle.store import StoreError
from erkle.store.sanitising import is_id


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
            most = await self._checked_most(scope)
        except (Problem, StoreError) as error:
            return await _unread(error).response()(scope, receive, send)
        await self._app(scope, _counted(receive, most), send)

    async def _checked_most(self, scope: Scope) -> int:
        """Return the most bytes that the body may have, or raise the problem with the size that the headers declare."""
        headers = dict(scope["headers"])
        most, length = await self._most(scope, headers), headers.get(b"content-length", b"")
        if length and (not length.isdigit() or len(length) > 18 or int(length) > most):
            raise _too_large(most)
        if most == self._upload:
            # Before the upload is received, because it is stored in a temporary file first.
            await run_sync(scope["app"].state.store.check_room, int(length or most))
        return most

    async def _most(self, scope: Scope, headers: dict[bytes, bytes]) -> int:
        if not headers.get(b"content-type", b"").lower().startswith(b"multipart/form-data"):
            return self._body
        token = cookie_parser(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
        signed_in = is_id(token) and await run_sync(scope["app"].state.store.sessions.get, token) is not None
        return self._upload if signed_in else self._body


def _counted(receive: Receive, most: int) -> Receive:
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise _too_large(most)
        return message

    return counted


def _too_large(most: int) -> Problem:
    return _unread(Problem(413, "too-large", f"The request has more than {most:,} bytes; send less in one request."))


def _unread(error: Exception) -> Problem:
    """Return the problem of a request whose body is not read to its end, so that its connection cannot be reused."""
    problem = problem_of(error)
    problem.headers = {**(problem.headers or {}), "Connection": "close"}
    return problem

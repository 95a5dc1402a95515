"""A limit on the size of request bodies, whatever their headers say.

Only signed-in researchers may send more than 32 kB. This is checked here because FastAPI reads the whole body before
it runs the dependencies of a route.
"""

from anyio.to_thread import run_sync
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.accounts.sessions import found, token_of
from erkle.service.configuration import Configuration
from erkle.service.web.errors import Problem, problem_of
from erkle.store import StoreError

# Bytes that anybody may send. The largest body of a participant is an answer, with 2 kB about the browser.
_ANYBODY = 32_000


class BodyLimit:
    """ASGI middleware that refuses a body as soon as it exceeds the limit."""

    def __init__(self, app: ASGIApp, configuration: Configuration) -> None:
        self._app = app
        self._body, self._upload = configuration.body_bytes, configuration.upload_bytes
        self._anybody = min(_ANYBODY, self._body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or refuse it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            return await self._app(scope, receive, send)
        try:
            most = await self._checked_most(scope)
        except (Problem, StoreError) as error:
            return await problem_of(error).refuse(scope, receive, send)
        await self._app(scope, self._counted(scope, receive, most), send)

    async def _checked_most(self, scope: Scope) -> int:
        """Return the most bytes that the body may have, or raise the problem with the size that the headers declare."""
        length, most = HTTPConnection(scope).headers.get("content-length", "0"), self._anybody
        if not _is_within(length, most) and not _is_within(length, most := await self._most(scope)):
            raise self._too_large(most)
        if most == self._upload:
            # Before the upload is received, because it is stored in a temporary file first.
            await run_sync(scope["app"].state.store.check_room, int(length))
        return most

    def _counted(self, scope: Scope, receive: Receive, most: int) -> Receive:
        read = 0

        async def counted() -> Message:
            nonlocal read, most
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                # A body without a length: who sends it matters only now.
                most = await self._most(scope)
                if read > most:
                    raise self._too_large(most)
            return message

        return counted

    async def _most(self, scope: Scope) -> int:
        connection = HTTPConnection(scope)
        if await run_sync(found, scope["app"].state.store, token_of(connection)) is None:
            return self._anybody
        kind = connection.headers.get("content-type", "").lower()
        return self._upload if kind.startswith("multipart/form-data") else self._body

    def _too_large(self, most: int) -> Problem:
        hint = ", or sign in" if most == self._anybody else ""
        sentence = f"The request has more than {most:,} bytes; send less in one request{hint}."
        # The rest of the body stays unread, so the connection cannot be reused.
        return Problem(413, "too-large", sentence, headers={"Connection": "close"})


def _is_within(length: str, most: int) -> bool:
    return length.isascii() and length.isdigit() and len(length) <= 18 and int(length) <= most

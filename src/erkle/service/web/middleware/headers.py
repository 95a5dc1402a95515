"""Security headers that forbid the browser everything that the pages do not need."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erkle.service.configuration import Configuration
from erkle.service.web.middleware.addressing import is_https

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# A response that is not a page must not be shown as one.
_OTHER = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_PAGE = PAGE_POLICY.encode()

_ALWAYS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"permissions-policy": b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}
_POLICY = b"content-security-policy"
_HSTS = {b"strict-transport-security": b"max-age=%d" % (365 * 24 * 3600)}


class Headers:
    """ASGI middleware that adds the security headers that a response does not set itself."""

    def __init__(self, app: ASGIApp, configuration: Configuration) -> None:
        self._app, self._configuration = app, configuration
        # A front end on another site must be able to load media.
        elsewhere = {b"cross-origin-resource-policy": b"cross-origin"} if configuration.allowed_origins else {}
        self._media = _ALWAYS | elsewhere

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, and add headers to the response."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add(message, self._wanted(scope, message))
            await send(message)

        await self._app(scope, receive, with_headers)

    def _wanted(self, scope: Scope, message: Message) -> dict[bytes, bytes]:
        path = scope["path"]
        wanted = dict(self._media if path.startswith("/media/") else _ALWAYS)
        # A 304 keeps the policy of the response in the browser's cache.
        if message["status"] != 304:
            is_page = any(
                name == b"content-type" and value.startswith(b"text/html") for name, value in message["headers"]
            )
            wanted[_POLICY] = _PAGE if is_page else _OTHER
        if path.startswith("/api/"):
            wanted[b"cache-control"] = b"no-store"
        # Checked here, after `Addressing` has read the proxy's headers.
        if is_https(scope, self._configuration):
            wanted |= _HSTS
        return wanted


def _add(message: Message, wanted: dict[bytes, bytes]) -> None:
    headers = message["headers"] = list(message["headers"])
    there = {name for name, _ in headers}
    headers += [(name, value) for name, value in wanted.items() if name not in there]

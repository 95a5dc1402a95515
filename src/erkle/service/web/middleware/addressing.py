"""The client, scheme and host of a request. Headers of a proxy are used only if the proxy is trusted.

The client's address is the last one in ``X-Forwarded-For`` that is not a trusted proxy, because the client may have
written the addresses before it.
"""

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from erkle.service.configuration import Configuration, Network
from erkle.service.web.errors import Problem

_HOST = re.compile(r"([A-Za-z0-9_.-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?", re.ASCII)
# Some proxies add the client's port to its address.
_PORT = re.compile(r"^(?:\[(.*)\]|([0-9.]+))(?::[0-9]+)?$")
# Health checks use the server's address instead of its public name.
_ANY_HOST = frozenset({"/alive", "/health", "/metrics"})


class Addressing:
    """ASGI middleware that sets the client and scheme of a request, and refuses requests for other hosts."""

    def __init__(self, app: ASGIApp, configuration: Configuration) -> None:
        self._app = app
        self._trusted = configuration.trusted_proxies
        self._host = (urlsplit(configuration.public_url).hostname or "").lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or refuse it."""
        if scope["type"] == "http":
            if self._trusted:
                _apply_forwarded(scope, self._trusted)
            if (problem := self._problem(scope)) is not None:
                return await problem.refuse(scope, receive, send)
        await self._app(scope, receive, send)

    def _problem(self, scope: Scope) -> Problem | None:
        hosts = Headers(scope=scope).getlist("host")
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found is None:
            return Problem(400, "host", "The Host header of the request is missing or invalid.")
        if self._host and found[1].lower() != self._host and scope["path"] not in _ANY_HOST:
            return Problem(421, "host", "This server has another name; use the address that you were given.")
        return None


def address_of(scope: Scope) -> str:
    """Return the key for limits: an IPv4 address, or the /64 network of an IPv6 address."""
    address = _parsed((scope.get("client") or ("local",))[0])
    if isinstance(address, ipaddress.IPv6Address):
        return _network(address, 64)
    return "unknown" if address is None else str(address)


def site_of(scope: Scope) -> str | None:
    """Return the /48 network of an IPv6 address, which is what one customer of a provider has; None for others."""
    address = _parsed((scope.get("client") or ("local",))[0])
    return _network(address, 48) if isinstance(address, ipaddress.IPv6Address) else None


def is_local(scope: Scope) -> bool:
    """Return whether the request comes directly from this machine, without a proxy."""
    if "x-forwarded-for" in Headers(scope=scope):
        return False
    address = _parsed((scope.get("client") or ("127.0.0.1",))[0])
    return address is not None and address.is_loopback


def is_https(scope: Scope, configuration: Configuration) -> bool:
    """Return whether the browser uses https, to this server or to a proxy in front of it."""
    return scope.get("scheme") == "https" or configuration.public_url.startswith("https://")


def base_url(scope: Scope, configuration: Configuration) -> str:
    """Return the start of links: the public URL, or the scheme and host of the request."""
    return configuration.public_url or f"{scope.get('scheme', 'http')}://{Headers(scope=scope)['host']}"


def _apply_forwarded(scope: Scope, trusted: Sequence[Network]) -> None:
    if not is_trusted((scope.get("client") or ("127.0.0.1",))[0], trusted):
        return
    forwarded = (_PORT.sub(r"\1\2", part) for part in reversed(_parts(scope, "x-forwarded-for")))
    # Stop at the first one: a client may have sent thousands of addresses.
    client = next((address for address in forwarded if not is_trusted(address, trusted)), None)
    if client is not None and _parsed(client) is not None:
        scope["client"] = (client, 0)
    schemes = _parts(scope, "x-forwarded-proto")
    if schemes and schemes[-1] in ("http", "https"):
        scope["scheme"] = schemes[-1]


def is_trusted(text: str, trusted: Sequence[Network]) -> bool:
    """Return whether an address belongs to a trusted proxy."""
    address = _parsed(text)
    return address is not None and any(address in network for network in trusted)


def _network(address: ipaddress.IPv6Address, length: int) -> str:
    spare = 128 - length
    return str(ipaddress.ip_network((int(address) >> spare << spare, length)))


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _parts(scope: Scope, name: str) -> list[str]:
    return [part.strip() for header in Headers(scope=scope).getlist(name) for part in header.split(",")]

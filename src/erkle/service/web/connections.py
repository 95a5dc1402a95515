"""Connections. A client that sends huge headers, sends nothing, or reads nothing does not occupy the server.

uvicorn limits neither the size of the headers (except with its slower parser, h11) nor the time in which a request
arrives and a response is read. It also accepts any number of connections.
"""

import asyncio
from collections import Counter
from typing import Any, ClassVar, NoReturn

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from erkle.service.web.errors import Problem
from erkle.service.web.middleware.addressing import address_of, is_trusted

# Bytes of the request line and the headers. Each header counts as at least 80 bytes, because thousands of tiny ones
# take milliseconds.
HEAD_BYTES = 16_000
_LEAST_HEADER = 80
# Parts in which a body may arrive, and bytes for each further part: 40,000 chunks of one byte take a tenth of a second.
_MOST_PARTS, _PART = 1000, 100
# Bytes around each byte of a body: a chunk of one byte has five.
_FRAMING = 8
# A request arrives within this many seconds, and a second more for each `_RATE` bytes.
_SECONDS = 20.0
_RATE = 10_000
# Seconds in which a client reads at least a part of what waits for it.
_READ_SECONDS = 60.0
# Connections of one address, except those of a trusted proxy, which everybody shares. A class of 300 may share one
# address, and a browser opens six.
_MOST = 2000
# Requests that a client may send before it gets the response to the first one. Browsers send one.
_MOST_PIPELINED = 20

_TOO_LARGE = Problem(431, "head-too-large", f"The headers have more than {HEAD_BYTES:,} bytes; send fewer or shorter.")
_TOO_MANY_PARTS = Problem(400, "small-chunks", "The body arrives in chunks of a few bytes; send larger chunks.")
_INVALID = Problem(400, "unreadable", "This is not a valid HTTP request; check what was sent.")


class Guarded(HttpToolsProtocol):
    """uvicorn's protocol with limits on the head of a request, on time, and on connections per address.

    Only bytes that no `on_body` has reported count as part of the head: they are headers, trailers or framing.
    """

    _open: ClassVar[Counter[str]] = Counter()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._is_arriving, self._received, self._head, self._body, self._parts = True, 0, 0, 0, 0
        self._problem, self._since = _INVALID, 0.0
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, or close the connection if the address has too many."""
        super().connection_made(transport)
        self._address = address_of({"client": self.client})
        self._open[self._address] += 1
        if self._open[self._address] > _MOST and not self._is_proxy():
            transport.abort()
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._open[self._address] -= 1
        if not self._open[self._address]:
            del self._open[self._address]
        _cancel(self._deadline)
        _cancel(self._reading)

    def data_received(self, data: bytes) -> None:
        """Parse some bytes, and refuse a head that is too large although its end is still missing."""
        self._is_arriving = True
        self._received += len(data)
        super().data_received(data)
        if not self._is_arriving or self.transport.is_closing():
            return
        self._expect_request()
        if self._received - _FRAMING * self._body > HEAD_BYTES:
            self._respond(_TOO_LARGE)

    def on_url(self, url: bytes) -> None:
        """Count a part of the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, or a trailer after the body."""
        self._count(max(len(name) + len(value), _LEAST_HEADER))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start to serve the request, unless too many others wait on this connection."""
        if len(self.pipeline) >= _MOST_PIPELINED:
            self._refuse(_INVALID)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count a part of the body, unless the response did not need it: then nobody reads it, so it must end."""
        if self.cycle.response_complete:
            self.transport.close()
        self._body, self._parts = self._body + len(body), self._parts + 1
        if self.transport.is_closing() or self._parts > _MOST_PARTS + self._body / _PART:
            self._refuse(_TOO_MANY_PARTS)
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Note that a request arrives, which may have begun in the middle of the bytes that were received."""
        self._is_arriving = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Stop waiting: the request has arrived."""
        super().on_message_complete()
        self._is_arriving, self._received, self._head, self._body, self._parts = False, 0, 0, 0, 0
        _cancel(self._deadline)
        self._deadline = None

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with a request that the parser has refused."""
        self._respond(self._problem)

    def pause_writing(self) -> None:
        """Give the client some time to read."""
        super().pause_writing()
        self._reading = self.loop.call_later(_READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Continue: the client has read."""
        super().resume_writing()
        _cancel(self._reading)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_BYTES:
            self._refuse(_TOO_LARGE)

    def _refuse(self, problem: Problem) -> NoReturn:
        """Stop the parser; uvicorn then calls `send_400_response`."""
        self._problem = problem
        raise ValueError(problem.reason)

    def _expect_request(self) -> None:
        if self._deadline is None:
            self._since = self.loop.time()
            self._deadline = self.loop.call_later(_SECONDS, self._check_deadline)

    def _check_deadline(self) -> None:
        self._deadline, now = None, self.loop.time()
        if self._is_busy():
            return self._expect_request()
        left = self._since + _SECONDS + self._received / _RATE - now
        if left > 0:
            self._deadline = self.loop.call_later(left, self._check_deadline)
        else:
            self.transport.abort()

    def _is_busy(self) -> bool:
        """Return whether the server, not the client, takes its time."""
        cycle = self.cycle
        is_served = cycle is not None and not cycle.more_body and not cycle.response_complete
        return is_served or self.flow.read_paused

    def _is_proxy(self) -> bool:
        return self.client is not None and is_trusted(self.client[0], self.app.state.configuration.trusted_proxies)

    def _respond(self, problem: Problem) -> None:
        if self.transport.is_closing():
            return
        is_responding = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if is_responding or self.pipeline:
            return self.transport.abort()
        response = problem.response()
        headers = [*response.raw_headers, (b"connection", b"close")]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[problem.status] + lines + b"\r\n" + response.body)
        self.transport.close()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()

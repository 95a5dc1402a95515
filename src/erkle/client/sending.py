"""Requests to a server, with retries, and the errors that they raise.

A request is retried if the network fails or if the server is busy or restarting. A request that must not be executed
twice is retried only if the server cannot have executed it.
"""

import json
import random
import time
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from erkle.client.replies import Json, Reply, reply_of

# Status codes after which a repeatable request is retried.
_BUSY = (429, 500, 502, 503, 504)
# Status codes after which any request is retried: the server sends them before it does anything.
_NOT_EXECUTED = (429, 503)
# Seconds before the first retry; each further wait is twice as long.
_FIRST_WAIT = 0.1
# Seconds that a wait can last at most, unless the server asks for a longer one.
_LONGEST_WAIT = 5.0
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Refused(ValueError):
    """The server refused the request: a short ``reason``, a ``sentence``, and the ``reply`` to a participant."""

    def __init__(self, status: int, reason: str, sentence: str, reply: Reply | None = None) -> None:
        super().__init__(sentence)
        self.status, self.reason, self.sentence, self.reply = status, reason, sentence, reply


class Unreachable(ConnectionError):
    """The server did not respond, even after retries."""


class Server:
    """A server at an address, with the session of the signed-in account, if any."""

    def __init__(self, base_url: str, timeout: float, retry_for: float, connections: int) -> None:
        address = urlsplit(base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(f"The address is {base_url!r}; pass a URL such as http://127.0.0.1:8000.")
        self.base_url = base_url.rstrip("/")
        self.csrf = ""
        self._retry_for = retry_for
        self._http = httpx2.Client(
            timeout=timeout,
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            # Do not use the proxy of the environment for a server on this machine.
            trust_env=address.hostname not in _LOCAL,
        )

    def close(self) -> None:
        """Close the connections to the server."""
        self._http.close()

    def call(self, method: str, path: str, sent: Json | None = None, **how: Any) -> Any:
        """Send a request and return the JSON of the response."""
        response = self.send(method, path, sent, **how)
        return json.loads(response.content) if response.content else None

    def send(
        self,
        method: str,
        path: str,
        sent: Json | None = None,
        files: list[Any] | None = None,
        form: Json | None = None,
        repeatable: bool = True,
    ) -> httpx2.Response:
        """Send a request, retry it if needed, and return the response; ``repeatable`` if executing it twice is safe."""
        headers = {"X-CSRF-Token": self.csrf} if self.csrf else {}
        body = None if sent is None else json.dumps(sent).encode()
        if body is not None:
            headers["Content-Type"] = "application/json"
        deadline, wait = time.monotonic() + self._retry_for, _FIRST_WAIT
        while True:
            try:
                response = self._http.request(
                    method, self.base_url + path, content=body, files=files, data=form, headers=headers
                )
            except httpx2.TransportError as error:
                arrived = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                if (arrived and not repeatable) or time.monotonic() + wait > deadline:
                    raise Unreachable(
                        f"{self.base_url}: cannot be reached ({error or type(error).__name__}); "
                        "check the address, and that the server is running."
                    ) from error
            else:
                if response.is_success:
                    return response
                busy = response.status_code in (_BUSY if repeatable else _NOT_EXECUTED)
                wait = max(wait, _retry_after(response))
                if not busy or time.monotonic() + wait > deadline:
                    raise _refused(response)
            for _, file in files or []:
                file[1].seek(0)
            # The wait is random, so that many clients do not retry at the same moment.
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, _LONGEST_WAIT)


def path_segment(text: str) -> str:
    """Quote a text as one segment of a path, even if it contains a slash."""
    return quote(str(text), safe="")


def _retry_after(response: httpx2.Response) -> float:
    try:
        return float(response.headers.get("Retry-After", 0))
    except ValueError:
        return 0.0


def _refused(response: httpx2.Response) -> Refused:
    try:
        found = response.json()
        error = found["error"]
        reply = reply_of(found) if "questions" in found else None
        return Refused(response.status_code, str(error["reason"]), str(error["sentence"]), reply)
    except (ValueError, KeyError, TypeError):
        sentence = f"The server responded with status {response.status_code} ({response.text[:200]!r})."
        return Refused(response.status_code, "unexpected", sentence)

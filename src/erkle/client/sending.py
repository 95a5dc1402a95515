"""Requests that are sent again where that is safe, and errors as sentences.

A network that fails for a moment is tried again, and so is a server that is busy or restarting. What must not happen
twice is sent again only where it cannot have arrived.
"""

import json
import random
import time
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from erkle.client.replies import Json, Reply, reply_of

_BUSY = (429, 500, 502, 503, 504)
# They mean "not now", said before anything was done.
_NOT_YET = (429, 503)
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Refused(ValueError):
    """The server has said no: why in a word (``reason``) and in a ``sentence``, and where it stands (``reply``)."""

    def __init__(self, status: int, reason: str, sentence: str, reply: Reply | None = None) -> None:
        super().__init__(sentence)
        self.status, self.reason, self.sentence, self.reply = status, reason, sentence, reply


class Unreachable(ConnectionError):
    """There was no answer of a server, however often it was tried."""


class Server:
    """A server at an address, for whoever is signed in there, or nobody."""

    def __init__(self, base_url: str, timeout: float, patience: float, connections: int) -> None:
        place = urlsplit(base_url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ValueError(f"The address is {base_url!r}; pass one such as http://127.0.0.1:8000.")
        self.base_url = base_url.rstrip("/")
        self.csrf = ""
        self._patience = patience
        self._http = httpx2.Client(
            timeout=timeout,
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            # No proxy stands between this machine and itself.
            trust_env=place.hostname not in _LOCAL,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(self, method: str, path: str, sent: Json | None = None, **how: Any) -> Any:
        """The JSON that comes back."""
        response = self.send(method, path, sent, **how)
        return json.loads(response.content) if response.content else None

    def send(
        self,
        method: str,
        path: str,
        sent: Json | None = None,
        files: list[Any] | None = None,
        form: Json | None = None,
        again: bool = True,
    ) -> httpx2.Response:
        """The response, if it is a good one; ``again`` where to do it twice does no harm."""
        headers = {"X-CSRF-Token": self.csrf} if self.csrf else {}
        body = None if sent is None else json.dumps(sent).encode()
        if body is not None:
            headers["Content-Type"] = "application/json"
        deadline, wait = time.monotonic() + self._patience, _FIRST_WAIT
        while True:
            try:
                response = self._http.request(
                    method, self.base_url + path, content=body, files=files, data=form, headers=headers
                )
            except httpx2.TransportError as error:
                arrived = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                if (arrived and not again) or time.monotonic() + wait > deadline:
                    raise Unreachable(
                        f"{self.base_url}: cannot be reached ({error or type(error).__name__}); "
                        "check the address and that the server runs."
                    ) from error
            else:
                if response.is_success:
                    return response
                busy = response.status_code in (_BUSY if again else _NOT_YET)
                wait = max(wait, _asked_to_wait(response))
                if not busy or time.monotonic() + wait > deadline:
                    raise _refused(response)
            for _, file in files or []:
                file[1].seek(0)
            # Not all at the same moment: a server that comes back would be gone again.
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, _LONGEST_WAIT)


def part(text: str) -> str:
    """A piece of a path; an id with a slash in it must not become two."""
    return quote(str(text), safe="")


def _asked_to_wait(response: httpx2.Response) -> float:
    try:
        return min(float(response.headers.get("Retry-After", 0)), _LONGEST_WAIT)
    except ValueError:
        return 0.0


def _refused(response: httpx2.Response) -> Refused:
    try:
        found = response.json()
        error = found["error"]
        reply = reply_of(found) if "questions" in found else None
        return Refused(response.status_code, str(error["reason"]), str(error["sentence"]), reply)
    except (ValueError, KeyError, TypeError):
        sentence = f"The server answered with status {response.status_code} ({response.text[:200]!r})."
        return Refused(response.status_code, "unexpected", sentence)

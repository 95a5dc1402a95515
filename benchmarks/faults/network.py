"""Faults of the network: requests and responses get lost, and requests arrive twice."""

import contextlib
import http.client
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

from benchmarks.faults.trial import Fault, Trial
from benchmarks.service.serving import Serving

__all__ = ["DroppedAndRepeated"]

# Answers that are sent through the proxy after those before the fault.
_ANSWERS = 200


class _Proxy(BaseHTTPRequestHandler):
    """Passes a request on, with probability 0.2 each: not at all, without its response, or twice."""

    protocol_version = "HTTP/1.1"
    # Set for the time of the trial.
    port: ClassVar[int]

    def do_POST(self) -> None:
        """Pass on the request, or do not."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        chance = random.random()
        if chance < 0.2:
            self.close_connection = True
            return
        if chance < 0.4:
            again = threading.Thread(target=self._pass_on, args=(body,))
            again.start()
            again.join(random.choice([0.0, 1.0]))
        status, data = self._pass_on(body)
        if 0.4 <= chance < 0.6:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _pass_on(self, body: bytes) -> tuple[int, bytes]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("POST", self.path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class DroppedAndRepeated(Fault):
    """Three of five requests are lost, lose their response, or arrive twice."""

    @contextlib.contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server behind an unreliable proxy."""
        with super().serving(folder) as serving, ThreadingHTTPServer(("127.0.0.1", 0), _Proxy) as proxy:
            _Proxy.port, self._port = serving.port, proxy.server_port
            thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield serving
            finally:
                proxy.shutdown()
                thread.join()

    def url(self, serving: Serving) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self._port}"

    def happen(self, trial: Trial) -> str:
        """Wait for some answers, then use the server itself."""
        trial.participants.until(_ANSWERS)
        trial.participants.mend()
        trial.participants.urls[:] = [trial.serving.url]
        return ""

"""An attacker at one address, who sends the most expensive requests that need no account, as fast as possible.

The attacker is a process of its own, so that it does not slow down the participants, who are threads of the benchmark.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from benchmarks.service.serving import Serving

__all__ = ["attack"]

# Connections that send each kind of request, and connections that send nothing.
_SENDING, _SILENT = 6, 200
_EXTRA_KEYS = 100_000


@contextmanager
def attack(serving: Serving) -> Iterator[Counter[int]]:
    """Attack a server as long as the block runs. Afterwards, the counter has the responses by status."""
    seen: Counter[int] = Counter()
    command = [sys.executable, "-m", "benchmarks.service.attacking", str(serving.port), serving.study]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield seen
    finally:
        # The attacker ends with its input.
        output, _ = process.communicate(timeout=30)
    seen.update({int(status): number for status, number in json.loads(output).items()})


def requests(study: str) -> dict[str, bytes]:
    """Return the requests by what they attack."""
    keys = {f"key{i}": 0 for i in range(_EXTRA_KEYS)}
    few = dict(islice(keys.items(), 2000))
    login, join, answer = "/api/login", f"/api/take/{study}/join", f"/api/take/{study}/answer"
    return {
        "large body": _post(login, keys),
        "large body in chunks": _post(join, keys, chunked=True),
        "many keys": _post(join, {**few, "consent": True}),
        "many parameters": _post(join, {"parameters": few, "consent": True}),
        "a write for each forged answer": _post(answer, {"participant": "nobody", "token": "forged", "choice": 1}),
        "hashing of a password": _post(login, {"name": "ann", "password": "not the password"}),
        "texts of a study": _get(f"/api/take/{study}"),
        "compression": _get("/static/vendor/d3/d3.min.js", "Accept-Encoding: gzip"),
        "a large document": _get("/openapi.json"),
        "a long query": _get(f"/s/{study}?" + "a=%41&" * 190),
        "many cookies": _get("/api/me", "Cookie: " + "a=b;" * 190),
    }


def _post(path: str, body: object, chunked: bool = False) -> bytes:
    data = json.dumps(body).encode()
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(data)}"
    if chunked:
        data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode() + data


def _get(path: str, header: str = "Accept: */*") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n".encode()


def _send(port: int, request: bytes, seen: Counter[int]) -> None:
    """Send a request again and again, on a new connection when the server has closed the last one."""
    connection = None
    while True:
        try:
            connection = connection or socket.create_connection(("127.0.0.1", port), timeout=30)
            status, is_open = _exchange(connection, request)
        except OSError:
            status, is_open = 0, False
        seen[status] += 1
        if not is_open and connection is not None:
            connection.close()
            connection = None


def _exchange(connection: socket.socket, request: bytes) -> tuple[int, bool]:
    """Send a request, and return the status of the response and whether the connection is still open."""
    with suppress(OSError):
        # The server may close the connection before it has read a large body.
        connection.sendall(request)
    head, rest = b"", b""
    while b"\r\n\r\n" not in head:
        if not (data := connection.recv(65536)):
            return 0, False
        head += data
    head, _, rest = head.lower().partition(b"\r\n\r\n")
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(rest) < length and (data := connection.recv(65536)):
        rest += data
    return int(head[9:12]), b"connection: close" not in head


def _keep_silent(port: int) -> None:
    """Keep connections open on which nothing is sent."""
    while True:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(_SILENT)]
        time.sleep(5)
        for connection in silent:
            connection.close()


def main() -> None:
    """Attack until the standard input ends, then print how many responses had which status."""
    port, study = int(sys.argv[1]), sys.argv[2]
    seen: Counter[int] = Counter()
    threading.Thread(target=_keep_silent, args=(port,), daemon=True).start()
    for request in [*requests(study).values()] * _SENDING:
        threading.Thread(target=_send, args=(port, request, seen), daemon=True).start()
    sys.stdin.read()
    print(json.dumps(dict(seen)))


if __name__ == "__main__":
    main()

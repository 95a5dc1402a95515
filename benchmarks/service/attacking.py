"""An attacker at one address, who sends the most expensive requests as fast as possible, with and without an account.

The attacker is a process of its own, so that it does not slow down the participants, who are threads of the benchmark.
"""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import NamedTuple

from benchmarks.service.serving import PASSWORD, Serving
from erkle.client import Client
from erkle.service.accounts.passwords import hashed
from erkle.store import Store

__all__ = ["SENDING", "SILENT", "SLOW", "attack"]

# Connections that send each kind of request, connections that send nothing, and those that send a byte per second.
SENDING, SILENT, SLOW = 6, 200, 100
_EXTRA_KEYS = 100_000
# Wrong objects in the list of a new study, and bytes of a sound.
_WRONG_OBJECTS, _SOUND = 200_000, 60_000_000


class _Account(NamedTuple):
    """What the attacker's account has: the headers of a session, and the path of a large sound."""

    session: str
    csrf: str
    sound: str


@contextmanager
def attack(serving: Serving) -> Iterator[Counter[int]]:
    """Attack a server as long as the block runs. Afterwards, the counter has the responses by status."""
    seen: Counter[int] = Counter()
    arguments = str(serving.port), serving.study, *_new_account(serving)
    command = [sys.executable, "-m", "benchmarks.service.attacking", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield seen
    finally:
        # The attacker ends with its input.
        output, _ = process.communicate(timeout=30)
    seen.update({int(status): number for status, number in json.loads(output).items()})


def _new_account(serving: Serving) -> _Account:
    """Create the attacker's account, sign in, and upload sounds."""
    with Store(serving.database) as store:
        store.accounts.create("eve", hashed(PASSWORD))
    files = [serving.folder / f"sound {number}.wav" for number in range(3)]
    for number, file in enumerate(files):
        file.write_bytes(b"RIFF" + bytes([number]) * (100 if number else _SOUND))
        with file.open("r+b") as start:
            start.write(b"RIFF\0\0\0\0WAVE")
    with Client(serving.url, timeout=120.0) as client:
        client.login("eve", PASSWORD)
        study = str(client.upload(files)["id"])
        [sound, *_] = client.objects(study)
    body = json.dumps({"name": "eve", "password": PASSWORD}).encode()
    login = urllib.request.Request(f"{serving.url}/api/login", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(login, timeout=60) as response:
        cookie = response.headers["Set-Cookie"].partition(";")[0]
        return _Account(cookie, json.load(response)["csrf"], str(sound.audio))


def requests(study: str, account: _Account) -> dict[str, bytes]:
    """Return the requests by what they attack."""
    signed_in = f"Cookie: {account.session}\r\nX-CSRF-Token: {account.csrf}"
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
        "a byte of a large sound": _get(account.sound, f"Range: bytes={_SOUND // 2}-{_SOUND // 2}"),
        "the check of the database": _get("/health"),
        "a long list of wrong objects": _post(
            "/api/studies", {"title": "A", "objects": [0] * _WRONG_OBJECTS}, headers=signed_in
        ),
        "all studies of an account": _get("/api/studies", signed_in),
        "many cookies": _get("/api/me", "Cookie: " + "a=b;" * 190),
    }


def _post(path: str, body: object, chunked: bool = False, headers: str = "Accept: */*") -> bytes:
    data = json.dumps(body).encode()
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(data)}"
    if chunked:
        data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{headers}\r\n{length}\r\n\r\n"
    return head.encode() + data


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
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(SILENT)]
        time.sleep(5)
        for connection in silent:
            connection.close()


def _send_slowly(port: int, study: str) -> None:
    """Keep connections open on which a body arrives a byte per second."""
    head = f"POST /api/take/{study}/join HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    start = f"{head}Content-Length: 20000\r\n\r\n{{".encode()
    slow: list[socket.socket] = []
    while True:
        while len(slow) < SLOW:
            slow.append(socket.create_connection(("127.0.0.1", port)))
            slow[-1].sendall(start)
        time.sleep(1)
        for connection in [*slow]:
            try:
                connection.sendall(b" ")
            except OSError:
                # The server has closed the connection.
                connection.close()
                slow.remove(connection)


def main() -> None:
    """Attack until the standard input ends, then print how many responses had which status."""
    port, study, account = int(sys.argv[1]), sys.argv[2], _Account(*sys.argv[3:])
    seen: Counter[int] = Counter()
    threading.Thread(target=_keep_silent, args=(port,), daemon=True).start()
    threading.Thread(target=_send_slowly, args=(port, study), daemon=True).start()
    for request in [*requests(study, account).values()] * SENDING:
        threading.Thread(target=_send, args=(port, request, seen), daemon=True).start()
    sys.stdin.read()
    print(json.dumps(dict(seen)))


if __name__ == "__main__":
    main()

"""Connections to a real server: large heads, silent and slow clients, and too many connections are ended early."""

import json
import socket
import time
from contextlib import contextmanager, suppress

import pytest
from fastapi import Response
from listening import listening

from erkle.service.web import connections

GET = b"GET /health HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


@contextmanager
def connected(site, **options):
    host, port = site.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20, **options) as connection:
        yield connection


def response(connection):
    """The status and the JSON of a response, after which the server closes the connection."""
    received = rest(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def rest(connection):
    """Everything that the server sends until it closes the connection."""
    received = b""
    while True:
        try:
            data = connection.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            return received
        received += data


def sent_until_closed(connection, piece, most=60_000_000):
    """How many bytes the server lets the client send."""
    sent = 0
    while sent < most:
        try:
            connection.sendall(piece)
        except OSError:
            break
        sent += len(piece)
    return sent


@pytest.fixture
def hurry(monkeypatch):
    """Requests must arrive within 0.3 seconds, and a second more for each 1,000 bytes."""
    monkeypatch.setattr(connections, "_SECONDS", 0.3)
    monkeypatch.setattr(connections, "_RATE", 1000)


@pytest.mark.parametrize(
    "head",
    [GET + b"A: " + b"x" * 17_000 + b"\r\n", GET + b"a: b\r\n" * 10_000, b"GET /?" + b"x" * 17_000 + GET[4:]],
    ids=["long header", "many headers", "long address"],
)
@pytest.mark.parametrize("end", [b"\r\n", b""], ids=["complete", "incomplete"])
def test_a_large_head_is_refused(site, head, end):
    with connected(site) as connection:
        connection.sendall(head + end)
        status, body = response(connection)
    assert (status, body["error"]["reason"]) == (431, "head-too-large")


def test_a_head_of_12_kB_is_accepted(site):
    with connected(site) as connection:
        connection.sendall(GET + b"A: " + b"x" * 12_000 + b"\r\nConnection: close\r\n\r\n")
        assert response(connection) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "start",
    [GET + b"A: ", GET, POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: "],
    ids=["header", "headers", "trailer"],
)
def test_a_head_without_an_end_is_not_read_for_ever(site, start):
    with connected(site) as connection:
        connection.sendall(start)
        piece = b"a: b\r\n" * 10_000 if start == GET else b"x" * 60_000
        # What the system buffers counts as sent.
        assert sent_until_closed(connection, piece) < 30_000_000


def test_many_tiny_headers_are_refused(site):
    with connected(site) as connection:
        connection.sendall(GET + b"a:b\r\n" * 300 + b"\r\n")
        status, body = response(connection)
    assert (status, body["error"]["reason"]) == (431, "head-too-large")


def test_a_body_in_chunks_of_one_byte_is_refused(site):
    with connected(site) as connection:
        connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 2000)
        status, body = response(connection)
    assert (status, body["error"]["reason"]) == (400, "small-chunks")


def test_a_body_that_the_response_did_not_need_is_not_read_for_ever(site):
    with connected(site) as connection:
        connection.sendall(GET + b"Transfer-Encoding: chunked\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        piece = b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n"
        assert sent_until_closed(connection, piece) < 30_000_000


def test_what_is_not_http_gets_the_one_form_of_errors(site):
    with connected(site) as connection:
        connection.sendall(b"HELO mail.example\r\n\r\n")
        status, body = response(connection)
    assert (status, body["error"]["reason"]) == (400, "unreadable")


def test_thousands_of_requests_at_once_on_one_connection_are_not_kept(site):
    with connected(site) as connection:
        connection.sendall((GET + b"\r\n") * 5000)
        assert rest(connection).count(b"HTTP/1.1 ") < 50


def test_a_silent_connection_is_closed(site, hurry):
    with connected(site) as connection:
        assert rest(connection) == b""


@pytest.mark.parametrize(
    "start", [GET, POST + b"Content-Length: 1000\r\n\r\n", b""], ids=["headers", "body", "empty lines"]
)
def test_a_request_that_arrives_too_slowly_is_cut_off(site, hurry, start):
    with connected(site) as connection:
        if not start:
            # After a request, the time for the next one begins with its first byte.
            connection.sendall(GET + b"\r\n")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connection.sendall(start)
        began = time.monotonic()
        while time.monotonic() < began + 20:
            try:
                connection.sendall(b"x" if start else b"\r\n")
            except OSError:
                break
            time.sleep(0.05)
    assert time.monotonic() - began < 15


def test_a_slow_client_who_keeps_sending_is_served(site, hurry):
    body = json.dumps({"name": "ann", "password": "x" * 900}).encode()
    with connected(site) as connection:
        connection.sendall(POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
        for start in range(0, len(body), 200):
            time.sleep(0.1)
            connection.sendall(body[start : start + 200])
        assert response(connection)[0] == 401


def test_a_request_that_takes_long_to_serve_is_not_cut_off(site, hurry):
    site.app.add_api_route("/slow", lambda: time.sleep(1) or {"slow": True})
    with connected(site) as connection:
        # Some clients send an empty line after a request.
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        connection.sendall(b"\r\n")
        assert response(connection) == (200, {"slow": True})


def test_a_client_that_does_not_read_is_cut_off(site, monkeypatch):
    monkeypatch.setattr(connections, "_READ_SECONDS", 0.2)
    site.app.add_api_route("/big", lambda: Response(b"x" * 50_000_000))
    with connected(site) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        time.sleep(1)
        assert len(rest(connection)) < 50_000_000


def test_one_address_has_a_limited_number_of_connections(site, monkeypatch):
    monkeypatch.setattr(connections, "_MOST", len_open() + 3)
    with connected(site), connected(site), connected(site) as third:
        with connected(site) as fourth:
            assert rest(fourth) == b""
        with connected(site, source_address=("127.0.0.2", 0)) as other:
            other.sendall(GET + b"Connection: close\r\n\r\n")
            assert response(other)[0] == 200
        third.sendall(GET + b"Connection: close\r\n\r\n")
        assert response(third)[0] == 200
        deadline = time.monotonic() + 10
        while len_open() >= connections._MOST and time.monotonic() < deadline:
            time.sleep(0.01)
        with connected(site) as again:
            again.sendall(GET + b"Connection: close\r\n\r\n")
            assert response(again)[0] == 200


def test_a_trusted_proxy_has_as_many_connections_as_it_needs(data_folder, monkeypatch):
    monkeypatch.setattr(connections, "_MOST", 1)
    with listening(data_folder, trusted_proxies=["127.0.0.3"]) as site:
        for address, status in (("127.0.0.3", True), ("127.0.0.4", False)):
            source = {"source_address": (address, 0)}
            with connected(site, **source), connected(site, **source) as second:
                with suppress(OSError):
                    second.sendall(GET + b"Connection: close\r\n\r\n")
                assert bool(rest(second)) == status


def len_open():
    return connections.Guarded._open["127.0.0.1"]

"""Proxies, host names and other origins: which of their headers the server uses."""

from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient

from erkle.service import Configuration, create_app
from people import reason

ELSEWHERE = "https://elsewhere.example"


@pytest.fixture(scope="module")
def running(tmp_path_factory, new_database):
    """Start a server with options of its configuration: ``with running(public_url=...) as client``."""

    @contextmanager
    def running(**options):
        data = new_database(tmp_path_factory.mktemp("data") / "erkle.db").parent
        with TestClient(create_app(Configuration(data=data, **options))) as client:
            yield client

    return running


@pytest.fixture(scope="module")
def plain(running):
    """A server with the default configuration."""
    with running() as client:
        yield client


@pytest.fixture(scope="module")
def named(running):
    """A server with a public address."""
    with running(public_url="https://lab.example/") as client:
        client.base_url = "http://lab.example"
        yield client


@pytest.fixture(scope="module")
def proxied(running):
    """A server behind trusted proxies."""
    with running(trusted_proxies="10.0.0.1, 2001:db8::/32") as client:
        yield client


@pytest.fixture(scope="module")
def shared(running):
    """A server that allows a page of another site."""
    with running(allowed_origins=ELSEWHERE) as client:
        yield client


def test_with_https_the_browser_is_told_to_use_only_https(named):
    assert named.get("/login").headers["strict-transport-security"] == "max-age=31536000"


def test_without_https_there_is_no_such_header(plain):
    assert "strict-transport-security" not in plain.get("/login").headers


@pytest.mark.parametrize("host", ["evil.example", "lab.example.evil.example", "127.0.0.1"])
def test_another_host_is_refused(named, host):
    answer = named.get("/login", headers={"Host": host})
    assert (answer.status_code, reason(answer)) == (421, "host")


def test_a_health_check_may_use_the_address(named):
    assert named.get("/health", headers={"Host": "10.1.2.3:8000"}).status_code == 200


def test_case_and_port_of_the_host_do_not_matter(named):
    assert named.get("/login", headers={"Host": "LAB.example:443"}).status_code == 200


@pytest.mark.parametrize("host", ["localhost:8000", "192.0.2.1", "[::1]:8000", "lab.example"])
def test_without_a_public_address_any_host_is_accepted(plain, host):
    assert plain.get("/login", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["", "a b", "evil.example/path", "x" * 300, "a:99999999", "<script>", "[::1", "é"])
def test_an_invalid_host_is_refused(plain, host):
    answer = plain.get("/health", headers={b"Host": host.encode()})
    assert (answer.status_code, reason(answer)) == (400, "host")
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("peer", "header", "https"),
    [
        ("10.0.0.1", "https", True),
        ("2001:db8::7", "https", True),
        ("::ffff:10.0.0.1", "https", True),
        ("10.0.0.1", "http", False),
        ("10.0.0.1", "https, http", False),
        ("10.0.0.1", "javascript", False),
        ("10.0.0.2", "https", False),
    ],
)
def test_the_scheme_is_read_only_from_a_trusted_proxy(proxied, peer, header, https):
    who = TestClient(proxied.app, client=(peer, 5), headers={"X-Forwarded-Proto": header})
    assert ("strict-transport-security" in who.get("/login").headers) == https


@pytest.mark.parametrize(
    ("peer", "header", "local"),
    [("127.0.0.1", "", True), ("10.0.0.1", "127.0.0.1", False), ("127.0.0.1", "9.9.9.9", False)],
)
def test_metrics_are_open_to_this_machine(proxied, peer, header, local):
    who = TestClient(proxied.app, client=(peer, 5), headers={"X-Forwarded-For": header} if header else {})
    assert (who.get("/metrics").status_code == 200) == local


@pytest.mark.parametrize(
    ("peer", "header"), [("192.0.2.1", "127.0.0.1"), ("10.0.0.1", "127.0.0.1, 192.0.2.1"), ("x", "")]
)
def test_metrics_are_closed_to_others_whatever_their_headers_are(proxied, peer, header):
    who = TestClient(proxied.app, client=(peer, 5), headers={"X-Forwarded-For": header})
    answer = who.get("/metrics")
    assert (answer.status_code, reason(answer)) == (403, "not-local")


PREFLIGHT = {"Origin": ELSEWHERE, "Access-Control-Request-Method": "POST"}


def test_by_default_no_other_origin_may_use_the_api(plain):
    for answer in (
        plain.options("/api/take/abc/join", headers=PREFLIGHT),
        plain.get("/api/take/abc", headers=PREFLIGHT),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_an_allowed_origin_may_use_the_participants_api_without_cookies(shared):
    answer = shared.options("/api/take/abc/join", headers=PREFLIGHT)
    assert answer.headers["access-control-allow-origin"] == ELSEWHERE
    assert "access-control-allow-credentials" not in answer.headers


def test_an_allowed_origin_may_use_nothing_else(shared):
    for path in ("/api/me", "/api/studies/abc", "/login"):
        assert "access-control-allow-origin" not in shared.get(path, headers={"Origin": ELSEWHERE}).headers


def test_an_origin_that_is_not_allowed_may_use_nothing(shared):
    answer = shared.get("/api/take/abc", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_a_configuration_passes_through_the_environment_unchanged(tmp_path, monkeypatch):
    there = Configuration(
        data=tmp_path,
        public_url="https://lab.example",
        secure_cookies=True,
        trusted_proxies=["10.0.0.1", "2001:db8::/32"],
        allowed_origins=[ELSEWHERE, "https://lab.example"],
        login_rate={"per_second": 0.25, "burst": 7},
        metrics_open=True,
    )
    for name, value in there.environment().items():
        monkeypatch.setenv(name, value)
    assert Configuration() == there


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"public_url": "lab.example"}, "public_url"),
        ({"trusted_proxies": "everybody"}, "trusted_proxies"),
        ({"session_hours": 1e12}, r"session_hours\s.* 27777"),
    ],
)
def test_an_invalid_configuration_is_refused(tmp_path, wrong, words):
    with pytest.raises(ValueError, match=words):
        Configuration(data=tmp_path, **wrong)

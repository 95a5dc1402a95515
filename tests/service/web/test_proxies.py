"""Who is believed about the scheme and the address, for which host the server answers, and whose pages may use it."""

from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient

from erkle.service import Configuration, create_app
from people import reason

ELSEWHERE = "https://elsewhere.example"


@contextmanager
def running(folder, **settings):
    with TestClient(create_app(Configuration(data=folder, **settings))) as client:
        yield client


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data")) as client:
        yield client


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A server with a public address."""
    with running(tmp_path_factory.mktemp("data"), public_url="https://lab.example/") as client:
        client.base_url = "http://lab.example"
        yield client


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), trusted_proxies="10.0.0.1, 2001:db8::/32") as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server that a page elsewhere may use."""
    with running(tmp_path_factory.mktemp("data"), allowed_origins=ELSEWHERE) as client:
        yield client


def test_the_browser_stays_with_https(named):
    assert named.get("/login").headers["strict-transport-security"] == "max-age=31536000"


def test_without_https_nothing_is_said_of_it(plain):
    assert "strict-transport-security" not in plain.get("/login").headers


@pytest.mark.parametrize("host", ["evil.example", "lab.example.evil.example", "127.0.0.1"])
def test_another_host_is_refused(named, host):
    answer = named.get("/login", headers={"Host": host})
    assert (answer.status_code, reason(answer)) == (421, "host")


def test_a_probe_may_ask_by_address(named):
    assert named.get("/health", headers={"Host": "10.1.2.3:8000"}).status_code == 200


def test_the_capitals_and_the_port_of_the_host_do_not_matter(named):
    assert named.get("/login", headers={"Host": "LAB.example:443"}).status_code == 200


@pytest.mark.parametrize("host", ["localhost:8000", "192.0.2.1", "[::1]:8000", "lab.example"])
def test_without_a_public_address_any_host_will_do(plain, host):
    assert plain.get("/login", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["", "a b", "evil.example/path", "x" * 300, "a:99999999", "<script>", "[::1", "é"])
def test_a_host_that_cannot_be_read_is_refused(plain, host):
    answer = plain.get("/health", headers={b"Host": host.encode()})
    assert (answer.status_code, reason(answer)) == (400, "host")
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("peer", "told", "https"),
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
def test_only_a_trusted_proxy_says_that_it_was_https(proxied, peer, told, https):
    who = TestClient(proxied.app, client=(peer, 5), headers={"X-Forwarded-Proto": told})
    assert ("strict-transport-security" in who.get("/login").headers) == https


@pytest.mark.parametrize(
    ("peer", "told", "local"),
    [("127.0.0.1", "", True), ("10.0.0.1", "127.0.0.1", False), ("127.0.0.1", "9.9.9.9", False)],
)
def test_metrics_are_for_this_machine(proxied, peer, told, local):
    who = TestClient(proxied.app, client=(peer, 5), headers={"X-Forwarded-For": told} if told else {})
    assert (who.get("/metrics").status_code == 200) == local


@pytest.mark.parametrize(
    ("peer", "told"), [("192.0.2.1", "127.0.0.1"), ("10.0.0.1", "127.0.0.1, 192.0.2.1"), ("x", "")]
)
def test_metrics_are_not_for_others_whatever_they_say(proxied, peer, told):
    who = TestClient(proxied.app, client=(peer, 5), headers={"X-Forwarded-For": told})
    answer = who.get("/metrics")
    assert (answer.status_code, reason(answer)) == (403, "not-local")


PREFLIGHT = {"Origin": ELSEWHERE, "Access-Control-Request-Method": "POST"}


def test_no_other_origin_may_use_the_api_unless_the_operator_says_so(plain):
    for answer in (
        plain.options("/api/take/abc/join", headers=PREFLIGHT),
        plain.get("/api/take/abc", headers=PREFLIGHT),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_elsewhere_may_use_what_participants_need_and_never_with_cookies(shared):
    answer = shared.options("/api/take/abc/join", headers=PREFLIGHT)
    assert answer.headers["access-control-allow-origin"] == ELSEWHERE
    assert "access-control-allow-credentials" not in answer.headers


def test_a_page_elsewhere_may_use_nothing_else(shared):
    for path in ("/api/me", "/api/studies/abc", "/login"):
        assert "access-control-allow-origin" not in shared.get(path, headers={"Origin": ELSEWHERE}).headers


def test_other_pages_elsewhere_may_use_nothing(shared):
    answer = shared.get("/api/take/abc", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_a_configuration_goes_through_the_environment_unchanged(tmp_path, monkeypatch):
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
    ("wrong", "told"),
    [
        ({"public_url": "lab.example"}, "public_url"),
        ({"trusted_proxies": "everybody"}, "trusted_proxies"),
        ({"session_hours": 1e12}, r"session_hours\s+Input should be less than or equal to 27777"),
    ],
)
def test_a_wrong_configuration_is_told_at_once(tmp_path, wrong, told):
    with pytest.raises(ValueError, match=told):
        Configuration(data=tmp_path, **wrong)

"""Security headers of all responses, and files that cannot be read."""

import pytest
from fastapi.testclient import TestClient

from erkle.service import Configuration, create_app
from erkle.service.web.middleware.headers import PAGE_POLICY
from erkle.service.web.pages import PAGES, STATIC, _gzipped
from people import reason

EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory, new_database):
    data = new_database(tmp_path_factory.mktemp("data") / "erkle.db").parent
    with TestClient(create_app(Configuration(data=data))) as client:
        yield client


def has_security_headers(answer):
    found = {name: answer.headers.get(name) for name in EVERYWHERE}
    return found == EVERYWHERE and "camera=()" in answer.headers["permissions-policy"]


@pytest.mark.parametrize("path", [path.replace("{study}", "abc") for path in PAGES])
def test_every_page_has_the_strict_policy(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == PAGE_POLICY
    assert answer.headers["cache-control"] == "no-cache"
    assert has_security_headers(answer)
    assert "server" not in answer.headers


def test_the_policy_allows_no_inline_script_and_no_other_host():
    assert "unsafe" not in PAGE_POLICY
    assert "http" not in PAGE_POLICY
    for directive in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
        assert directive in PAGE_POLICY


@pytest.mark.parametrize("page", sorted({STATIC / page for page in PAGES.values()}), ids=lambda page: page.name)
def test_no_page_contains_what_the_policy_forbids(page):
    import re

    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)


@pytest.mark.parametrize(
    "path", ["/api/me", "/api/nothing", "/nothing", "/health", "/openapi.json", "/static/base.css"]
)
def test_other_responses_have_the_headers_and_cannot_become_pages(client, path):
    answer = client.get(path)
    assert has_security_headers(answer)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/api/me", "/api/take/abc", "/api/nothing"])
def test_responses_of_the_api_are_not_cached(client, path):
    assert client.get(path).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/login", "/static/base.css"])
def test_a_page_that_has_not_changed_is_not_sent_again(client, path):
    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-security-policy" not in again.headers, "the cached policy must stay"


def test_a_large_file_is_compressed_once_for_all_browsers_that_accept_it(client):
    path = "/static/vendor/d3/d3.min.js"
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    first = client.get(path)
    misses = _gzipped.cache_info().misses
    again = client.get(path)
    assert _gzipped.cache_info().misses == misses
    assert "content-encoding" not in plain.headers
    for answer in (first, again):
        assert (answer.headers["content-encoding"], answer.content) == ("gzip", plain.content)
        assert int(answer.headers["content-length"]) < len(plain.content) / 2
        assert (answer.headers["etag"], answer.headers["vary"]) == (plain.headers["etag"], "Accept-Encoding")


def test_head_is_get_without_the_body(client):
    for path in ("/login", "/health", "/s/abc"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd",
        "/static//etc/passwd",
        "/static/%00",
        "/static/" + "a" * 5000,
        "/static/studio",
        "/static/",
        "/s/../app.py",
        "/login/",
    ],
)
def test_nothing_but_static_files_can_be_read(client, path):
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code in (404, 405)
    assert reason(answer) == "not-found"

"""Access control: the session cookie, the CSRF token, and the owner of a study."""

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from erkle.service import Configuration
from erkle.service.accounts.sessions import COOKIE, SECURE_COOKIE, drop_other_cookies
from erkle.service.app import ROUTERS
from erkle.service.web.limits import rate_of
from people import PASSWORD, THINGS, reason, settings


def cookie_of(answer):
    name, *flags = [part.strip() for part in answer.headers["set-cookie"].split(";")]
    return name, {flag.lower() for flag in flags}


@pytest.mark.parametrize("token", [None, "", "A" * 43, "é"])
def test_a_change_without_the_right_token_is_refused(researcher, token):
    headers = {} if token is None else {"X-CSRF-Token": token.encode()}
    del researcher.headers["X-CSRF-Token"]
    answer = researcher.post("/api/logout", headers=headers)
    assert (answer.status_code, reason(answer)) == (403, "csrf")
    assert researcher.get("/api/me").status_code == 200


def test_the_token_of_another_session_is_refused(researcher, stranger):
    answer = researcher.post("/api/logout", headers={"X-CSRF-Token": stranger.headers["X-CSRF-Token"]})
    assert (answer.status_code, reason(answer)) == (403, "csrf")


def test_the_token_of_an_earlier_session_of_the_same_account_is_refused(researcher):
    before = researcher.headers["X-CSRF-Token"]
    after = researcher.post("/api/login", json={"name": "ann", "password": PASSWORD}).json()["csrf"]
    assert after != before
    assert researcher.post("/api/logout", headers={"X-CSRF-Token": before}).status_code == 403
    assert researcher.post("/api/logout", headers={"X-CSRF-Token": after}).status_code == 204


def test_the_token_without_the_cookie_does_not_sign_in(client, researcher):
    answer = client.post("/api/logout", headers={"X-CSRF-Token": researcher.headers["X-CSRF-Token"]})
    assert (answer.status_code, reason(answer)) == (401, "signed-out")


def every_route():
    found = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    return [(method, route.path) for route in found for method in sorted(route.methods)]


PUBLIC = {
    ("POST", "/api/login"),
    ("POST", "/api/setup"),
    ("POST", "/api/invited"),
    ("POST", "/api/enter"),
    ("POST", "/api/take/{study}/join"),
    ("POST", "/api/take/{study}/resume"),
    ("POST", "/api/take/{study}/answer"),
    ("POST", "/api/take/{study}/skip"),
}


def test_every_change_that_needs_no_session_has_a_limit_of_its_own():
    assert all(rate_of(method, with_study(path, "abc")) != "request_rate" for method, path in PUBLIC)


CHANGES = sorted({route for route in every_route() if route[0] not in ("GET", "HEAD")} - PUBLIC)


def with_study(path, study):
    return path.replace("{study}", study).replace("{", "").replace("}", "")


def test_every_change_needs_a_session_and_its_token(client, researcher, study):
    assert CHANGES
    del researcher.headers["X-CSRF-Token"]
    for method, path in CHANGES:
        signed_out, forged = (who.request(method, with_study(path, study), json={}) for who in (client, researcher))
        assert (signed_out.status_code, reason(signed_out)) == (401, "signed-out"), path
        assert (forged.status_code, reason(forged)) == (403, "csrf"), path


def test_no_get_request_changes_anything(client, researcher, store, study):
    """Fetch every address, as a page that embeds them makes a browser do."""
    before = [store.studies.all(), store.accounts.all(), store.studies.counts(study), store.participants.all(study)]
    for method, path in every_route():
        if method == "GET" and not path.endswith("/events"):
            researcher.get(with_study(path, study), follow_redirects=False)
    assert [
        store.studies.all(),
        store.accounts.all(),
        store.studies.counts(study),
        store.participants.all(study),
    ] == before
    assert researcher.get("/api/me").status_code == 200


def test_routes_that_change_something_refuse_get(researcher):
    for path in ("/api/login", "/api/logout", "/api/setup", "/api/enter", "/api/invitations"):
        answer = researcher.get(path)
        assert (answer.status_code, answer.headers["allow"], reason(answer)) == (405, "POST", "method")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
    ],
)
def test_a_page_of_another_site_cannot_sign_in(client, researcher, headers):
    answer = client.post("/api/login", json={"name": "ann", "password": PASSWORD}, headers=headers)
    assert (answer.status_code, reason(answer)) == (403, "foreign")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://testserver"}, {}])
def test_our_own_page_and_a_program_can_sign_in(client, researcher, headers):
    assert client.post("/api/login", json={"name": "ann", "password": PASSWORD}, headers=headers).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_content_types_that_a_form_can_send_are_not_read_as_json(client, researcher, kind):
    body = f'{{"name": "ann", "password": "{PASSWORD}"}}'
    answer = client.post("/api/login", content=body, headers={} if kind is None else {"Content-Type": kind})
    assert answer.status_code == 422


@pytest.mark.parametrize("other", ['a="' + "\\a" * 7000 + '"', "a=b; " * 2000, "x" + COOKIE + "=forged"])
def test_cookies_of_other_programs_are_dropped(client, researcher, other):
    token = researcher.cookies[COOKIE]
    scope = {"headers": [(b"cookie", f"{other}; {COOKIE}={token}; b=c".encode()), (b"host", b"a")]}
    drop_other_cookies(scope)
    assert scope["headers"] == [(b"host", b"a"), (b"cookie", f"{COOKIE}={token}".encode())]
    answer = TestClient(client.app).get("/api/me", headers={"Cookie": f"{other}; {COOKIE}={token}"})
    assert answer.status_code == 200


def test_scripts_and_other_sites_cannot_use_the_cookie(client, researcher):
    name, flags = cookie_of(client.post("/api/login", json={"name": "ann", "password": PASSWORD}))
    assert name.startswith(f"{COOKIE}=")
    assert {"httponly", "samesite=strict", "path=/"} < flags
    assert "secure" not in flags
    assert not any(flag.startswith("domain") for flag in flags)


class TestBehindHttps:
    @pytest.fixture
    def configuration(self, data_folder):
        return Configuration(data=data_folder, public_url="https://testserver")

    def test_the_cookie_is_sent_only_over_https(self, client, store, kept_password):
        store.accounts.create("ann", kept_password)
        https = TestClient(client.app, base_url="https://testserver")
        name, flags = cookie_of(https.post("/api/login", json={"name": "ann", "password": PASSWORD}))
        assert name.startswith(f"{SECURE_COOKIE}=")
        assert {"secure", "httponly", "samesite=strict", "path=/"} < flags
        assert not any(flag.startswith("domain") for flag in flags)
        assert https.get("/api/me").status_code == 200

    def test_a_cookie_that_a_neighbouring_host_can_set_does_not_sign_in(self, client, store, kept_password):
        account = store.accounts.create("ann", kept_password)
        token = store.sessions.open(account.id, 3600.0).token
        https = TestClient(client.app, base_url="https://testserver")
        for name, status in ((COOKIE, 401), (SECURE_COOKIE, 200)):
            assert https.get("/api/me", headers={"Cookie": f"{name}={token}"}).status_code == status

    def test_researchers_see_their_drafts_as_participants_will(self, client, store, kept_password):
        store.accounts.create("ann", kept_password)
        https = TestClient(client.app, base_url="https://testserver")
        me = https.post("/api/login", json={"name": "ann", "password": PASSWORD}).json()
        study = store.studies.create("Cities", THINGS, settings(), owner=me["account"]["id"]).id
        assert https.get(f"/api/take/{study}").status_code == 200

    def test_an_invitation_has_the_public_address(self, client, store, kept_password):
        store.accounts.create("root", kept_password, admin=True)
        https = TestClient(client.app, base_url="https://testserver")
        me = https.post("/api/login", json={"name": "root", "password": PASSWORD}).json()
        link = https.post("/api/invitations", headers={"X-CSRF-Token": me["csrf"]}).json()["link"]
        assert link.startswith("https://testserver/invited#")


def test_secure_cookies_with_an_http_address_are_refused(tmp_path):
    with pytest.raises(ValueError, match="secure_cookies"):
        Configuration(data=tmp_path, public_url="http://example.org", secure_cookies=True)


def test_studies_of_others_give_the_same_error_as_unknown_studies(researcher, stranger, study, store):
    """For every route of a study."""
    of_a_study = [route for route in every_route() if route[1].startswith("/api/studies/{study}")]
    assert of_a_study
    for method, path in of_a_study:
        theirs, unknown = (stranger.request(method, with_study(path, id), json={}) for id in (study, "nope"))
        assert theirs.status_code == 404, path
        assert theirs.text == unknown.text
    assert store.studies.get(study).title == "Cities"


def test_an_administrator_sees_all_studies(admin, study):
    answer = admin.get(f"/api/studies/{study}/live")
    assert answer.status_code == 200

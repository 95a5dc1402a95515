"""Who is signed in: by a password or by a link, in a session that begins new and really ends."""

from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient

from erkle.service.accounts import passwords
from erkle.service.accounts.sessions import setup_link
from erkle.store import Purpose
from people import PASSWORD, reason


def token_of(link):
    return link.partition("#")[2]


def newcomer(token, name="ann", password=PASSWORD):
    return {"token": token, "name": name, "password": password}


def another(client):
    """Another browser of the same application."""
    return TestClient(client.app)


def test_there_is_no_account_at_first(client, store):
    assert store.accounts.all() == []
    assert client.post("/api/login", json={"name": "admin", "password": "admin"}).status_code == 401


def test_the_setup_link_makes_an_administrator_who_is_signed_in(client, store):
    link = setup_link(store, "http://testserver/")
    assert link.startswith("http://testserver/setup#")
    answer = client.post("/api/setup", json=newcomer(token_of(link)))
    assert answer.status_code == 200
    assert answer.json()["account"]["admin"] is True
    assert client.get("/api/me").json() == answer.json()


def test_the_setup_link_works_only_once(client, store):
    token = token_of(setup_link(store, ""))
    assert client.post("/api/setup", json=newcomer(token)).status_code == 200
    assert another(client).post("/api/setup", json=newcomer(token, "bob")).status_code == 409
    assert [account.name for account in store.accounts.all()] == ["ann"]


def test_a_second_setup_link_is_worth_nothing_once_there_is_an_account(client, store):
    first, second = (token_of(setup_link(store, "")) for _ in range(2))
    assert client.post("/api/setup", json=newcomer(first)).status_code == 200
    assert another(client).post("/api/setup", json=newcomer(second, "bob")).status_code == 409
    assert setup_link(store, "") is None


def test_a_forged_setup_link_makes_no_account(client, store):
    setup_link(store, "")
    for token in ("x", "A" * 43, "../../etc/passwd", "é"):
        assert client.post("/api/setup", json=newcomer(token)).status_code == 409
    assert store.accounts.all() == []


def test_a_link_is_good_for_its_own_purpose_only(client, store, admin):
    invitation = token_of(admin.post("/api/invitations").json()["link"])
    assert client.post("/api/enter", json={"token": invitation}).status_code == 409
    assert client.post("/api/setup", json=newcomer(invitation, "new")).status_code == 409
    assert client.post("/api/invited", json=newcomer(invitation, "new")).status_code == 200


def test_an_invitation_makes_one_researcher_who_is_no_administrator(client, admin):
    invited = admin.post("/api/invitations")
    assert invited.status_code == 201
    link = invited.json()["link"]
    assert link.startswith("http://testserver/invited#")
    answer = client.post("/api/invited", json=newcomer(token_of(link), "new"))
    assert answer.json()["account"] | {"id": ""} == {"id": "", "name": "new", "admin": False}
    assert another(client).post("/api/invited", json=newcomer(token_of(link), "more")).status_code == 409


def test_a_taken_name_does_not_use_up_the_invitation(client, admin, researcher):
    token = token_of(admin.post("/api/invitations").json()["link"])
    assert client.post("/api/invited", json=newcomer(token, "ANN")).status_code == 409
    assert client.post("/api/invited", json=newcomer(token, "new")).status_code == 200


@pytest.mark.parametrize("path", ["/api/invitations", "/api/accounts"])
def test_who_is_no_administrator_cannot_invite_or_see_accounts(researcher, path):
    answer = researcher.get(path) if path == "/api/accounts" else researcher.post(path)
    assert (answer.status_code, reason(answer)) == (403, "not-admin")


def test_an_administrator_sees_names_and_no_hashes(admin, researcher):
    answer = admin.get("/api/accounts")
    assert [account["name"] for account in answer.json()] == ["root", "ann"]
    assert "argon2" not in answer.text


def test_a_link_to_enter_signs_in_once(client, store, researcher):
    account = researcher.get("/api/me").json()["account"]
    token = store.links.create(Purpose.ENTER, account["id"])
    assert client.post("/api/enter", json={"token": token}).json()["account"] == account
    assert client.get("/api/me").status_code == 200
    assert another(client).post("/api/enter", json={"token": token}).status_code == 409


def test_whoever_follows_no_link_is_nobody(client):
    assert (client.get("/api/me").status_code, reason(client.get("/api/me"))) == (401, "signed-out")


@pytest.mark.parametrize("name", ["ann", "ANN", "  ann "])
def test_a_name_is_the_same_in_other_capitals(client, researcher, name):
    answer = another(client).post("/api/login", json={"name": name, "password": PASSWORD})
    assert answer.json()["account"]["name"] == "ann"


@pytest.mark.parametrize(("name", "password"), [("ann", PASSWORD + "!"), ("nobody", PASSWORD), ("ann", ""), ("", "")])
def test_a_wrong_name_and_a_wrong_password_are_told_in_the_same_words(client, researcher, name, password):
    answer = client.post("/api/login", json={"name": name, "password": password})
    assert answer.status_code == 401
    assert answer.json() == {"error": {"reason": "wrong", "sentence": answer.json()["error"]["sentence"]}}
    assert "set-cookie" not in answer.headers


def test_a_name_that_nobody_has_is_checked_against_a_hash_too(monkeypatch):
    hasher = Mock(wraps=passwords.HASHER)
    monkeypatch.setattr(passwords, "HASHER", hasher)
    assert passwords.matches(PASSWORD, None) is False
    assert passwords.matches("nobody has this password", None) is False
    assert [call.args[0] for call in hasher.verify.call_args_list] == [passwords.UNKNOWN_ACCOUNT] * 2


def test_what_is_no_hash_is_nobodys_password():
    assert passwords.matches(PASSWORD, "no hash at all") is False


def test_checking_a_password_takes_as_long_when_there_is_no_such_account(real_hashing):
    assert passwords.matches("nobody has this password", passwords.UNKNOWN_ACCOUNT)
    assert not passwords.is_outdated(passwords.UNKNOWN_ACCOUNT)


@pytest.mark.parametrize("password", ["short", "123456789", "", "aaaaaaaaaaaaaaa", "x" * 1001, "ann-ann-an"])
def test_a_password_that_is_easy_to_guess_is_refused(client, store, password):
    token = token_of(setup_link(store, ""))
    answer = client.post("/api/setup", json=newcomer(token, "ann-ann-an", password))
    assert answer.status_code == 422
    assert "x" * 50 not in answer.text
    assert client.post("/api/setup", json=newcomer(token)).status_code == 200, "the link was not used up"


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "a\nb", "a‮b", "x" * 201, "\ud800"])
def test_a_name_that_cannot_be_seen_is_refused(client, store, name):
    import json

    token = token_of(setup_link(store, ""))
    body = json.dumps(newcomer(token, name))
    answer = client.post("/api/setup", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert store.accounts.all() == []


def test_a_password_is_kept_as_argon2id_only(store, researcher):
    _, kept = store.accounts.named("ann")
    assert kept.startswith("$argon2id$")
    assert PASSWORD not in kept


def test_letters_that_look_the_same_are_the_same_password():
    assert passwords.matches("cafe\u0301 au lait", passwords.hashed("café au lait"))


def test_an_old_hash_is_made_anew_when_somebody_signs_in(client, store):
    from argon2 import PasswordHasher

    weak = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1).hash(PASSWORD)
    store.accounts.create("old", weak)
    assert passwords.is_outdated(weak)
    assert client.post("/api/login", json={"name": "old", "password": PASSWORD}).status_code == 200
    _, kept = store.accounts.named("old")
    assert not passwords.is_outdated(kept)
    assert passwords.matches(PASSWORD, kept)
    assert client.get("/api/me").status_code == 200


def test_signing_out_ends_the_session_here_and_in_the_browser(client, researcher):
    cookie = researcher.cookies["erkle_session"]
    assert researcher.post("/api/logout").status_code == 204
    assert "erkle_session" not in researcher.cookies
    assert client.get("/api/me", headers={"Cookie": f"erkle_session={cookie}"}).status_code == 401


def test_signing_in_gives_a_new_session_and_ends_the_one_before(client, researcher):
    before = researcher.cookies["erkle_session"]
    researcher.post("/api/login", json={"name": "ann", "password": PASSWORD})
    assert researcher.cookies["erkle_session"] != before
    assert client.get("/api/me", headers={"Cookie": f"erkle_session={before}"}).status_code == 401


def test_a_session_that_somebody_else_prepared_is_not_taken_over(client, researcher):
    prepared = "A" * 43
    client.cookies.set("erkle_session", prepared, domain="testserver.local")
    answer = client.post(
        "/api/login", json={"name": "ann", "password": PASSWORD}, headers={"Cookie": f"erkle_session={prepared}"}
    )
    assert prepared not in answer.headers["set-cookie"]
    assert another(client).get("/api/me", headers={"Cookie": f"erkle_session={prepared}"}).status_code == 401


def test_a_new_password_ends_all_other_sessions(client, researcher):
    elsewhere = another(client)
    elsewhere.post("/api/login", json={"name": "ann", "password": PASSWORD})
    answer = researcher.post("/api/password", json={"old": PASSWORD, "new": "another one altogether"})
    assert answer.status_code == 200
    assert elsewhere.get("/api/me").status_code == 401
    assert researcher.get("/api/me").json() == answer.json()
    assert client.post("/api/login", json={"name": "ann", "password": PASSWORD}).status_code == 401
    assert client.post("/api/login", json={"name": "ann", "password": "another one altogether"}).status_code == 200


def test_a_new_password_needs_the_old_one(researcher):
    answer = researcher.post("/api/password", json={"old": "not the old one", "new": "another one altogether"})
    assert (answer.status_code, reason(answer)) == (403, "wrong")
    assert researcher.post("/api/password", json={"old": PASSWORD, "new": "short"}).status_code == 422
    assert researcher.get("/api/me").status_code == 200


def test_a_deleted_account_is_signed_out_everywhere(client, admin, researcher, study, store):
    account = researcher.get("/api/me").json()["account"]["id"]
    assert admin.delete(f"/api/accounts/{account}").status_code == 204
    assert researcher.get("/api/me").status_code == 401
    assert client.post("/api/login", json={"name": "ann", "password": PASSWORD}).status_code == 401
    assert store.studies.get(study).owner is None


def test_the_only_administrator_cannot_be_deleted(admin):
    account = admin.get("/api/me").json()["account"]["id"]
    assert admin.delete(f"/api/accounts/{account}").status_code == 409
    assert admin.get("/api/me").status_code == 200


def test_a_researcher_cannot_delete_accounts(researcher, stranger):
    account = stranger.get("/api/me").json()["account"]["id"]
    assert researcher.delete(f"/api/accounts/{account}").status_code == 403
    assert stranger.get("/api/me").status_code == 200


def test_a_session_ends_after_its_time(store, client, researcher):
    account = researcher.get("/api/me").json()["account"]["id"]
    session = store.sessions.open(account, 1e-6)
    assert client.get("/api/me", headers={"Cookie": f"erkle_session={session.token}"}).status_code == 401


@pytest.mark.parametrize("cookie", ["", "A" * 43, "x' OR 1=1 --", "A" * 5000, "%00", "é"])
def test_a_forged_cookie_is_nobody(client, cookie):
    answer = client.get("/api/me", headers={b"Cookie": f"erkle_session={cookie}".encode()})
    assert answer.status_code == 401


def test_the_first_page_leads_to_the_door_or_to_the_studies(client, researcher):
    assert client.get("/", follow_redirects=False).headers["location"] == "/login"
    assert researcher.get("/", follow_redirects=False).headers["location"] == "/studies"

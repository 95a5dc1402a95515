"""Accounts and signing in, with a password or a one-time link; sessions start fresh and really end."""

from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient

from erkle.service.accounts import passwords
from erkle.service.accounts.sessions import setup_link
from erkle.store import Purpose
from people import PASSWORD, missing, reason


def token_of(link):
    return link.partition("#")[2]


def new_account(token, name="ann", password=PASSWORD):
    return {"token": token, "name": name, "password": password}


def another(client):
    """Another browser that uses the same application."""
    return TestClient(client.app)


def test_a_new_server_has_no_account(client, store):
    assert store.accounts.all() == []
    assert client.post("/api/login", json={"name": "admin", "password": "admin"}).status_code == 401


def test_the_setup_link_creates_an_administrator_and_signs_in(client, store):
    link = setup_link(store, "http://testserver/")
    assert link.startswith("http://testserver/setup#")
    answer = client.post("/api/setup", json=new_account(token_of(link)))
    assert answer.status_code == 200
    assert answer.json()["account"]["admin"] is True
    assert client.get("/api/me").json() == answer.json()


def test_the_setup_link_works_only_once(client, store):
    token = token_of(setup_link(store, ""))
    assert client.post("/api/setup", json=new_account(token)).status_code == 200
    assert another(client).post("/api/setup", json=new_account(token, "bob")).status_code == 409
    assert [account.name for account in store.accounts.all()] == ["ann"]


def test_a_setup_link_is_invalid_once_there_is_an_account(client, store):
    first, second = (token_of(setup_link(store, "")) for _ in range(2))
    assert client.post("/api/setup", json=new_account(first)).status_code == 200
    assert another(client).post("/api/setup", json=new_account(second, "bob")).status_code == 409
    assert setup_link(store, "") is None


def test_a_forged_setup_link_creates_no_account(client, store):
    setup_link(store, "")
    for token in ("x", "A" * 43, "../../etc/passwd", "é"):
        assert client.post("/api/setup", json=new_account(token)).status_code == 409
    assert store.accounts.all() == []


def test_a_link_works_only_for_its_purpose(client, store, admin):
    invitation = token_of(admin.post("/api/invitations").json()["link"])
    assert client.post("/api/enter", json={"token": invitation}).status_code == 409
    assert client.post("/api/setup", json=new_account(invitation, "new")).status_code == 409
    assert client.post("/api/invited", json=new_account(invitation, "new")).status_code == 200


def test_an_invitation_creates_one_researcher_who_is_not_an_administrator(client, admin):
    invited = admin.post("/api/invitations")
    assert invited.status_code == 201
    link = invited.json()["link"]
    assert link.startswith("http://testserver/invited#")
    answer = client.post("/api/invited", json=new_account(token_of(link), "new"))
    assert answer.json()["account"] | {"id": ""} == {"id": "", "name": "new", "admin": False}
    assert another(client).post("/api/invited", json=new_account(token_of(link), "more")).status_code == 409


def test_a_taken_name_does_not_use_up_the_invitation(client, admin, researcher):
    token = token_of(admin.post("/api/invitations").json()["link"])
    assert client.post("/api/invited", json=new_account(token, "ANN")).status_code == 409
    assert client.post("/api/invited", json=new_account(token, "new")).status_code == 200


@pytest.mark.parametrize("path", ["/api/invitations", "/api/accounts"])
def test_only_administrators_can_invite_and_see_accounts(researcher, path):
    answer = researcher.get(path) if path == "/api/accounts" else researcher.post(path)
    assert (answer.status_code, reason(answer)) == (403, "not-admin")


def test_an_administrator_sees_names_but_no_hashes(admin, researcher):
    answer = admin.get("/api/accounts")
    assert [account["name"] for account in answer.json()] == ["root", "ann"]
    assert "argon2" not in answer.text


def test_a_login_link_works_once(client, store, researcher):
    account = researcher.get("/api/me").json()["account"]
    token = store.links.create(Purpose.ENTER, account["id"])
    assert client.post("/api/enter", json={"token": token}).json()["account"] == account
    assert client.get("/api/me").status_code == 200
    assert another(client).post("/api/enter", json={"token": token}).status_code == 409


def test_without_a_session_nobody_is_signed_in(client):
    assert (client.get("/api/me").status_code, reason(client.get("/api/me"))) == (401, "signed-out")


@pytest.mark.parametrize("name", ["ann", "ANN", "  ann "])
def test_case_and_spaces_of_a_name_do_not_matter(client, researcher, name):
    answer = another(client).post("/api/login", json={"name": name, "password": PASSWORD})
    assert answer.json()["account"]["name"] == "ann"


def test_a_wrong_name_and_a_wrong_password_give_the_same_error(client, researcher):
    wrong = [("ann", PASSWORD + "!"), ("nobody", PASSWORD), ("ann", ""), ("", "")]
    answers = [client.post("/api/login", json={"name": name, "password": password}) for name, password in wrong]
    assert {(answer.status_code, reason(answer)) for answer in answers} == {(401, "wrong")}
    assert len({answer.text for answer in answers}) == 1
    assert not any("set-cookie" in answer.headers for answer in answers)


def test_a_password_is_hashed_even_if_there_is_no_such_account(monkeypatch):
    hasher = Mock(wraps=passwords.HASHER)
    monkeypatch.setattr(passwords, "HASHER", hasher)
    assert passwords.matches(PASSWORD, None) is False
    assert passwords.matches("nobody has this password", None) is False
    assert [call.args[0] for call in hasher.verify.call_args_list] == [passwords.UNKNOWN_ACCOUNT] * 2


def test_an_invalid_hash_matches_no_password():
    assert passwords.matches(PASSWORD, "no hash at all") is False


def test_checking_a_password_takes_as_long_when_there_is_no_such_account(real_hashing):
    assert passwords.matches("nobody has this password", passwords.UNKNOWN_ACCOUNT)
    assert not passwords.is_outdated(passwords.UNKNOWN_ACCOUNT)


@pytest.mark.parametrize(
    "password", ["short", "123456789", "", "aaaaaaaaaaaaaaa", "x" * 1001, "ann-ann-an", "ANN-\uff21nn-an"]
)
def test_a_password_that_is_easy_to_guess_is_refused(client, store, password):
    token = token_of(setup_link(store, ""))
    answer = client.post("/api/setup", json=new_account(token, "ann-ann-an", password))
    assert answer.status_code == 422
    assert "x" * 50 not in answer.text
    assert client.post("/api/setup", json=new_account(token)).status_code == 200, "the link was not used up"


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "a\nb", "a‮b", "x" * 201, "\ud800"])
def test_a_name_that_is_not_printable_is_refused(client, store, name):
    import json

    token = token_of(setup_link(store, ""))
    body = json.dumps(new_account(token, name))
    answer = client.post("/api/setup", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert store.accounts.all() == []


def test_a_name_that_mixes_scripts_is_refused_and_does_not_use_up_the_link(client, store):
    token = token_of(setup_link(store, ""))
    answer = client.post("/api/setup", json=new_account(token, "\u0430nn"))
    assert (answer.status_code, reason(answer)) == (400, "refused")
    assert missing(answer.json()["error"]["sentence"], ["Cyrillic", "Latin"]) == []
    assert client.post("/api/setup", json=new_account(token)).status_code == 200


def test_a_password_is_stored_only_as_an_argon2id_hash(store, researcher):
    _, kept = store.accounts.named("ann")
    assert kept.startswith("$argon2id$")
    assert PASSWORD not in kept


def test_letters_that_look_the_same_are_the_same_password():
    assert passwords.matches("cafe\u0301 au lait", passwords.hashed("café au lait"))


def test_an_outdated_hash_is_replaced_at_the_next_login(client, store):
    from argon2 import PasswordHasher

    weak = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1).hash(PASSWORD)
    store.accounts.create("old", weak)
    assert passwords.is_outdated(weak)
    assert client.post("/api/login", json={"name": "old", "password": PASSWORD}).status_code == 200
    _, kept = store.accounts.named("old")
    assert not passwords.is_outdated(kept)
    assert passwords.matches(PASSWORD, kept)
    assert client.get("/api/me").status_code == 200


def test_signing_out_ends_the_session_and_deletes_the_cookie(client, researcher):
    cookie = researcher.cookies["erkle_session"]
    assert researcher.post("/api/logout").status_code == 204
    assert "erkle_session" not in researcher.cookies
    assert client.get("/api/me", headers={"Cookie": f"erkle_session={cookie}"}).status_code == 401


def test_signing_in_starts_a_new_session_and_ends_the_previous_one(client, researcher):
    before = researcher.cookies["erkle_session"]
    researcher.post("/api/login", json={"name": "ann", "password": PASSWORD})
    assert researcher.cookies["erkle_session"] != before
    assert client.get("/api/me", headers={"Cookie": f"erkle_session={before}"}).status_code == 401


def test_a_session_token_that_an_attacker_planted_is_not_used(client, researcher):
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


def test_a_session_expires(store, client, researcher):
    account = researcher.get("/api/me").json()["account"]["id"]
    session = store.sessions.open(account, 1e-6)
    assert client.get("/api/me", headers={"Cookie": f"erkle_session={session.token}"}).status_code == 401


@pytest.mark.parametrize("cookie", ["", "A" * 43, "x' OR 1=1 --", "A" * 5000, "%00", "é"])
def test_a_forged_cookie_does_not_sign_in(client, cookie):
    answer = client.get("/api/me", headers={b"Cookie": f"erkle_session={cookie}".encode()})
    assert answer.status_code == 401


def test_the_home_page_redirects_to_the_login_or_to_the_studies(client, researcher):
    assert client.get("/", follow_redirects=False).headers["location"] == "/login"
    assert researcher.get("/", follow_redirects=False).headers["location"] == "/studies"

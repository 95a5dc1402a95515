"""Accounts, and what gives access to them: sessions, and links that work once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from erkle.store import Account, Link, NotAllowed, Purpose, StoreError, Unknown

INVALID = ["", "x", "\0", "\ud800", "' OR 1=1 --", "A" * 100_000, -1, 10**40, None, b"x", 1.5, ["x"]]


@pytest.fixture
def ann(store):
    return store.accounts.create("Ann", "hash of ann", admin=True)


def test_an_account_is_stored_as_created(store, ann, clock):
    bob = store.accounts.create("Bob", "hash of bob")
    assert ann == Account(ann.id, "Ann", True, clock.time)
    assert store.accounts.get(bob.id) == bob
    assert not bob.admin
    assert {*store.accounts.all()} == {ann, bob}
    assert store.accounts.named("Ann") == (ann, "hash of ann")
    assert store.accounts.named("Eve") is None


def test_names_that_look_the_same_belong_to_one_account(store, ann):
    for name in ("Ann", "ANN", " ann ", "Ａnn"):
        assert store.accounts.named(name) == (ann, "hash of ann")
        with pytest.raises(NotAllowed, match=name):
            store.accounts.create(name, "hash")
    assert store.accounts.all() == [ann]


def test_an_invalid_name_token_or_id_gives_no_access(store, ann):
    for value in INVALID:
        assert store.accounts.named(value) is None
        assert store.sessions.get(value) is None
        store.sessions.close(value)
        assert all(store.links.use(value, purpose) is None for purpose in Purpose)
        for call in (store.accounts.get, store.accounts.delete, lambda v: store.sessions.open(v, 60)):
            with pytest.raises(Unknown):
                call(value)


def test_a_session_is_valid_until_it_expires(store, ann, clock):
    session = store.sessions.open(ann.id, 60)
    assert session.account == ann
    assert len({session.token, session.csrf, store.sessions.open(ann.id, 60).csrf}) == 3
    clock.advance(59)
    assert store.sessions.get(session.token) == session
    clock.advance(1)
    assert store.sessions.get(session.token) is None


def test_sessions_and_links_last_at_most_thirty_years(store, ann):
    for lifetime in (0, -1, 1e12, float("nan")):
        values = f"{lifetime} seconds.*1,000,000,000"
        with pytest.raises(StoreError, match=values):
            store.sessions.open(ann.id, lifetime)
        with pytest.raises(StoreError, match=values):
            store.links.create(Purpose.INVITE, lifetime=lifetime)


def test_closing_a_session_does_not_close_others(store, ann):
    one, two = (store.sessions.open(ann.id, 60) for _ in range(2))
    store.sessions.close(one.token)
    assert store.sessions.get(one.token) is None
    assert store.sessions.get(two.token) == two


def test_a_new_password_ends_all_sessions_and_links_of_the_account(store, ann):
    bob = store.accounts.create("Bob", "hash")
    sessions = [store.sessions.open(account.id, 60) for account in (ann, ann, bob)]
    link = store.links.create(Purpose.ENTER, ann.id)
    store.accounts.set_password(ann.id, "another hash")
    assert [store.sessions.get(session.token) for session in sessions] == [None, None, sessions[2]]
    assert store.links.use(link, Purpose.ENTER) is None
    assert store.accounts.named("Ann") == (ann, "another hash")


def test_the_database_contains_no_token(store, ann):
    secrets = [store.sessions.open(ann.id, 60).token, store.links.create(Purpose.INVITE)]
    with store._database.reading() as connection:
        for table in ("sessions", "links"):
            stored = str(connection.execute(text(f"SELECT * FROM {table}")).all())
            assert not any(secret in stored for secret in secrets)


def test_a_link_works_once_for_its_purpose_until_it_expires(store, ann, clock):
    link = store.links.create(Purpose.ENTER, ann.id, lifetime=60)
    assert store.links.use(link, Purpose.INVITE) is None
    assert store.links.use(link, Purpose.ENTER) == Link(Purpose.ENTER, ann.id)
    assert store.links.use(link, Purpose.ENTER) is None
    late = store.links.create(Purpose.INVITE, lifetime=60)
    clock.advance(60)
    assert store.links.use(late, Purpose.INVITE) is None


def test_only_one_of_many_threads_can_use_a_link(store, ann):
    link = store.links.create(Purpose.INVITE)
    with ThreadPoolExecutor(4) as pool:
        used = list(pool.map(lambda _: store.links.use(link, Purpose.INVITE), range(4)))
    assert sum(each is not None for each in used) == 1


def test_sign_in_links_and_no_others_have_an_account(store, ann):
    for purpose, account in ((Purpose.ENTER, None), (Purpose.INVITE, ann.id), (Purpose.SETUP, ann.id)):
        with pytest.raises(StoreError, match=f"{purpose}.*{account!r}"):
            store.links.create(purpose, account)
    with pytest.raises(StoreError, match=r"'rob'.*setup, invite, enter"):
        store.links.create("rob")
    with pytest.raises(StoreError, match="enter"):
        store.links.use_for_account(store.links.create(Purpose.ENTER, ann.id), Purpose.ENTER, "Eve", "hash")


def test_a_setup_link_creates_the_first_account_as_an_admin(store):
    one, two = (store.links.create(Purpose.SETUP) for _ in range(2))
    ann = store.links.use_for_account(one, Purpose.SETUP, "Ann", "hash")
    assert ann.admin
    with pytest.raises(NotAllowed):
        store.links.use_for_account(two, Purpose.SETUP, "Eve", "hash")
    assert store.accounts.all() == [ann]


def test_a_link_that_created_no_account_can_be_used_again(store, ann):
    link = store.links.create(Purpose.INVITE)
    with pytest.raises(NotAllowed, match="'Ann'"):
        store.links.use_for_account(link, Purpose.INVITE, "Ann", "hash")
    bob = store.links.use_for_account(link, Purpose.INVITE, "Bob", "hash")
    assert not bob.admin
    with pytest.raises(NotAllowed):
        store.links.use_for_account(link, Purpose.INVITE, "Carl", "hash")
    assert {*store.accounts.all()} == {ann, bob}


def test_only_one_of_many_threads_can_set_up_the_service(store):
    links = [store.links.create(Purpose.SETUP) for _ in range(4)]

    def set_up(number):
        try:
            return store.links.use_for_account(links[number], Purpose.SETUP, f"Admin {number}", "hash")
        except NotAllowed:
            return None

    with ThreadPoolExecutor(4) as pool:
        made = [account for account in pool.map(set_up, range(4)) if account]
    assert store.accounts.all() == made
    assert len(made) == 1


def test_studies_stay_when_their_owner_is_deleted(store, ann):
    bob = store.accounts.create("Bob", "hash")
    study = store.studies.create("Letters", list("ABC"), owner=bob.id)
    assert study.owner == bob.id
    session, link = store.sessions.open(bob.id, 60), store.links.create(Purpose.ENTER, bob.id)
    store.accounts.delete(bob.id)
    assert store.sessions.get(session.token) is None
    assert store.links.use(link, Purpose.ENTER) is None
    assert store.studies.get(study.id).owner is None
    with pytest.raises(Unknown, match=bob.id):
        store.studies.create("Letters", list("ABC"), owner=bob.id)
    with pytest.raises(NotAllowed, match="'Ann'"):
        store.accounts.delete(ann.id)

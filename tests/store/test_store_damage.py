"""What somebody has damaged by hand costs the store nothing else: no connection, no lease, no roster."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text

from erkle.store import Query, State, Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.db"


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


@pytest.fixture
def study(store):
    study = store.create_study("Letters", list("ABC")).id
    store.change_state(study, State.OPEN)
    return study


def by_sql(path, statement):
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()


def test_a_connection_that_was_left_in_the_middle_is_not_used_again(store, study, path):
    kept = []

    def read_one(connection):
        kept.append(connection.execute(text("SELECT number FROM objects")))
        raise RuntimeError(f"after {kept[0].fetchone()}")

    with pytest.raises(RuntimeError, match="after"):
        store._read(read_one)
    by_sql(path, "UPDATE studies SET title = 'Others'")
    assert store.study(study).title == "Others"
    assert store.change_state(study, State.PAUSED).state == State.PAUSED


@pytest.mark.parametrize("until", ["9223372036854775807", "'abc'", "x'ff'"])
def test_a_lease_that_lasts_too_long_is_over(store, study, path, until):
    fence = store.acquire(study, "one", 10)
    by_sql(path, f"UPDATE leases SET owner = 'ghost', until = {until}")
    assert store.acquire(study, "two", 10) == fence + 1
    assert store.acquire(study, "one", 10) is None


def test_a_lease_that_is_gone_is_made_anew(store, study, path):
    by_sql(path, "DELETE FROM leases")
    assert store.renew(study, "one", 10) is None
    assert store.acquire(study, "one", 10) == 1
    assert store.acquire(study, "two", 10) is None


@pytest.mark.parametrize("duration", [0, -1, 61])
def test_no_lease_is_longer_than_a_minute(store, study, duration):
    with pytest.raises(ValueError, match="The lease is of"):
        store.acquire(study, "one", duration)


def test_a_roster_after_one_that_is_damaged_is_like_none_before(store, study, path):
    ann = store.join(study).id
    store.exclude(study, ann)
    assert store.save_snapshot(study, 0, 1, b"PK\x03\x04")
    by_sql(path, "UPDATE studies SET roster = 'abc'")
    assert store.snapshots(study) == []
    store.include(study, ann)
    assert store.study(study).roster == 2
    assert store.snapshots(study) == []


def test_an_open_question_without_a_time_is_expired(store, study, path):
    ann = store.join(study).id
    [asked] = store.issue(study, ann, [Query(0, 1, 2)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER questions_update")
        connection.execute("UPDATE questions SET expires_at = 'abc'")
        connection.commit()
    assert store.answer(asked.token, study, ann, 1).reason == "expired"
    assert store.ledger(study, ann) == store.pending(study) == []

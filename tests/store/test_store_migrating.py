"""A database of an older erkle is brought to this one, and loses nothing."""

import pytest
from alembic.operations import Operations
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from erkle.store import Acknowledged, Entry, Issued, Kind, Reason, Standing, State, Store, StoreError, migrating
from erkle.store.database import _engine, _url

NPZ = b"PK\x03\x04"
# Two studies, of which the first has something in every table.
ROWS = [
    """INSERT INTO studies VALUES (1, 'letters', 'Letters', '{"a": 1}', 'open', 3, 0, 5),
                                  (2, 'other', 'Other', '{}', 'draft', 3, 0, 6)""",
    "INSERT INTO objects VALUES (1, 0, 'A', '{}'), (1, 1, 'B', '{}'), (1, 2, 'C', '{}')",
    """INSERT INTO participants VALUES (1, 'ann', 1, '{"x": "y"}', 'active', false, 7),
                                       (2, 'bob', 1, '{}', 'completed', true, 8)""",
    """INSERT INTO questions VALUES (1, 'first', 1, 1, 0, 1, 2, 1, 'chosen', 'random', 9, 4000000000000000),
                                    (2, 'second', 1, 2, 2, 0, 1, 1, 'catch', '', 9, 4000000000000000),
                                    (3, 'third', 1, 1, 0, 1, 2, 1, 'chosen', 'random', 9, 4000000000000000),
                                    (4, 'fourth', 1, 1, 0, 1, 2, 1, 'chosen', 'random', 9, 4000000000000000)""",
    "INSERT INTO answers VALUES (1, 1, 1, 2, 700, '{}', 11), (1, 2, 2, 0, NULL, '{}', 12)",
    "INSERT INTO skips VALUES (3, 'cannot decide', 13)",
    "INSERT INTO refusals VALUES (1, 1, 'answered already', 'first', 'ann', '{}', 14)",
    "INSERT INTO leases VALUES (1, 'one', 15), (2, '', 0)",
]


@pytest.fixture
def old(place):
    """Where a database of the first version is."""
    engine = _engine(_url(place), "old")
    with engine.begin() as connection:
        script, context = migrating._script(), migrating._context(connection)
        with Operations.context(context):
            script.get_revision("0001").module.upgrade()
        context.stamp(script, "0001")
        for statement in ROWS:
            connection.execute(text(statement))
        snapshot = text("INSERT INTO snapshots VALUES (1, 1, 2, 0, :data, 16)")
        connection.execute(snapshot, {"data": NPZ})
        if engine.dialect.name == "postgresql":
            # The numbers of the rows above were not drawn from the sequences.
            for table in ("studies", "participants", "questions", "refusals", "snapshots"):
                connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 10)"))
    engine.dispose()
    return place


def test_a_database_of_the_first_version_keeps_everything(old):
    for _ in range(2):
        with Store(old) as store:
            assert [s.id for s in store.studies()] == ["letters", "other"]
            assert store.study("letters") == ("letters", "Letters", {"a": 1}, State.OPEN, 3, 0, 5, None)
            assert [(a.sequence, a.participant, a.near) for a in store.log("letters", include_excluded=True)] == [
                (1, "ann", 2),
                (2, "bob", 0),
            ]
            ann, bob = store.participants("letters")
            assert ann == ("ann", {"x": "y"}, Standing.ACTIVE, 7, None, False)
            assert bob.standing == Standing.EXCLUDED
            asked = Issued("first", "ann", 0, 1, 2, 1, Kind.CHOSEN, "random", 9, 4 * 10**15)
            assert [entry[1:] for entry in store.ledger("letters", "ann")] == [
                (2, False, 700),
                (None, True, None),
                (None, False, None),
            ]
            assert store.ledger("letters", "ann")[0] == Entry(asked, 2, False, 700)
            assert [refusal.reason for refusal in store.refusals("letters")] == [Reason.ANSWERED]
            assert [skip.reason for skip in store.skips("letters")] == ["cannot decide"]
            assert [snapshot.data for snapshot in store.snapshots("letters")] == [NPZ]


def test_a_database_of_the_first_version_goes_on(old):
    with Store(old) as store:
        assert store.answer("first", "letters", "ann", 2) == Acknowledged(1, repeated=True)
        assert store.answer("fourth", "letters", "ann", 1) == Acknowledged(3, repeated=False)
        assert store.join("letters", {}, "x") == store.join("letters", {}, "x")
        assert store.acquire("letters", "two", 10) == 1
        with pytest.raises(DBAPIError, match="never changed or deleted"), store._database.writing() as connection:
            connection.execute(text("DELETE FROM answers"))
        store.delete_study("letters")
        assert [s.id for s in store.studies()] == ["other"]


def test_a_step_that_fails_leaves_the_database_as_it_was(old, monkeypatch):
    step = migrating._script().get_revision("0002").module
    broken = {**step._STUDY, "snapshots": "no study"}
    script = migrating._script()
    monkeypatch.setattr(script.get_revision("0002").module, "_STUDY", broken)
    monkeypatch.setattr(migrating, "_script", lambda: script)
    with pytest.raises((DBAPIError, StoreError)):
        Store(old)
    monkeypatch.undo()
    with Store(old) as store:
        assert store.last("letters") == 2

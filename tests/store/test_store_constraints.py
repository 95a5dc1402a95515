"""The database itself refuses rows that cannot be, whoever writes them."""

import re

import pytest
from sqlalchemy import JSON, Boolean, Integer, LargeBinary, Text, text
from sqlalchemy.exc import DBAPIError

from erkle.store import Kind, Purpose, Reason, Standing, State, limits
from erkle.store.database import schema
from erkle.store.database.engine import Database
from erkle.store.database.versioning import initial_statements

NOW = 1_700_000_000_000_000
# A row of each table that could be added to the study below.
GOOD = {
    "accounts": {"id": "a", "name": "Ann", "folded": "ann", "password_hash": "x", "admin": False, "created_at": NOW},
    "sessions": {"digest": "d", "account_id": "owner", "expires_at": NOW},
    "links": {"digest": "d", "purpose": "enter", "account_id": "owner", "expires_at": NOW},
    "studies": {"public_id": "s", "title": "S", "settings": "{}", "state": "open", "n_objects": 3, "roster": 0}
    | {"created_at": NOW, "owner": "owner"},
    "objects": {"study_id": 1, "number": 9, "name": "X", "payload": "{}"},
    "media": {"study_id": 1, "name": "a.png", "type": "image/png", "data": b"x"},
    "participants": {"public_id": "p", "study_id": 1, "parameters": "{}", "state": "active", "excluded": False}
    | {"joined_at": NOW, "identity": None, "flagged": False},
    "questions": {
        "token": "t",
        "study_id": 1,
        "participant_id": 1,
        "anchor": 0,
        "first": 1,
        "second": 2,
        "left_object": 2,
    }
    | {"kind": "chosen", "strategy": "", "issued_at": NOW, "expires_at": NOW},
    "answers": {"study_id": 1, "sequence": 2, "question_id": 2, "choice": 1, "response_ms": 7, "client": "{}"}
    | {"answered_at": NOW},
    "skips": {"question_id": 2, "reason": "", "skipped_at": NOW},
    "refusals": {"study_id": 1, "reason": "expired", "token": "", "participant": "", "payload": "{}"}
    | {"refused_at": NOW},
    "snapshots": {"study_id": 1, "sequence": 1, "roster": 0, "data": b"x", "saved_at": NOW},
    "leases": {"study_id": 2, "owner": "", "until": 0, "fence": 0},
}
MAY_BE_EMPTY = {"accounts.folded", "participants.identity", "questions.strategy", "skips.reason", "leases.owner"}
MAY_BE_EMPTY |= {"refusals.token", "refusals.participant"}
# Changes that make a row wrong although each of its values could be.
TOGETHER = [
    ("links", {"account_id": None}),
    ("links", {"purpose": "invite"}),
    ("links", {"purpose": "odd", "account_id": None}),
    ("questions", {"first": 0}),
    ("questions", {"second": 0, "left_object": 1}),
    ("questions", {"first": 2}),
    ("questions", {"second": -1, "left_object": 1}),
    ("questions", {"second": 7.5, "left_object": 1}),
    ("questions", {"left_object": 0}),
]
# The same across tables.
MISFITS = [
    ("questions", {"second": 3, "left_object": 1}, "objects and a participant of its study"),
    ("questions", {"participant_id": 2}, "objects and a participant of its study"),
    ("answers", {"choice": 0}, "an object of its question"),
    ("answers", {"sequence": 3}, "the next number"),
    ("answers", {"study_id": 2, "sequence": 1}, "an object of its question"),
    ("answers", {"question_id": 3}, "was not skipped"),
    ("skips", {"question_id": 1}, "answered is not skipped"),
]


@pytest.fixture
def database(place):
    """Two studies; the first has a question that was answered, one that is open, and one that was skipped."""
    database = Database(place)
    with database.writing() as connection:
        insert(connection, "accounts", {"id": "owner", "folded": "owner"})
        for number in (1, 2):
            insert(connection, "studies", {"id": number, "public_id": f"s{number}"})
            insert(connection, "participants", {"id": number, "public_id": f"p{number}", "study_id": number})
        for number in (1, 2, 3):
            insert(connection, "questions", {"id": number, "token": f"t{number}"})
        insert(connection, "answers", {"sequence": 1, "question_id": 1})
        insert(connection, "skips", {"question_id": 3})
        if not database.is_sqlite:
            # The numbers of the rows above were not drawn from the sequences.
            for table in ("studies", "participants", "questions"):
                connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 10)"))
    yield database
    database.close()


def insert(connection, table, changes):
    values = {**GOOD[table], **changes}
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)


def refused(database, table, changes):
    """What the database says against a row."""
    with pytest.raises(DBAPIError) as caught, database.writing() as connection:
        insert(connection, table, changes)
    return str(caught.value.orig)


def wrong(column, is_sqlite):
    """Values that cannot be in a column."""
    if isinstance(column.type, Boolean):
        return [2, "x"]
    if isinstance(column.type, JSON):
        return ["", "x", "[1]", "1", '{"a": NaN}', '{"a": 1', b"{}"]
    if isinstance(column.type, LargeBinary):
        return ["text", 7] if is_sqlite else []
    if isinstance(column.type, Integer):
        return [-1, 2**62, "x", *([7.5, b"1"] if is_sqlite else [])]
    assert isinstance(column.type, Text)
    # PostgreSQL writes bytes as a text.
    return ["\0", *([b"\xff"] if is_sqlite else []), *([] if str(column) in MAY_BE_EMPTY else [""])]


@pytest.mark.parametrize("table", GOOD)
def test_a_row_that_could_be_is_taken_and_one_with_a_value_that_cannot_be_is_refused(database, table):
    with database.engine.connect() as connection:
        insert(connection, table, {})
    columns = [column for column in schema.metadata.tables[table].c if column.name in GOOD[table]]
    changes = [{c.name: value} for c in columns for value in wrong(c, database.is_sqlite) if not c.foreign_keys]
    changes += [{c.name: "x" if isinstance(c.type, Text) else 99} for c in columns if c.foreign_keys]
    changes += [{c.name: None} for c in columns if not (c.nullable or c.primary_key)]
    changes += [change for of, change in TOGETHER if of == table]
    said = " ".join(refused(database, table, change) for change in changes)
    # Every constraint of the table has refused something.
    assert {*re.findall(r"ck_\w+", said)} == checks(table, database.engine.dialect.name)


def checks(table, dialect):
    [created] = [sql for sql in initial_statements(dialect) if sql.startswith(f"CREATE TABLE {table} ")]
    return {*re.findall(r"CONSTRAINT (ck_\w+)", created)}


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_the_database_takes_the_values_of_each_enumeration_and_the_ranges_of_the_limits(dialect):
    standings = [standing for standing in Standing if standing != Standing.EXCLUDED]
    sql = " ".join(initial_statements(dialect))
    for values in (State, Kind, Purpose, Reason, standings):
        assert f"IN ({', '.join(repr(str(value)) for value in values)})" in sql
    for name, most in (
        ("answered_at", limits.LATEST),
        ("sequence", limits.SEQUENCE),
        ("response_ms", limits.RESPONSE_MS),
    ):
        assert f"{name} BETWEEN {int(name == 'sequence')} AND {most}" in sql


@pytest.mark.parametrize(("table", "changes", "sentence"), MISFITS)
def test_a_row_that_does_not_fit_those_of_other_tables_is_refused(database, table, changes, sentence):
    assert sentence in refused(database, table, changes)

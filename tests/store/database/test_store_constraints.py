"""The database itself refuses invalid rows, whoever writes them."""

import re

import pytest
from sqlalchemy import JSON, Boolean, Integer, LargeBinary, Text, text
from sqlalchemy.exc import DBAPIError

from erkle.store import Kind, Purpose, Reason, Standing, State, limits
from erkle.store.database import schema
from erkle.store.database.opening import open_database
from erkle.store.database.versioning import initial_statements

NOW = 1_700_000_000_000_000
# A valid new row for each table of the database below.
VALID = {
    "accounts": {"id": "a", "name": "Ann", "folded": "ann", "password_hash": "x", "admin": False, "created_at": NOW},
    "sessions": {"digest": "d", "account_id": "owner", "expires_at": NOW},
    "links": {"digest": "d", "purpose": "enter", "account_id": "owner", "expires_at": NOW},
    "studies": {"public_id": "s", "title": "S", "settings": "{}", "state": "open", "n_objects": 3, "roster": 0}
    | {"created_at": NOW, "owner": "owner", "signing_key": "k"},
    "objects": {"study_id": 1, "number": 9, "name": "X", "payload": "{}"},
    "media": {"study_id": 1, "name": "a.png", "type": "image/png", "size": 1},
    "media_parts": {"study_id": 1, "name": "b.png", "number": 0, "data": b"x"},
    "features": {"study_id": 1, "name": "a", "n_columns": 1, "data": b"four"},
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
    | {"kind": "chosen", "position": 1, "strategy": "", "issued_at": NOW, "expires_at": NOW},
    "answers": {"study_id": 1, "sequence": 2, "question_id": 2, "choice": 1, "response_ms": 7, "client": "{}"}
    | {"answered_at": NOW},
    "skips": {"question_id": 2, "reason": "", "skipped_at": NOW},
    "refusals": {"study_id": 1, "reason": "expired", "token": "", "participant": "", "payload": "{}"}
    | {"refused_at": NOW},
    "snapshots": {"study_id": 1, "sequence": 1, "roster": 0, "data": b"x", "saved_at": NOW},
    "leases": {"study_id": 2, "owner": "", "until": 0, "fence": 0},
    "unfinished_studies": {"study_id": 2, "written_at": NOW},
    "import_batches": {"study_id": 1, "import_id": "i", "ready": False, "content": "{}", "staged_at": NOW},
    "usage": {"study_id": 2, "stored_bytes": 0},
}
MAY_BE_EMPTY = {"accounts.folded", "participants.identity", "questions.strategy", "skips.reason", "leases.owner"}
MAY_BE_EMPTY |= {"refusals.token", "refusals.participant"}
# Changes that make a row invalid although each of its values is valid.
INVALID_ROWS = [
    ("links", {"account_id": None}),
    ("links", {"purpose": "invite"}),
    ("links", {"purpose": "odd", "account_id": None}),
    ("questions", {"first": 0}),
    ("questions", {"second": 0, "left_object": 1}),
    ("questions", {"first": 2}),
    ("questions", {"second": -1, "left_object": 1}),
    ("questions", {"second": 7.5, "left_object": 1}),
    ("questions", {"left_object": 0}),
    ("features", {"data": b""}),
    ("features", {"data": b"three"}),
    ("features", {"n_columns": 3}),
]
# Changes that make a row contradict other tables, and a part of the error.
CONTRADICTIONS = [
    ("questions", {"second": 3, "left_object": 1}, "objects and a participant of its study"),
    ("questions", {"participant_id": 2}, "objects and a participant of its study"),
    ("answers", {"choice": 0}, "an object of its question"),
    ("answers", {"sequence": 3}, "the next number"),
    ("answers", {"study_id": 2, "sequence": 1}, "an object of its question"),
    ("answers", {"question_id": 3}, "not be skipped"),
    ("skips", {"question_id": 1}, "answered"),
]


@pytest.fixture
def database(location):
    """A database with two studies; the first has an answered question, an open one and a skipped one."""
    database = open_database(location)
    with database.writing() as connection:
        insert(connection, "accounts", {"id": "owner", "folded": "owner"})
        for number in (1, 2):
            insert(connection, "studies", {"id": number, "public_id": f"s{number}"})
            insert(connection, "participants", {"id": number, "public_id": f"p{number}", "study_id": number})
        for number in (1, 2, 3):
            insert(connection, "questions", {"id": number, "token": f"t{number}"})
        insert(connection, "media", {"name": "b.png"})
        insert(connection, "answers", {"sequence": 1, "question_id": 1})
        insert(connection, "skips", {"question_id": 3})
        if database.engine.dialect.name != "sqlite":
            # The rows above have explicit numbers, so the sequences must continue after them.
            for table in ("studies", "participants", "questions"):
                connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 10)"))
    yield database
    database.close()


def insert(connection, table, changes):
    values = {**VALID[table], **changes}
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)


def refused(database, table, changes):
    """Try to insert a row and return the error of the database."""
    with pytest.raises(DBAPIError) as caught, database.writing() as connection:
        insert(connection, table, changes)
    return str(caught.value.orig)


def invalid_values(column, is_sqlite):
    """Return values that a column must refuse."""
    if isinstance(column.type, Boolean):
        return [2, "x"]
    if isinstance(column.type, JSON):
        return ["", "x", "[1]", "1", '{"a": NaN}', '{"a": 1', b"{}"]
    if isinstance(column.type, LargeBinary):
        return ["text", 7] if is_sqlite else []
    if isinstance(column.type, Integer):
        return [-1, 2**62, "x", *([7.5, b"1"] if is_sqlite else [])]
    assert isinstance(column.type, Text)
    # PostgreSQL converts bytes to text.
    return ["\0", *([b"\xff"] if is_sqlite else []), *([] if str(column) in MAY_BE_EMPTY else [""])]


@pytest.mark.parametrize("table", VALID)
def test_a_valid_row_is_accepted_and_every_constraint_refuses_an_invalid_one(database, table):
    with database.engine.connect() as connection:
        insert(connection, table, {})
    columns = [column for column in schema.metadata.tables[table].c if column.name in VALID[table]]
    changes = [
        {c.name: value}
        for c in columns
        for value in invalid_values(c, database.engine.dialect.name == "sqlite")
        if not c.foreign_keys
    ]
    changes += [{c.name: "x" if isinstance(c.type, Text) else 99} for c in columns if c.foreign_keys]
    changes += [{c.name: None} for c in columns if not (c.nullable or c.primary_key)]
    changes += [change for name, change in INVALID_ROWS if name == table]
    errors = " ".join(refused(database, table, change) for change in changes)
    assert {*re.findall(r"ck_\w+", errors)} == checks(table, database.engine.dialect.name)


def checks(table, dialect):
    [created] = [sql for sql in initial_statements(dialect) if sql.startswith(f"CREATE TABLE {table} ")]
    return {*re.findall(r"CONSTRAINT (ck_\w+)", created)}


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_constraints_have_the_values_of_the_enumerations_and_the_limits(dialect):
    sql = " ".join(initial_statements(dialect))
    for values in (State, Kind, Purpose, Reason, Standing):
        assert f"IN ({', '.join(repr(str(value)) for value in values)})" in sql
    for name, most in (
        ("answered_at", limits.LATEST),
        ("sequence", limits.SEQUENCE),
        ("response_ms", limits.RESPONSE_MS),
    ):
        assert f"{name} BETWEEN {int(name == 'sequence')} AND {most}" in sql


def test_a_row_that_contradicts_other_tables_is_refused(database):
    for table, changes, error in CONTRADICTIONS:
        assert error in refused(database, table, changes)

"""Opening a database creates its tables, or refuses it unchanged; its log cannot be changed by accident."""

import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from erkle.store import State, Store, StoreError, Unavailable, check_database
from erkle.store.database import versioning
from erkle.store.database.opening import open_database
from erkle.store.database.schema import metadata
from erkle.store.database.versioning import VERSION_TABLE

# The append-only tables, with a column of each.
LOG = {"answers": "choice", "questions": "anchor", "skips": "reason", "refusals": "reason"}


def test_a_new_database_gets_the_tables_of_the_schema_once(new_location):
    for _ in range(2):
        database = open_database(new_location)
        with database.reading() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
            assert compare_metadata(context, metadata) == []
            assert context.get_current_revision() == "2"
            assert set(inspect(connection).get_table_names()) == {*metadata.tables, VERSION_TABLE}
        database.close()


def test_many_threads_can_open_a_new_database_at_once(new_location):
    def create(number):
        with Store(new_location) as store:
            return store.studies.create(f"Study {number}", list("ABC")).id

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(create, range(4)))
    with Store(new_location) as store:
        assert {study.id for study in store.studies.all()} == ids


def test_answers_are_there_when_the_database_is_opened_again(opened, location):
    opened.answer(opened.ask()[0])
    before = list(opened.store.answers.log(opened.study))
    opened.store.close()
    with Store(location) as store:
        assert list(store.answers.log(opened.study)) == before


def test_a_failed_migration_changes_nothing(new_location, monkeypatch):
    statements = versioning.initial_statements
    monkeypatch.setattr(versioning, "initial_statements", lambda dialect: [*statements(dialect), "no SQL"])
    script = versioning._script()
    monkeypatch.setattr(versioning, "_script", lambda: script)
    monkeypatch.setattr(script.get_revision("2").module, "initial_statements", versioning.initial_statements)
    with pytest.raises((DBAPIError, StoreError)):
        Store(new_location)
    monkeypatch.undo()
    with pytest.raises(StoreError, match="empty"):
        check_database(new_location)
    with Store(new_location) as store:
        assert store.studies.all() == []


def test_a_connection_with_an_unfinished_query_is_not_used_again(sqlite):
    path, kept = sqlite, []

    def read_one(connection):
        kept.append(connection.execute(text("SELECT number FROM objects")))
        raise RuntimeError(f"after {kept[0].fetchone()}")

    with Store(path) as store:
        study = store.studies.create("Letters", list("ABC")).id
        with pytest.raises(RuntimeError, match="after"):
            store._database.read(read_one)
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("UPDATE studies SET title = 'Others'")
            connection.commit()
        assert store.studies.get(study).title == "Others"
        assert store.studies.change_state(study, State.OPEN).state == State.OPEN


@pytest.mark.parametrize("opened_by", [Store, check_database])
def test_a_missing_driver_is_reported(opened_by, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"host/name: .*pip install 'erkle\[postgres\]'"):
        opened_by("postgresql://me@host/name")


def test_a_database_of_another_version_is_refused(new_location):
    database = open_database(new_location)
    with database.writing() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0003'"))
    database.close()
    with pytest.raises(StoreError, match=r"version 0003.*version 2\b"):
        Store(new_location)


def test_no_row_of_the_log_can_be_changed_or_deleted(opened):
    first, second = opened.ask(2)
    opened.answer(first)
    opened.answer(first, choice=2)
    opened.store.answers.skip(opened.study, opened.ann, second.token)
    database, statements = opened.store._database, []
    for table, column in LOG.items():
        statements += [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"]
        if database.engine.dialect.name != "sqlite":
            statements.append(f"TRUNCATE {table} CASCADE")
    if database.engine.dialect.name == "sqlite":
        for sequence in ("sequence", 9):
            row = f"study_id, {sequence}, question_id, 2, 1, '{{}}', 0"
            statements.append(f"INSERT OR REPLACE INTO answers SELECT {row} FROM answers")
    for statement in statements:
        with pytest.raises(DBAPIError, match="never changed or deleted"), database.writing() as connection:
            connection.execute(text(statement))
    assert [answer.near for answer in opened.store.answers.log(opened.study)] == [1]


def test_sqlite_flushes_every_commit_and_checks_references(sqlite):
    database = open_database(sqlite)
    with database.writing() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
        # The write transaction locks the file from its first statement on.
        other = sqlite3.connect(sqlite, timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
    database.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10000}


def test_postgresql_flushes_every_commit_even_if_configured_otherwise(shared_postgresql):
    database = open_database(shared_postgresql.url + "%20-csynchronous_commit%3Doff")
    with database.reading() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
    database.close()


def test_other_files_and_databases_are_refused_unchanged(tmp_path):
    (tmp_path / "notes.txt").write_text("These are notes, not a database. " * 50)
    with pytest.raises(StoreError, match=r"notes\.txt: .*not an SQLite database"):
        Store(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text().startswith("These")
    other = sqlite3.connect(tmp_path / "music.db")
    other.execute("CREATE TABLE songs (title)")
    other.close()
    with pytest.raises(StoreError, match=r"music\.db: .*\(songs\)"):
        Store(tmp_path / "music.db")
    with pytest.raises(StoreError, match=r"answers\.db: cannot be opened"):
        Store(tmp_path / "nowhere" / "answers.db")


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("sqlite://", "in memory"),
        ("mysql://host/name", "mysql"),
        ("://", "URL"),
        ("postgresql://host:secret/name", "URL"),
        ("postgresql://me:secret@127.0.0.1:1/none", r"me:\*\*\*@127.0.0.1:1/none: cannot be reached"),
    ],
)
def test_an_unusable_url_is_refused_without_showing_the_password(url, wanted):
    with pytest.raises(StoreError, match=wanted) as caught:
        Store(url)
    assert "secret" not in str(caught.value)


def test_a_read_only_file_is_reported(folder, read_only, empty_sqlite):
    file = shutil.copy(empty_sqlite, folder)
    with read_only(), pytest.raises(Unavailable, match=r"answers\.db: cannot be written to"):
        Store(file).studies.create("A", list("ABC"))


def test_a_full_disk_is_reported_and_earlier_writes_stay(sqlite):
    with Store(sqlite) as store:
        study = store.studies.create("A", list("ABC"))
        with store._database.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1")
        with pytest.raises(Unavailable, match="disk is full"):
            store.studies.create("B", [str(number) for number in range(1000)])
        assert store.studies.all() == [study]


@pytest.mark.parametrize("change", ["removed", "replaced", "renamed"])
def test_writes_to_a_removed_or_replaced_file_fail(memory_folder, sqlite, change):
    path = sqlite
    with Store(path) as store:
        study = store.studies.create("A", ["a", "b", "c"]).id
        store.check()
        if change == "replaced":
            shutil.copy(path, memory_folder / "copy.db")
            (memory_folder / "copy.db").replace(path)
        elif change == "renamed":
            path.rename(memory_folder / "renamed.db")
        else:
            path.unlink()
        for call in (store.check, lambda: store.studies.create("B", ["a", "b", "c"])):
            with pytest.raises(Unavailable, match="removed or replaced"):
                call()
        # Open connections can still read, so that studies can be exported.
        assert [each.id for each in store.studies.all()] == [study]
        with ThreadPoolExecutor(4) as pool:
            for read in [pool.submit(store.studies.all) for _ in range(20)]:
                assert read.exception() is None or isinstance(read.exception(), Unavailable)
        assert path.exists() == (change == "replaced")
        if change == "renamed":
            (memory_folder / "renamed.db").rename(path)
            assert store.studies.create("B", ["a", "b", "c"]).title == "B"


def test_a_damaged_file_is_reported(sqlite):
    with sqlite.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 20_000)
    with pytest.raises(Unavailable, match=r"answers\.db: is damaged"):
        Store(sqlite).studies.all()


def test_a_text_that_is_not_utf8_is_reported_as_damage(sqlite):
    with Store(sqlite) as store:
        study = store.studies.create("A", list("ABC")).id
        with store._database.writing() as connection:
            connection.execute(text("UPDATE studies SET title = CAST(x'ff' AS TEXT)"))
        with pytest.raises(StoreError, match=r"answers\.db: is damaged: .*UTF-8"):
            store.studies.get(study)


def test_a_backup_is_the_database_at_one_moment(tmp_path, sqlite):
    copy = tmp_path / "copies" / "backup.db"
    copy.parent.mkdir()
    with Store(sqlite) as store:
        before = [store.studies.create(f"Study {number}", list("ABC")) for number in range(3)]
        for _ in range(2):
            store.back_up(copy)
        store.studies.create("Later", list("ABC"))
        with pytest.raises(StoreError, match="own backup"):
            store.back_up(sqlite)
        with pytest.raises(OSError, match="nowhere"):
            store.back_up(tmp_path / "nowhere" / "backup.db")
    assert [file.name for file in copy.parent.iterdir()] == ["backup.db"]
    with Store(copy) as store:
        assert store.studies.all() == before
    shutil.rmtree(copy.parent)


def test_postgresql_is_backed_up_with_pg_dump(shared_postgresql, tmp_path):
    with Store(shared_postgresql.url) as store, pytest.raises(StoreError, match="pg_dump"):
        store.back_up(tmp_path / "backup.db")

"""A database is made, brought up to date, or left alone with a sentence; its log cannot be changed by accident."""

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
from erkle.store.database.engine import Database
from erkle.store.database.schema import metadata
from erkle.store.database.versioning import VERSION_TABLE


def test_the_first_version_makes_the_tables_of_the_schema_and_runs_once(place):
    for _ in range(2):
        database = Database(place)
        with database.reading() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
            assert compare_metadata(context, metadata) == []
            assert context.get_current_revision() == "1"
            assert set(inspect(connection).get_table_names()) == {*metadata.tables, VERSION_TABLE}
        database.close()


def test_many_may_open_a_new_database_at_once(place):
    def create(number):
        with Store(place) as store:
            return store.studies.create(f"Study {number}", list("ABC")).id

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(create, range(4)))
    with Store(place) as store:
        assert {study.id for study in store.studies.all()} == ids


def test_what_was_written_is_there_when_the_database_is_opened_again(opened, place):
    opened.answer(opened.ask()[0])
    before = list(opened.store.answers.log(opened.study))
    opened.store.close()
    with Store(place) as store:
        assert list(store.answers.log(opened.study)) == before


def test_a_step_that_fails_leaves_the_database_as_it_was(place, monkeypatch):
    statements = versioning.initial_statements
    monkeypatch.setattr(versioning, "initial_statements", lambda dialect: [*statements(dialect), "no SQL"])
    script = versioning._script()
    monkeypatch.setattr(versioning, "_script", lambda: script)
    monkeypatch.setattr(script.get_revision("1").module, "initial_statements", versioning.initial_statements)
    with pytest.raises((DBAPIError, StoreError)):
        Store(place)
    monkeypatch.undo()
    with pytest.raises(StoreError, match="is empty"):
        check_database(place)
    with Store(place) as store:
        assert store.studies.all() == []


def test_a_connection_that_was_left_in_the_middle_is_not_used_again(tmp_path):
    path, kept = tmp_path / "answers.db", []

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
def test_a_driver_that_is_not_installed_gets_a_sentence(opened_by, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"host/name: psycopg is not installed; pip install 'erkle\[postgres\]'"):
        opened_by("postgresql://me@host/name")


@pytest.mark.parametrize("version", ["0002", "999"])
def test_a_database_of_another_version_is_refused_and_left_alone(place, version):
    database = Database(place)
    with database.writing() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '{version}'"))
    database.close()
    with pytest.raises(StoreError, match=f"has tables of version {version}, but this erkle uses version 1; open it"):
        Store(place)


@pytest.mark.parametrize("table", ["answers", "questions", "skips", "refusals"])
def test_no_row_of_the_log_is_changed_or_deleted(opened, table):
    first, second = opened.ask(2)
    opened.answer(first)
    opened.answer(first, choice=2)
    opened.store.answers.skip(opened.study, opened.ann, second.token)
    database = opened.store._database
    column = {"answers": "choice", "questions": "anchor"}.get(table, "reason")
    statements = [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"]
    if not database.is_sqlite:
        statements.append(f"TRUNCATE {table} CASCADE")
    elif table == "answers":
        statements.append(
            "INSERT OR REPLACE INTO answers SELECT study_id, sequence, question_id, 2, 1, '{}', 0 FROM answers"
        )
        statements.append("INSERT OR REPLACE INTO answers SELECT study_id, 9, question_id, 2, 1, '{}', 0 FROM answers")
    for statement in statements:
        with pytest.raises(DBAPIError, match="never changed or deleted"), database.writing() as connection:
            connection.execute(text(statement))
    assert [answer.near for answer in opened.store.answers.log(opened.study)] == [1]


def test_sqlite_flushes_every_commit_and_checks_references(tmp_path):
    database = Database(tmp_path / "answers.db")
    with database.writing() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
        # Locked from the first statement on.
        other = sqlite3.connect(tmp_path / "answers.db", timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
    database.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30000}


def test_postgresql_flushes_every_commit_even_where_it_is_told_not_to(new_postgresql):
    database = Database(new_postgresql + "%20-csynchronous_commit%3Doff")
    with database.reading() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
    database.close()


def test_what_is_not_a_database_of_ours_is_left_as_it_is(tmp_path):
    (tmp_path / "notes.txt").write_text("These are notes, and no database at all. " * 50)
    with pytest.raises(StoreError, match=r"notes\.txt: is not an SQLite database; give another path"):
        Store(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text().startswith("These")
    other = sqlite3.connect(tmp_path / "music.db")
    other.execute("CREATE TABLE songs (title)")
    other.close()
    with pytest.raises(StoreError, match=r"music.db: holds tables of something else \(songs\)"):
        Store(tmp_path / "music.db")
    with pytest.raises(StoreError, match="cannot be opened; check that its folder is there"):
        Store(tmp_path / "nowhere" / "answers.db")


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("sqlite://", "in memory, where answers would be lost"),
        ("mysql://host/name", "of the kind mysql; use SQLite"),
        ("://", "cannot be read"),
        ("postgresql://host:secret/name", "cannot be read"),
        ("postgresql://me:secret@127.0.0.1:1/none", r"me:\*\*\*@127.0.0.1:1/none: cannot be reached"),
    ],
)
def test_a_url_that_cannot_be_used_gets_a_sentence_without_the_password(url, wanted):
    with pytest.raises(StoreError, match=wanted) as caught:
        Store(url)
    assert "secret" not in str(caught.value)


def test_a_file_that_may_not_be_written_gets_a_sentence(folder, read_only):
    Store(folder / "answers.db").close()
    with read_only(), pytest.raises(StoreError, match=r"answers\.db: may not be written to; change its permissions"):
        Store(folder / "answers.db").studies.create("A", list("ABC"))


def test_a_full_disk_gets_a_sentence_and_what_was_acknowledged_stays(tmp_path):
    with Store(tmp_path / "answers.db") as store:
        study = store.studies.create("A", list("ABC"))
        with store._database.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1")
        with pytest.raises(StoreError, match="the disk is full; free some space"):
            store.studies.create("B", [str(number) for number in range(10_000)])
        assert store.studies.all() == [study]


@pytest.mark.parametrize("deed", ["removed", "replaced", "renamed"])
def test_nothing_is_acknowledged_that_would_go_to_a_file_that_was_removed_or_replaced(tmp_path, deed):
    path = tmp_path / "answers.db"
    with Store(path) as store:
        study = store.studies.create("A", ["a", "b", "c"]).id
        store.check()
        if deed == "replaced":
            shutil.copy(path, tmp_path / "copy.db")
            (tmp_path / "copy.db").replace(path)
        elif deed == "renamed":
            path.rename(tmp_path / "elsewhere.db")
        else:
            path.unlink()
        for deed_of_the_store in (store.check, lambda: store.studies.create("B", ["a", "b", "c"])):
            with pytest.raises(Unavailable, match="was removed or replaced while it was in use"):
                deed_of_the_store()
        # What there was can still be read, and exported.
        assert [each.id for each in store.studies.all()] == [study]
        with ThreadPoolExecutor(4) as pool:
            for read in [pool.submit(store.studies.all) for _ in range(20)]:
                assert read.exception() is None or isinstance(read.exception(), Unavailable)
        assert path.exists() == (deed == "replaced")
        if deed == "renamed":
            (tmp_path / "elsewhere.db").rename(path)
            assert store.studies.create("B", ["a", "b", "c"]).title == "B"


def test_a_damaged_file_gets_a_sentence(tmp_path):
    Store(tmp_path / "answers.db").close()
    with (tmp_path / "answers.db").open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 20_000)
    with pytest.raises(StoreError, match="is damaged; restore it from a backup"):
        Store(tmp_path / "answers.db").studies.all()


def test_a_text_that_is_not_utf8_is_damage(tmp_path):
    with Store(tmp_path / "answers.db") as store:
        study = store.studies.create("A", list("ABC")).id
        with store._database.writing() as connection:
            connection.execute(text("UPDATE studies SET title = CAST(x'ff' AS TEXT)"))
        with pytest.raises(StoreError, match=r"answers\.db: is damaged: a text is not UTF-8; run erkle check"):
            store.studies.get(study)


def test_a_backup_is_the_database_at_one_moment(tmp_path):
    copy = tmp_path / "copies" / "backup.db"
    copy.parent.mkdir()
    with Store(tmp_path / "answers.db") as store:
        before = [store.studies.create(f"Study {number}", list("ABC")) for number in range(3)]
        for _ in range(2):
            store.back_up(copy)
        store.studies.create("Later", list("ABC"))
        with pytest.raises(StoreError, match="cannot be its own backup"):
            store.back_up(tmp_path / "answers.db")
        with pytest.raises(OSError, match="create the folder first"):
            store.back_up(tmp_path / "nowhere" / "backup.db")
    assert [file.name for file in copy.parent.iterdir()] == ["backup.db"]
    with Store(copy) as store:
        assert store.studies.all() == before
    shutil.rmtree(copy.parent)


def test_a_backup_of_postgresql_is_for_pg_dump(new_postgresql, tmp_path):
    with Store(new_postgresql) as store, pytest.raises(StoreError, match="back it up with pg_dump"):
        store.back_up(tmp_path / "backup.db")

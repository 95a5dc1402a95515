"""A store is ready if it can write."""

import shutil
import sqlite3
import threading
from contextlib import closing, contextmanager

import pytest
from in_use import answer, checkpoint
from sqlalchemy import text

from erkle.store import Medium, Store, StoreError, Unavailable
from erkle.store.errors import Damaged
from with_media import study_with_media

PAGE = 4096


def test_a_store_is_not_ready_after_a_failed_write_until_one_succeeds(sqlite, monkeypatch):
    with Store(sqlite) as store:
        with store._database.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1")
        with pytest.raises(Unavailable, match="disk is full"):
            store.studies.create("A", [str(number) for number in range(1000)])
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**12, 10**12 - 4096, 4096))
            store.tend()
        with pytest.raises(Unavailable, match="disk is full"):
            store.check()
        store.tend()
        store.check()


def test_a_store_that_cannot_write_is_not_ready_from_its_first_look_on(sqlite, running):
    running[0].close()
    with Store(sqlite) as store:
        with store._database.reading() as connection:
            connection.exec_driver_sql("PRAGMA query_only=ON")
        with pytest.raises(Unavailable, match="cannot be written to"):
            store.tend()
        with pytest.raises(Unavailable, match="cannot be written to"):
            store.check()
        with store._database.reading() as connection:
            connection.exec_driver_sql("PRAGMA query_only=OFF")
        store.tend()
        store.check()


def test_a_refused_write_leaves_a_store_ready(running):
    store = running[0]
    with pytest.raises(StoreError):
        store.studies.create("", list("ABC"))
    store.check()


def test_a_store_that_was_found_damaged_is_not_ready_even_if_other_writes_succeed(sqlite, running):
    store = running[0]
    study_with_media(store, "Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 50_000)})
    media = store.studies.all()[1].id
    checkpoint(sqlite)
    with sqlite.open("r+b") as file:
        data = file.read()
        file.seek(data.index(b"x" * 1000) // PAGE * PAGE)
        file.write(bytes(PAGE))
    with pytest.raises(Damaged):
        store.studies.delete(media)
    answer(*running)
    store.tend()
    with pytest.raises(Damaged):
        store.check()


@contextmanager
def locked(path):
    """A database that another process has locked."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_all_waiting_writes_fail_at_once_if_another_process_locks_the_database(sqlite, monkeypatch):
    monkeypatch.setattr("erkle.store.database.engines.SQLITE_LOCK_SECONDS", 0.5)
    with Store(sqlite) as store, locked(sqlite):
        n_begun, failed = [], []
        transaction = store._database._group_commit._transaction

        @contextmanager
        def counting():
            n_begun.append(1)
            with transaction() as connection:
                yield connection

        store._database._group_commit._transaction = counting

        def create():
            try:
                store.studies.create("A", list("ABC"))
            except Unavailable as error:
                failed.append(error)

        threads = [threading.Thread(target=create) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(failed) == 12
        # The first write alone, and those that queued meanwhile: not one after another.
        assert len(n_begun) < 12
        with pytest.raises(Unavailable):
            store.check()


def test_a_statement_that_is_not_allowed_is_still_an_error_of_the_program(running):
    with pytest.raises(Exception, match="no such table") as caught, running[0]._database.writing() as connection:
        connection.execute(text("SELECT * FROM nowhere"))
    assert not isinstance(caught.value, StoreError)

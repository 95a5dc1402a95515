"""Files that are removed, replaced or damaged: nothing that was acknowledged is lost without a word."""

import os
import random
import shutil
import sqlite3
import stat
import threading
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest
from sqlalchemy import text

from erkle.store import Medium, NoRoom, Query, State, Store, StoreError, Unavailable, check_database
from erkle.store.database.sqlite import soundness
from erkle.store.errors import Damaged

PAGE = 4096


def start(path):
    """Open a store with an open study; return it, the study and a participant."""
    store = Store(path)
    study = store.studies.create("Letters", list("ABCDE")).id
    store.studies.change_state(study, State.OPEN)
    return store, study, store.participants.join(study).id


def answer(store, study, participant, n_answers=1):
    for asked in store.questions.issue(study, participant, [Query(0, 1, 2)] * n_answers):
        store.answers.submit(study, participant, asked.token, 1)


def beside(path, ending):
    return path.with_name(path.name + ending)


def after_a_kill(path, folder):
    """Copy what a kill would leave of a database that is in use."""
    folder.mkdir()
    for file in path.parent.glob(path.name + "*"):
        shutil.copy(file, folder)
    return folder / path.name


def checkpoint(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture
def running(sqlite):
    """A store in use, with a study, a participant and three answers."""
    started = start(sqlite)
    answer(*started, 3)
    yield started
    started[0].close()


def n_answers(path, study):
    with Store(path) as store:
        return len(list(store.answers.log(study)))


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_nothing_is_acknowledged_without_the_log_and_its_index(sqlite, running, ending, change):
    store, study, _ = running
    beside(sqlite, ending).unlink()
    if change == "replaced":
        beside(sqlite, ending).touch()
    with pytest.raises(Unavailable, match=ending):
        answer(*running)
    with pytest.raises(Unavailable, match=ending):
        store.check()
    with pytest.raises(Unavailable, match=ending):
        store.tend()
    # What was there can still be read and exported.
    assert len(list(store.answers.log(study))) == 3


LOG_CHANGES = {
    "emptied": lambda log: b"",
    "cut in half": lambda log: log[: len(log) // 2],
    "overwritten": lambda log: bytes(len(log)),
}


@pytest.mark.parametrize("change", LOG_CHANGES)
def test_nothing_is_acknowledged_that_a_changed_log_would_lose(sqlite, running, memory_folder, change):
    store, study, participant = running
    asked = store.questions.issue(study, participant, [Query(0, 1, 2)] * 3)
    log = beside(sqlite, "-wal")
    log.write_bytes(LOG_CHANGES[change](log.read_bytes()))
    for each in asked:
        with pytest.raises(Unavailable):
            store.answers.submit(study, participant, each.token, 1)
    with pytest.raises(Unavailable, match="-wal was cut short or overwritten"):
        store.check()


def test_a_log_that_another_process_writes_into_the_database_and_empties_is_no_fault(sqlite, running):
    store, study, _ = running
    for _ in range(3):
        checkpoint(sqlite)
        assert beside(sqlite, "-wal").stat().st_size == 0
        store.check()
        answer(*running)
        store.check()
    assert len(list(store.answers.log(study))) == 6


def test_what_a_damaged_log_has_left_does_not_keep_a_store_from_writing(sqlite):
    store, study, participant = start(sqlite)
    store.close()
    beside(sqlite, "-wal").write_bytes(bytes(100_000))
    with Store(sqlite) as store:
        answer(store, study, participant, 3)
        store.check()


@pytest.mark.parametrize("opened_by", [Store, check_database])
def test_a_restored_backup_is_not_mixed_with_the_log_of_another_database(sqlite, running, memory_folder, opened_by):
    store = running[0]
    store.back_up(memory_folder / "backup.db")
    answer(*running, 100)
    path = after_a_kill(sqlite, memory_folder / "left")
    shutil.copy(memory_folder / "backup.db", path)
    before = path.read_bytes(), beside(path, "-wal").read_bytes()
    with pytest.raises(Damaged, match=r"answers\.db-wal belongs to another database; .*\.$"):
        opened_by(path)
    assert (path.read_bytes(), beside(path, "-wal").read_bytes()) == before


@pytest.mark.parametrize("opened_by", [Store, check_database])
def test_the_log_of_a_damaged_database_stays_as_it_is(sqlite, running, memory_folder, opened_by):
    checkpoint(sqlite)
    answer(*running, 20)
    path = after_a_kill(sqlite, memory_folder / "left")
    path.write_bytes(zero_the_middle(path.read_bytes()))
    before = path.read_bytes(), beside(path, "-wal").read_bytes()
    with suppress(Damaged):
        assert opened_by(path).findings
    assert (path.read_bytes(), beside(path, "-wal").read_bytes()) == before


@pytest.mark.parametrize("noticed_by", ["a write", "a check"])
def test_the_content_of_a_removed_log_is_saved(sqlite, running, memory_folder, noticed_by):
    store, study, _ = running
    assert beside(sqlite, "-wal").stat().st_size > 0
    beside(sqlite, "-wal").unlink()
    beside(sqlite, "-shm").unlink()
    with pytest.raises(Unavailable):
        answer(*running) if noticed_by == "a write" else store.check()
    assert n_answers(after_a_kill(sqlite, memory_folder / "left"), study) == 3


def test_a_removed_log_is_not_mixed_with_a_backup_that_was_restored_meanwhile(sqlite, running, memory_folder):
    store = running[0]
    store.back_up(memory_folder / "backup.db")
    answer(*running, 2)
    restored = (memory_folder / "backup.db").read_bytes()
    # The file keeps its inode, as with cp.
    sqlite.write_bytes(restored)
    os.utime(sqlite, ns=(0, 0))
    beside(sqlite, "-wal").unlink()
    with pytest.raises(Unavailable, match="may not be in the database"):
        store.check()
    assert sqlite.read_bytes() == restored


def test_a_commit_to_a_log_that_was_removed_meanwhile_is_not_acknowledged(sqlite, running):
    store, study, participant = running
    [asked] = store.questions.issue(study, participant, [Query(0, 1, 2)])
    checked = store._database.check_files
    n_checks = []

    def check():
        checked()
        n_checks.append(1)
        if len(n_checks) == 1:
            # The last moment before the commit.
            beside(sqlite, "-wal").unlink()

    store._database.check_files = check
    with pytest.raises(Unavailable):
        store.answers.submit(study, participant, asked.token, 1)


def test_sqlite_does_not_remove_the_log_of_an_open_store(sqlite, running):
    store = running[0]
    before = beside(sqlite, "-wal").stat().st_ino
    # Like an unexpected error, which closes its connection.
    store._database.engine.dispose()
    answer(*running)
    store.check()
    assert beside(sqlite, "-wal").stat().st_ino == before


def test_a_new_connection_does_not_use_another_log(sqlite, running):
    store = running[0]
    with ExitStack() as stack:
        # More than the pool keeps open.
        for _ in range(8):
            stack.enter_context(store._database.reading())
        beside(sqlite, "-wal").unlink()
        with pytest.raises(Unavailable):
            stack.enter_context(store._database.reading())
        assert not beside(sqlite, "-wal").exists()


def test_all_files_can_only_be_read_by_their_owner(tmp_path):
    before = os.umask(0)
    try:
        store, study, participant = start(tmp_path / "answers.db")
        answer(store, study, participant)
        store.tend()
        (tmp_path / "backup.db").touch(0o666)
        store.back_up(tmp_path / "backup.db")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    names = [f"answers.db{ending}" for ending in ("", "-wal", "-shm", "-acknowledged")]
    assert modes == dict.fromkeys([*names, "backup.db"], 0o600)


def test_answers_that_are_missing_at_the_start_are_noticed(sqlite, running, memory_folder):
    store, study, participant = running
    store.back_up(memory_folder / "backup.db")
    answer(store, study, participant, 2)
    store.tend()
    store.close()
    shutil.copy(memory_folder / "backup.db", sqlite)
    with pytest.raises(Damaged, match=r"2 acknowledged answers of 1 studies.*answers\.db-acknowledged"):
        Store(sqlite)
    assert [finding for finding in check_database(sqlite).findings if "2 acknowledged" in finding]
    beside(sqlite, "-acknowledged").unlink()
    assert n_answers(sqlite, study) == 3


NOTES = {
    "nothing": b"",
    "no JSON": b"\0" * 28,
    "a list": b'{"last_answers": [1]}',
    "null": b'{"last_answers": null}',
    "infinity": b'{"last_answers": {"1": 1e999}}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("content", [*NOTES, "a folder", "a pipe"])
def test_a_damaged_file_of_acknowledged_answers_is_reported(sqlite, running, content):
    store, study, _ = running
    store.tend()
    store.close()
    noted = beside(sqlite, "-acknowledged")
    noted.unlink()
    match content:
        case "a folder":
            noted.mkdir()
        case "a pipe":
            os.mkfifo(noted)
        case _:
            noted.write_bytes(NOTES[content])
    with pytest.raises(Damaged, match=r"answers\.db-acknowledged"):
        Store(sqlite)
    assert any("answers.db-acknowledged" in finding for finding in check_database(sqlite).findings)
    noted.rmdir() if content == "a folder" else noted.unlink()
    assert n_answers(sqlite, study) == 3


def test_a_study_that_was_lost_is_noticed_and_one_that_was_deleted_is_not(sqlite, running, memory_folder):
    store, study, _ = running
    store.back_up(memory_folder / "backup.db")
    others = [store.studies.create(f"Study {number}", list("ABC")).id for number in range(2)]
    store.tend()
    for other in others:
        store.studies.delete(other)
    store.close()
    with Store(sqlite) as store:
        assert [each.id for each in store.studies.all()] == [study]
    shutil.copy(memory_folder / "backup.db", sqlite)
    with pytest.raises(Damaged, match="0 acknowledged answers of 2 studies"):
        Store(sqlite)


@pytest.mark.parametrize("kept", ["-wal", "-acknowledged"])
@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_an_empty_database_is_not_taken_for_a_new_one_where_a_server_was(sqlite, running, memory_folder, left, kept):
    running[0].tend()
    path = after_a_kill(sqlite, memory_folder / "left")
    for file in path.parent.iterdir():
        if file.name != path.name + kept:
            file.unlink()
    if left == "an empty file":
        path.touch()
    with pytest.raises(Damaged, match=f"answers.db{kept}"):
        Store(path)
    assert beside(path, kept).stat().st_size > 0
    assert path.exists() == (left == "an empty file")


def test_a_database_that_has_lost_its_tables_is_not_taken_for_a_new_one(sqlite, running):
    running[0].tend()
    running[0].close()
    sqlite.unlink()
    with closing(sqlite3.connect(sqlite)) as connection:
        connection.execute("PRAGMA user_version=1")
    with pytest.raises(Damaged, match="is empty"):
        Store(sqlite)


def test_an_empty_file_without_others_becomes_a_new_database(tmp_path):
    (tmp_path / "answers.db").touch()
    with Store(tmp_path / "answers.db") as store:
        assert store.studies.all() == []


def zero_a_page(data):
    page = data.index(b"x" * 1000) // PAGE * PAGE
    return data[:page] + bytes(PAGE) + data[page + PAGE :]


def zero_the_middle(data):
    third = len(data) // PAGE // 3 * PAGE
    return data[:third] + bytes(third) + data[2 * third :]


def flip(data):
    rng, flipped = random.Random(0), bytearray(data)
    for _ in range(2000):
        flipped[rng.randrange(100, len(data))] ^= 255
    return bytes(flipped)


DAMAGES = {
    "a zeroed page": zero_a_page,
    "many zeroed pages": zero_the_middle,
    "half of the file": lambda data: data[: len(data) // 2 // PAGE * PAGE],
    "half a page more": lambda data: data[: len(data) // 2 // PAGE * PAGE + PAGE // 2],
    "only the first page": lambda data: data[:PAGE],
    "2,000 flipped bytes": flip,
    "a damaged schema": lambda data: data.replace(b"CREATE TABLE answers", b"CREATE TABLE \xff\xfe\xfd\xfc\xfb\xfa!"),
    "no header": lambda data: bytes(100) + data[100:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_in_a_sentence(sqlite, damage):
    store, study, participant = start(sqlite)
    answer(store, study, participant, 20)
    store.studies.create("Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 50_000)})
    store.close()
    sqlite.write_bytes(DAMAGES[damage](sqlite.read_bytes()))
    with pytest.raises(Damaged, match=r"answers\.db: .*; .*\.$") as caught:
        Store(sqlite)
    assert "codec" not in str(caught.value)


TAMPERED = {
    "no answers": "DROP TABLE answers",
    "two versions": "INSERT INTO erkle_version VALUES ('another')",
    "no version": "ALTER TABLE erkle_version RENAME COLUMN version_num TO number",
}


@pytest.mark.parametrize("change", TAMPERED)
def test_a_database_whose_tables_were_changed_is_refused_in_a_sentence(sqlite, running, change):
    running[0].tend()
    running[0].close()
    with closing(sqlite3.connect(sqlite)) as connection:
        connection.execute(TAMPERED[change])
        connection.commit()
    with pytest.raises(StoreError, match=r"answers\.db: .*; .*\.$"):
        Store(sqlite)
    with suppress(StoreError):
        assert check_database(sqlite).findings


@pytest.mark.parametrize("opened_by", [Store, check_database])
def test_a_file_of_a_future_format_is_refused_in_a_sentence(sqlite, running, opened_by):
    running[0].close()
    data = bytearray(sqlite.read_bytes())
    # The number of the schema's format (https://sqlite.org/fileformat2.html), of which 4 is the highest.
    data[44:48] = (9).to_bytes(4, "big")
    sqlite.write_bytes(data)
    with pytest.raises(Damaged, match=r"answers\.db: .*; .*\.$"):
        opened_by(sqlite)


def test_a_file_that_was_cut_short_is_refused_although_its_log_is_there(sqlite, running, memory_folder):
    store = running[0]
    store.studies.create("Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 8_000_000)})
    checkpoint(sqlite)
    answer(*running)
    left = after_a_kill(sqlite, memory_folder / "left")
    assert beside(left, "-wal").stat().st_size > 0
    os.truncate(left, left.stat().st_size // 2)
    with pytest.raises(Damaged, match="is cut short"):
        Store(left)


def test_a_check_that_takes_too_long_ends_without_findings(sqlite, running, monkeypatch):
    running[0].studies.create("Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 10_000_000)})
    monkeypatch.setattr(soundness, "SECONDS", 0.001)
    with Store(sqlite) as store:
        assert len(store.studies.all()) == 2


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
    store.studies.create("Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 50_000)})
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


def test_an_upload_leaves_room_for_answers(running, monkeypatch):
    store = running[0]
    free = shutil._ntuple_diskusage(10**12, 10**12 - 250_000_000, 250_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    store.studies.create("Small", list("ABC"), media={"a.png": Medium("image/png", b"x" * 2_000_000)})
    for upload in (
        lambda: store.studies.create("Large", list("ABC"), media={"a.png": Medium("image/png", b"x" * 30_000_000)}),
        lambda: store.check_room(30_000_000),
    ):
        with pytest.raises(NoRoom, match=r"250 MB .* 60 MB, and 200 MB"):
            upload()
    answer(*running)
    assert [each.title for each in store.studies.all()] == ["Letters", "Small"]


def test_the_log_of_a_linked_database_is_next_to_the_real_file(sqlite, tmp_path):
    (tmp_path / "link.db").symlink_to(sqlite)
    store, study, participant = start(tmp_path / "link.db")
    beside(sqlite, "-wal").unlink()
    with store, pytest.raises(Unavailable):
        answer(store, study, participant)


def test_a_file_with_two_names_is_refused(sqlite, memory_folder):
    Store(sqlite).close()
    (memory_folder / "other").mkdir()
    (memory_folder / "other" / "answers.db").hardlink_to(sqlite)
    for path in (sqlite, memory_folder / "other" / "answers.db"):
        with pytest.raises(StoreError, match="hard links"):
            Store(path)
    sqlite.unlink()
    Store(memory_folder / "other" / "answers.db").close()


def test_a_statement_that_is_not_allowed_is_still_an_error_of_the_program(running):
    with pytest.raises(Exception, match="no such table") as caught, running[0]._database.writing() as connection:
        connection.execute(text("SELECT * FROM nowhere"))
    assert not isinstance(caught.value, StoreError)

"""Files that are removed or replaced: nothing that was acknowledged is lost without a word."""

import os
import stat
from contextlib import ExitStack

import pytest
from in_use import after_a_kill, answer, beside, n_answers, start

from erkle.store import Query, Store, StoreError, Unavailable


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

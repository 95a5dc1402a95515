"""A log that was changed, or belongs to another database, loses nothing that is acknowledged."""

import shutil
from contextlib import suppress

import pytest
from in_use import after_a_kill, answer, beside, checkpoint, start, zero_the_middle

from erkle.store import Query, Store, Unavailable, check_database
from erkle.store.errors import Damaged

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


def test_a_process_that_had_the_database_open_refuses_the_log_of_another_database_too(sqlite, memory_folder):
    store, study, participant = start(sqlite)
    store.back_up(memory_folder / "backup.db")
    answer(store, study, participant, 100)
    left = after_a_kill(sqlite, memory_folder / "left")
    store.close()
    shutil.copy(memory_folder / "backup.db", sqlite)
    shutil.copy(beside(left, "-wal"), sqlite.parent)
    with pytest.raises(Damaged):
        Store(sqlite)


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

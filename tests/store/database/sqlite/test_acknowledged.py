"""Answers that are missing at a start are noticed."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from in_use import after_a_kill, answer, beside, n_answers

from erkle.store import Store, check_database
from erkle.store.errors import Damaged


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

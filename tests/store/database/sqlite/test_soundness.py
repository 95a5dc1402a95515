"""Damaged files are refused at the start, in a sentence."""

import os
import random
import sqlite3
from contextlib import closing, suppress

import pytest
from in_use import PAGE, after_a_kill, answer, beside, checkpoint, start, zero_the_middle

from erkle.store import Medium, Store, StoreError, check_database
from erkle.store.database.sqlite import soundness
from erkle.store.errors import Damaged
from with_media import study_with_media


def zero_a_page(data):
    page = data.index(b"x" * 1000) // PAGE * PAGE
    return data[:page] + bytes(PAGE) + data[page + PAGE :]


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
    study_with_media(store, "Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 50_000)})
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
    study_with_media(store, "Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 8_000_000)})
    checkpoint(sqlite)
    answer(*running)
    left = after_a_kill(sqlite, memory_folder / "left")
    assert beside(left, "-wal").stat().st_size > 0
    os.truncate(left, left.stat().st_size // 2)
    with pytest.raises(Damaged, match="is cut short"):
        Store(left)


def test_a_check_that_takes_too_long_ends_without_findings(sqlite, running, monkeypatch):
    study_with_media(running[0], "Media", list("ABC"), media={"a.png": Medium("image/png", b"x" * 10_000_000)})
    monkeypatch.setattr(soundness, "SECONDS", 0.001)
    with Store(sqlite) as store:
        assert len(store.studies.all()) == 2

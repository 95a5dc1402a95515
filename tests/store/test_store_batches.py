"""Large imports are written in batches, and still happen completely or not at all, even if the process is killed."""

import os
import signal
import subprocess
import sys

import pytest
from all_rows import all_rows
from sqlalchemy import event

from erkle.store import Imported, Medium, Query, State, Store
from erkle.store.imported_rows import BATCH
from erkle.store.media import PART
from erkle.store.unfinished import ABANDONED

SOUND = Medium("audio/mpeg", bytes(range(256)) * 4096 + b"end")


def rows(n):
    return [Imported(f"p{i % 7}", i % 5, (i + 1) % 5, (i + 2 + i % 2) % 5, parameters={"age": i % 7}) for i in range(n)]


def triples(store, study):
    return [(answer.anchor, answer.near, answer.far) for answer in store.answers.log(study)]


def sizes_of_transactions(store):
    """The number of answers, of batches or of bytes of media that each later transaction writes."""
    sizes, open_ = [], [0]

    def executed(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith("INSERT INTO answers"):
            open_[0] += len(parameters) if executemany else 1
        if statement.startswith("INSERT INTO media_parts"):
            values = parameters.values() if isinstance(parameters, dict) else parameters
            # Both drivers wrap bytes.
            open_[0] += sum(len(value.obj) for value in values if hasattr(value, "obj"))

    def committed(connection):
        sizes.append(open_[0])
        open_[0] = 0

    event.listen(store._database.engine, "before_cursor_execute", executed)
    event.listen(store._database.engine, "commit", committed)
    return sizes


def test_answers_that_are_appended_in_batches_give_the_same_log(opened):
    store, study, _ = opened
    given = rows(2 * BATCH + 5)
    sizes = sizes_of_transactions(store)
    assert store.imports.append(study, iter(given)) == len(given)
    assert [size for size in sizes if size] == [BATCH, BATCH, 5]
    assert triples(store, study) == [row[1:4] for row in given]
    _, *imported = store.participants.all(study)
    assert [each.parameters for each in imported] == [{"age": age} for age in range(7)]
    assert all_rows(store)["import_batches"] == []
    assert opened.answer(opened.ask()[0]).sequence == len(given) + 1


def test_an_invalid_answer_in_a_late_batch_refuses_the_whole_import(opened):
    store, study, _ = opened
    before = all_rows(store)
    with pytest.raises(ValueError, match=f"row {BATCH + 1}"):
        store.imports.append(study, [*rows(BATCH + 1), Imported("p", 0, 1, 2, left=4)])
    assert all_rows(store) == before
    with pytest.raises(ZeroDivisionError):
        store.imports.append(study, (row if number < BATCH else 1 / 0 for number, row in enumerate(rows(2 * BATCH))))
    assert all_rows(store) == before


def test_a_closed_study_refuses_batches(opened):
    store, study, _ = opened
    store.studies.change_state(study, State.CLOSED)
    before = all_rows(store)
    with pytest.raises(ValueError, match="closed"):
        store.imports.append(study, rows(3))
    assert all_rows(store) == before


def test_answers_that_arrive_during_an_import_keep_their_place(opened):
    store, study, ann = opened
    [asked] = opened.ask()

    def given():
        yield from rows(BATCH)
        store.answers.submit(study, ann, asked.token, 1)
        yield from rows(BATCH)

    store.imports.append(study, given())
    assert triples(store, study) == [(0, 1, 2), *[row[1:4] for row in rows(BATCH) * 2]]


def test_nobody_sees_an_unfinished_study(store):
    with store.unfinished.create("Letters", list("ABC")) as study:
        assert store.studies.all() == []
        assert store.studies.totals().studies == {}
        store.imports.append(study.id, [Imported("p", 0, 1, 2)])
    assert [each.id for each in store.studies.all()] == [study.id]
    assert triples(store, study.id) == [(0, 1, 2)]


def test_a_study_that_cannot_be_finished_leaves_nothing_behind(store):
    def interrupted():
        with store.unfinished.create("Letters", list("ABC")) as study:
            store.unfinished.add_media(study.id, {"a.mp3": SOUND})
            store.imports.append(study.id, [Imported("p", 0, 1, 2)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not any(all_rows(store).values())


def test_media_are_written_a_few_megabytes_at_a_time(store):
    media = {f"{number}.mp3": Medium("audio/mpeg", bytes(3_000_000 + number)) for number in range(4)}
    with store.unfinished.create("Sounds", list("ABC")) as study:
        sizes = sizes_of_transactions(store)
        store.unfinished.add_media(study.id, media)
    assert sum(sizes) == sum(len(medium.data) for medium in media.values())
    assert max(sizes) <= 5_000_000
    assert {name: store.media.get(study.id, name) for name in media} == media


@pytest.mark.parametrize(
    ("start", "end"), [(0, len(SOUND.data)), (5, 6), (PART - 1, PART + 1), (3 * PART, 4 * PART + 3)]
)
def test_a_piece_of_a_medium_is_read_without_the_rest(store, start, end):
    study = store.studies.create("Sounds", list("ABC"), media={"a.mp3": SOUND}).id
    statements = []
    event.listen(store._database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert store.media.info(study, "a.mp3") == ("audio/mpeg", len(SOUND.data))
    assert not any("media_parts" in statement for statement in statements)
    assert b"".join(store.media.read(study, "a.mp3", start, end)) == SOUND.data[start:end]
    n_parts = (end - 1) // PART - start // PART + 1
    assert sum("media_parts" in statement for statement in statements) == n_parts


# A process that imports into a study and is killed: while it reads the answers, or after it has moved two batches.
KILLED = """
import os, signal, sys
from sqlalchemy import event
from erkle.store import Imported, Medium, Store

location, study, when = sys.argv[1:]
store = Store(location)

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def answers():
    for number in range(2500):
        if when == "staging" and number == 1500:
            die()
        yield Imported(f"p{number % 7}", 0, 1, 2)

moved = []

def executed(connection, cursor, statement, *_):
    if statement.startswith("DELETE FROM import_batches"):
        moved.append(statement)
    if len(moved) == 3:
        die()

if when == "moving":
    event.listen(store._database.engine, "after_cursor_execute", executed)
if when == "a new study":
    with store.unfinished.create("Letters", list("ABCDE")) as new:
        store.unfinished.add_media(new.id, {"a.mp3": Medium("audio/mpeg", bytes(300_000))})
        store.imports.answers(new.id, [Imported("p", 0, 1, 2)])
        die()
store.imports.append(study, answers())
"""


def killed(location, study, when):
    ended = subprocess.run([sys.executable, "-c", KILLED, str(location), study, when], env=os.environ, check=False)
    assert ended.returncode == -signal.SIGKILL


def test_an_import_that_is_killed_before_it_is_certain_is_undone(opened, location, clock):
    store, study, _ = opened
    before = all_rows(store)
    # The process has the real time.
    for when in ("staging", "a new study"):
        killed(location, study, when)
    assert all_rows(store) != before
    assert (store.answers.last(study), len(store.studies.all())) == (0, 1)
    with Store(location) as later:
        later.recover()
    assert all_rows(store) != before, "another process may still be importing"
    with Store(location, lambda: 2 * 10**15 + ABANDONED) as much_later:
        much_later.recover()
    assert all_rows(store) == before


def test_an_import_that_is_killed_after_it_is_certain_is_completed(opened, location):
    store, study, ann = opened
    killed(location, study, "moving")
    assert store.answers.last(study) == 2 * BATCH
    [asked] = store.questions.issue(study, ann, [Query(3, 1, 2)])
    store.answers.submit(study, ann, asked.token, 1)
    store.studies.change_state(study, State.CLOSED)
    for _ in range(2):
        store.recover()
        assert triples(store, study) == [*[(0, 1, 2)] * 2000, (3, 1, 2), *[(0, 1, 2)] * 500]
    assert all_rows(store)["import_batches"] == []

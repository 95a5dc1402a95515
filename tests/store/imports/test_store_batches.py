"""Large imports are written in batches, and still happen completely or not at all, even if the process is killed."""

import os
import subprocess
import sys
import threading
import time

import pytest
from all_rows import all_rows
from sqlalchemy import event

from erkle.store import Imported, Medium, Query, State, Store, Unavailable, check_database
from erkle.store.imports.rows import BATCH
from erkle.store.imports.unfinished import ABANDONED
from erkle.store.media import PART
from with_media import study_with_media

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


def test_between_two_batches_of_a_large_import_others_can_write(opened):
    """A writer that has waited comes first. Otherwise the import would lock the database again before anybody else."""
    store, study, _ = opened
    n_batches = 12
    thread = threading.Thread(target=store.imports.append, args=(study, rows(n_batches * BATCH)))
    thread.start()
    n_written = 0
    while thread.is_alive():
        opened.ask()
        n_written += 1
    # Each batch is written twice: beside the log, then to the log.
    assert n_written >= n_batches


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


def test_whoever_is_excluded_in_one_row_is_excluded_wherever_a_batch_ends(store):
    for places in ([0], [BATCH], [0, BATCH], [2 * BATCH]):
        study = store.studies.create("Letters", list("ABC")).id
        given = [Imported("eve" if row % BATCH == 0 else "ann", 0, 1, 2) for row in range(2 * BATCH + 1)]
        for place in places:
            given[place] = given[place]._replace(excluded=True)
        store.imports.append(study, given)
        assert [each.excluded for each in store.participants.all(study)] == [True, False]
        assert len(triples(store, study)) == 2 * BATCH - 2
        assert store.studies.get(study).roster == (0 not in places)


def test_the_answers_of_an_unfinished_study_are_not_moved_by_others(store):
    with store.unfinished.create("Letters", list("ABCDE")) as study:
        store.imports._stage(study.id, "import", rows(3), 0)
        store.imports._make_ready(study.id, "import", 1)
        assert not store.recover()
        assert store.answers.last(study.id) == 0


def test_an_import_that_was_taken_for_abandoned_says_that_it_was_interrupted(store, clock):
    def interrupted():
        with store.unfinished.create("Letters", list("ABCDE")) as study:
            clock.advance(301)
            store.recover()
            store.imports.append(study.id, rows(3))

    with pytest.raises(Unavailable, match="interrupted"):
        interrupted()
    assert not any(all_rows(store).values())


def test_nobody_sees_an_unfinished_study(store):
    with store.unfinished.create("Letters", list("ABC")) as study:
        assert store.studies.all() == []
        assert store.studies.totals(()).studies == {}
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
    study = study_with_media(store, "Sounds", list("ABC"), media={"a.mp3": SOUND}).id
    statements = []
    event.listen(store._database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert store.media.info(study, "a.mp3") == ("audio/mpeg", len(SOUND.data))
    assert not any("media_parts" in statement for statement in statements)
    assert b"".join(store.media.read(study, "a.mp3", start, end)) == SOUND.data[start:end]
    n_parts = (end - 1) // PART - start // PART + 1
    assert sum("media_parts" in statement for statement in statements) == n_parts


# Processes that import and are killed: while they read the answers, while they write a new study, or after they have
# moved two batches.
KILLED = """
import os, signal, sys
from sqlalchemy import event
from erkle.store import Imported, Medium, Store

location, study = sys.argv[1:]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def answers(fatal):
    for number in range(2500):
        if number == fatal:
            die()
        yield Imported(f"p{number % 7}", 0, 1, 2)

def while_staging(store):
    store.imports.append(study, answers(1500))

def while_creating(store):
    with store.unfinished.create("Letters", list("ABCDE")) as new:
        store.unfinished.add_media(new.id, {"a.mp3": Medium("audio/mpeg", bytes(300_000))})
        store.imports.append(new.id, [Imported("p", 0, 1, 2)])
        die()

def while_moving(store):
    moved = []

    def executed(connection, cursor, statement, *_):
        moved.extend([statement] if statement.startswith("DELETE FROM import_batches") else [])
        if len(moved) == 3:
            die()

    event.listen(store._database.engine, "after_cursor_execute", executed)
    store.imports.append(study, answers(None))

for work in (while_staging, while_creating, while_moving):
    process = os.fork()
    if process == 0:
        work(Store(location))
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
"""


def test_a_killed_import_is_undone_or_if_all_answers_were_saved_completed(opened, location):
    store, study, ann = opened
    others = ("studies", "objects", "media", "media_parts", "leases", "unfinished_studies", "import_batches")
    before = {table: all_rows(store)[table] for table in others}
    subprocess.run([sys.executable, "-c", KILLED, str(location), study], env=os.environ, check=True)
    assert (store.answers.last(study), len(store.studies.all())) == (2 * BATCH, 1)
    [asked] = store.questions.issue(study, ann, [Query(3, 1, 2)])
    store.answers.submit(study, ann, asked.token, 1)
    store.studies.change_state(study, State.PAUSED)
    with Store(location) as now:
        for _ in range(2):
            while now.recover():
                pass
            assert triples(store, study) == [*[(0, 1, 2)] * 2000, (3, 1, 2), *[(0, 1, 2)] * 500]
    # Another process may still be importing.
    assert len(all_rows(store)["unfinished_studies"]) == len(all_rows(store)["import_batches"]) == 1
    with Store(location, lambda: time.time_ns() // 1000 + ABANDONED + 10**6) as later:
        while later.recover():
            pass
    store.studies.change_state(study, State.OPEN)
    assert {table: all_rows(store)[table] for table in others} == before
    assert check_database(location).findings == []

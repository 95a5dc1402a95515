"""A study is deleted with all its rows and no others, in batches, even if the process is killed."""

import os
import signal
import subprocess
import sys
import time

import pytest
from all_rows import all_rows
from sqlalchemy import event

from erkle.store import Imported, Medium, Query, State, Store, Unknown, check_database
from erkle.store.errors import Busy
from erkle.store.imports.unfinished import ABANDONED
from erkle.store.media import PART
from with_media import study_with_media

# More than a batch of answers, of questions that were skipped or not answered, and of parts of media.
N_ANSWERS, N_QUESTIONS, N_PARTS = 1500, 1100, 20


@pytest.fixture
def large(opened):
    """The id of an open study with so many rows that it is deleted in several batches."""
    store = opened.store
    media = {"a.mp3": Medium("audio/mpeg", bytes(N_PARTS * PART))}
    study = study_with_media(store, "Large", list("ABCDE"), media=media).id
    store.imports.append(study, [Imported(f"p{number}", 0, 1, 2) for number in range(N_ANSWERS)])
    store.studies.change_state(study, State.OPEN)
    bob = store.participants.join(study).id
    asked = store.questions.issue(study, bob, [Query(0, 1, 2)] * N_QUESTIONS)
    store.answers.skip(study, bob, asked[0].token)
    opened.answer(opened.ask()[0])
    return study


def test_a_large_study_is_deleted_in_batches_between_which_others_write(opened, large):
    store, study, _ = opened
    n_rows, refused, answered, changed = [0], [], [], []

    def executed(connection, cursor, statement, *_):
        if statement.startswith("DELETE FROM"):
            n_rows[0] += cursor.rowcount

    def committed(connection):
        changed.append(n_rows[0])
        n_rows[0] = 0

    event.listen(store._database.engine, "after_cursor_execute", executed)
    event.listen(store._database.engine, "commit", committed)
    delete_batch = store.studies._delete_batch

    def between(hidden):
        try:
            store.studies.get(large)
        except Unknown as error:
            refused.append(error)
        answered.append(opened.answer(opened.ask()[0]).sequence)
        return delete_batch(hidden)

    store.studies._delete_batch = between
    store.studies.delete(large)
    assert [each.id for each in store.studies.all()] == [study]
    assert len(refused) == len(answered) >= 4
    assert answered == list(range(2, len(answered) + 2))
    assert sum(changed) > N_ANSWERS + N_QUESTIONS
    assert max(changed) < 2500


def test_deleting_a_large_study_deletes_all_its_rows_and_no_others(opened):
    store = opened.store
    opened.answer(opened.ask(2)[0])
    before = all_rows(store)
    study = study_with_media(store, "Large", list("ABC"), media={"a.mp3": Medium("audio/mpeg", bytes(20 * PART))}).id
    store.imports.append(study, [Imported(f"p{number % 1100}", 0, 1, 2) for number in range(N_ANSWERS)])
    store.studies.delete(study)
    assert all_rows(store) == before
    with pytest.raises(Unknown, match=study):
        store.studies.delete(study)


# A process that is killed when it has deleted some batches.
KILLED = """
import os, signal, sys
from erkle.store import Store

location, study, n_batches = sys.argv[1:]
store, left = Store(location), [int(n_batches)]
delete_batch = store.studies._delete_batch

def some(hidden):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return delete_batch(hidden)

store.studies._delete_batch = some
store.studies.delete(study)
"""


@pytest.mark.parametrize("n_batches", [0, 3])
def test_a_killed_deletion_is_completed_and_meanwhile_nobody_sees_the_study(opened, location, large, n_batches):
    store, study, _ = opened
    # A server has noted how many answers there are.
    store.tend()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(location), large, str(n_batches)], env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    assert [each.id for each in store.studies.all()] == [study]
    for call in (store.studies.get, store.studies.counts, store.participants.join, store.media.names):
        with pytest.raises(Unknown, match=large):
            call(large)
    assert check_database(location).findings == []
    assert [len(all_rows(store)[name]) for name in ("studies", "unfinished_studies")] == [2, 1]
    with Store(location, lambda: time.time_ns() // 1000 + ABANDONED + 10**6) as later:
        while later.recover():
            pass
        assert [len(rows) for name, rows in all_rows(later).items() if name in ("studies", "answers")] == [1, 1]
        assert not any(
            all_rows(later)[name] for name in ("unfinished_studies", "media", "media_parts", "features", "skips")
        )
    assert check_database(location).findings == []


def test_a_deletion_that_the_database_interrupts_is_completed_later(opened, large, clock):
    store, study, _ = opened

    def busy(hidden):
        raise Busy("locked")

    store.studies._delete_batch = busy
    store.studies.delete(large)
    assert [each.id for each in store.studies.all()] == [study]
    assert not store.recover()
    clock.advance(301)
    while store.recover():
        pass
    assert len(all_rows(store)["studies"]) == 1

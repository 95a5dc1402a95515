"""SQLite databases that stores have used."""

import shutil
import sqlite3
from contextlib import closing

from erkle.store import Query, State, Store

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


def n_answers(path, study):
    with Store(path) as store:
        return len(list(store.answers.log(study)))


def zero_the_middle(data):
    third = len(data) // PAGE // 3 * PAGE
    return data[:third] + bytes(third) + data[2 * third :]

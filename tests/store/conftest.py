"""Every law of the store holds on SQLite and on a real PostgreSQL, which comes in a wheel."""

import os
import pwd
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from erkle.store import Query, State, Store


class Opened(NamedTuple):
    """An open store with an open study of five objects, and somebody to ask."""

    store: Store
    study: str
    ann: str

    def ask(self, n=1, participant=None, **options):
        return self.store.questions.issue(self.study, participant or self.ann, [Query(0, 1, 2)] * n, **options)

    def answer(self, asked, choice=1, **options):
        return self.store.answers.submit(self.study, asked.participant, asked.token, choice, **options)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self):
        self.time = 1_700_000_000_000_000

    def __call__(self):
        return self.time

    def advance(self, seconds):
        self.time += round(seconds * 1e6)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where an empty database may be."""
    return str(tmp_path / "answers.db") if request.param == "sqlite" else request.getfixturevalue("new_postgresql")


@pytest.fixture
def folder():
    """An empty folder that everybody may enter, unlike those of pytest, which only their owner may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def read_only(folder):
    """A context in which we may read the folder and its files, and not write to them."""

    @contextmanager
    def read_only():
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        me = os.geteuid()
        if me == 0:
            # Root may write everywhere.
            nobody = pwd.getpwnam("nobody").pw_uid
            os.setresuid(nobody, nobody, 0)
        try:
            yield
        finally:
            if me == 0:
                os.setresuid(0, 0, 0)
            folder.chmod(0o755)

    return read_only


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(place, clock):
    with Store(place, clock) as store:
        yield store


@pytest.fixture
def opened(store):
    study = store.studies.create("Letters", list("ABCDE")).id
    store.studies.change_state(study, State.OPEN)
    return Opened(store, study, store.participants.join(study, {"PROLIFIC_PID": "ann"}).id)

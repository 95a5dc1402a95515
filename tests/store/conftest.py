"""Databases for the tests of the store: on SQLite, and on a real PostgreSQL that comes in a wheel."""

import os
import pwd
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from erkle.store import Query, State, Store
from erkle.store.database import schema


class Opened(NamedTuple):
    """An open store with an open study of five objects and one participant."""

    store: Store
    study: str
    ann: str

    def ask(self, n=1, participant=None, **options):
        """Issue ``n`` questions to a participant, by default Ann."""
        return self.store.questions.issue(self.study, participant or self.ann, [Query(0, 1, 2)] * n, **options)

    def answer(self, asked, choice=1, **options):
        """Answer an issued question."""
        return self.store.answers.submit(self.study, asked.participant, asked.token, choice, **options)


class SharedSchema:
    """A PostgreSQL schema with tables that tests share: deleting all rows is much faster than creating tables."""

    def __init__(self, url, connection):
        self.url, self._connection = url, connection
        statements = [f"DELETE FROM {name}" for name in schema.metadata.tables]
        statements += [f"ALTER SEQUENCE {name}_id_seq RESTART" for name in ("studies", "participants", "questions")]
        self._statements = "; ".join(statements)

    def empty(self):
        """Delete all rows."""
        self.execute(self._statements)

    def execute(self, statement):
        """Execute a statement without triggers and references."""
        self._connection.execute(statement)


class Clock:
    """A clock that advances only when a test says so."""

    def __init__(self):
        self.time = 1_700_000_000_000_000

    def __call__(self):
        return self.time

    def advance(self, seconds):
        self.time += round(seconds * 1e6)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_location(request, tmp_path):
    """The location of a database without tables."""
    return str(tmp_path / "new.db") if request.param == "sqlite" else request.getfixturevalue("new_postgresql")


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request):
    """The location of a database with empty tables; tests must not change the tables themselves."""
    if request.param == "postgresql":
        shared = request.getfixturevalue("shared_postgresql")
        shared.empty()
        return shared.url
    return request.getfixturevalue("sqlite")


@pytest.fixture
def sqlite(empty_sqlite, memory_folder):
    """An SQLite file with empty tables."""
    return shutil.copy(empty_sqlite, memory_folder / "answers.db")


@pytest.fixture
def memory_folder():
    """An empty folder, in memory if possible: SQLite flushes every commit, which takes long on a busy disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory):
    """An SQLite file with empty tables; copying it is three times faster than creating the tables."""
    file = tmp_path_factory.mktemp("empty") / "answers.db"
    Store(file).close()
    return file


@pytest.fixture(scope="session")
def shared_postgresql(postgresql):
    """A schema with tables, which may have rows of earlier tests."""
    import psycopg

    url = f"{postgresql}&options=-csearch_path%3Dshared"
    with psycopg.connect(url, autocommit=True) as connection:
        # The role turns off triggers and references.
        connection.execute("CREATE SCHEMA shared; SET session_replication_role = replica; SET lock_timeout = '10s'")
        Store(url).close()
        yield SharedSchema(url, connection)


@pytest.fixture
def folder():
    """An empty folder that every user may enter; pytest's own folders are only for their owner."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def read_only(folder):
    """A context in which the folder and its files can be read but not written."""

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
def store(location, clock):
    with Store(location, clock) as store:
        yield store


@pytest.fixture
def opened(store):
    def work(transaction):
        study = transaction.studies.create("Letters", list("ABCDE")).id
        transaction.studies.change_state(study, State.OPEN)
        return study, transaction.participants.join(study, {"PROLIFIC_PID": "ann"}).id

    return Opened(store, *store.transact(work))

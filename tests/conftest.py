"""One profile for all properties, the command in this process, and no data but what a test makes."""

import sys
from typing import NamedTuple

import pytest
from hypothesis import settings

from erkle.cli import main

# The same examples every time, and no deadline, for the first call compiles.
settings.register_profile("erkle", deadline=None, derandomize=True, database=None)
settings.load_profile("erkle")


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


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
    """The folder that data is fetched to, empty, on a machine without other data, in a hurry."""
    monkeypatch.delenv("ERKLE_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)  # between two attempts
    monkeypatch.setattr("erkle.datasets.copies.platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"

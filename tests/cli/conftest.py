"""Fixtures of the tests of `erkle learn`: an answer file, and a report without pictures."""

import pytest

from commands import answers_of, write


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    """A file of 1,000 answers about 20 objects, in random order."""
    return write(tmp_path_factory.mktemp("answers") / "answers.csv", answers_of(20, 1000))


@pytest.fixture
def without_pictures(monkeypatch):
    """Write empty files in place of pictures, which take most of the time of a short run."""
    for name in ("map_figure", "errors_figure", "reliability_figure"):
        monkeypatch.setattr(f"erkle.cli.learn.report.{name}", lambda *_, **__: None)
    monkeypatch.setattr("erkle.cli.learn.report.save", lambda figure, path: path.touch())

"""Run the examples of README.md and of the pages under docs/ as tests, one test per page.

The examples of a page build on each other, so a page is one test. It runs in its own folder, which contains an
``answers.csv``. A ``python`` block must run. A ``pycon`` block must print what the page shows, with numbers to the
digits shown. Every command of a ``console`` block must succeed and print the lines shown, in that order, with numbers
within 5 %.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.evaluators.doctest import NUMBER, DocTestEvaluator
from sybil.example import SybilFailure
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

# One BLAS thread in each process, set before NumPy is imported: with two, parallel test workers compete for the cores,
# and small matrices take thirty times as long.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

ROOT = Path(__file__).parent
# This file belongs to mkdocstrings, and imports it.
collect_ignore = ["docs/doctests.py"]

_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | NUMBER
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# Characters that need a shell: pipes, redirections, several commands.
_SHELL = re.compile(r"[|<>;&$`*]")


class Sessions:
    """Parser of ``pycon`` blocks."""

    def __init__(self) -> None:
        self._examples = DocTestStringParser(DocTestEvaluator(_FLAGS))
        self._blocks = CodeBlockParser("pycon", evaluator=lambda example: None)

    def __call__(self, document: Document) -> Iterable[Region]:
        """Yield one region for each prompt."""
        for block in self._blocks(document):
            for example in self._examples(block.parsed, document.path):
                example.adjust(block, block.parsed)
                yield example


def run_console(example: Example) -> str | None:
    """Run the commands of a ``console`` block, and report the first line that is missing from their output."""
    for command, *wanted in _commands(example.parsed):
        in_process = command.startswith("erkle ") and not _SHELL.search(command)
        status, output = _run_erkle(command) if in_process else _run_shell(command)
        printed = " ".join(output.split())
        if status:
            return f"{command}\nended with status {status}:\n{printed}"
        start = 0
        for line in filter(None, (" ".join(line.split()) for line in wanted)):
            found = re.compile(_pattern(line)).search(printed, start)
            if not (found and _is_close(line, found)):
                return f"{command}\ndid not print\n{line}\nbut\n{printed}"
            start = found.end()
    return None


def _run_erkle(command: str) -> tuple[int, str]:
    """Exit status and output of the `erkle` command, run in this process to save the time of a start."""
    from erkle.cli import main

    errors, facts = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", shlex.split(command)),
        mock.patch.dict(os.environ, {"COLUMNS": "100"}),
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(facts),
    ):
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
    return status, errors.getvalue() + facts.getvalue()


def _run_shell(command: str) -> tuple[int, str]:
    """Exit status and output of a shell command."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    result = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    return result.returncode, result.stderr + result.stdout


def _pattern(line: str) -> str:
    """A pattern that finds a line with any numbers in it, and with any text instead of three dots."""
    words = [re.escape(part).replace(r"\.\.\.", ".*?") for part in _NUMBER.split(line)]
    return f"({_NUMBER.pattern})".join(words)


def _is_close(line: str, found: re.Match[str]) -> bool:
    """Whether the numbers found are within 5 % of those of the line. Times are ignored."""
    pairs = zip(_NUMBER.findall(line), found.groups(), strict=True)
    numbers = [[float(text.replace(",", "")) for text in pair] for pair in pairs if ":" not in "".join(pair)]
    return all(abs(got - want) <= 0.05 * want for want, got in numbers)


def _commands(block: str) -> Iterator[list[str]]:
    """Each command of a block, followed by the lines that it must print."""
    for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        # A backslash at the end of a line continues the command.
        command, *lines = re.sub(r"\\\n", "", piece).splitlines()
        yield [command, *lines]


PAGES = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=_FLAGS),
        Sessions(),
        CodeBlockParser("console", evaluator=run_console),
    ],
)


class Page(pytest.File):
    """A page of Markdown."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test if the page has examples."""
        document = PAGES.parse(self.path)
        if document.regions:
            yield Examples.from_parent(self, name="examples")


class Examples(pytest.Item):
    """All examples of a page, in order."""

    def runtest(self) -> None:
        """Run the examples in a new folder."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("answers.csv").write_text(_city_answers(), encoding="utf-8")
            for example in PAGES.parse(self.path):
                example.evaluate()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:
        """Show the message of a failed example, and the traceback of an error in an example."""
        return str(excinfo.value) if excinfo.errisinstance(SybilFailure) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the test as pytest shows it."""
        return self.path, 0, f"examples of {self.path.relative_to(ROOT)}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect README.md and the pages under docs/ as tests."""
    inside = file_path.is_relative_to(ROOT / "docs") or file_path == ROOT / "README.md"
    return Page.from_parent(parent, path=file_path) if inside and file_path.suffix == ".md" else None


@functools.cache
def _city_answers() -> str:
    """3,000 simulated answers about cities, as CSV."""
    from erkle.csv_files import csv_text
    from erkle.datasets import city_answers, load_cities

    names = load_cities().names
    rows = ([names[i] for i in row] for row in city_answers(3000))
    return csv_text(["anchor", "near", "far"], rows)

"""The examples of README.md and of the pages under docs/ are tests: one for each page.

A page is one test because its examples build on each other, and parallel tests would part them. It runs in
an empty folder that has an ``answers.csv``. Python blocks run as they are, ``pycon`` blocks must print what
the page says (numbers to the digits shown), and in a ``console`` block every command must succeed and print
the lines shown, in that order (numbers to a twentieth).
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

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
# What mkdocstrings loads is no test, and needs mkdocstrings.
collect_ignore = ["docs/doctests.py"]

_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | NUMBER
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


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
    """Run the commands of a ``console`` block, and say what is missing from their output."""
    for command, *wanted in _commands(example.parsed):
        result = subprocess.run(
            ["bash", "-c", command], env=_environment(), capture_output=True, text=True, check=False
        )
        printed = " ".join((result.stderr + result.stdout).split())
        if result.returncode:
            return f"{command}\nended with status {result.returncode}:\n{printed}"
        start = 0
        for line in filter(None, (" ".join(line.split()) for line in wanted)):
            found = re.compile(_pattern(line)).search(printed, start)
            if not (found and _is_close(line, found)):
                return f"{command}\ndid not print\n{line}\nbut\n{printed}"
            start = found.end()
    return None


def _pattern(line: str) -> str:
    """What finds a line with other numbers in it, and with anything in place of three dots."""
    words = [re.escape(part).replace(r"\.\.\.", ".*?") for part in _NUMBER.split(line)]
    return f"({_NUMBER.pattern})".join(words)


def _is_close(line: str, found: re.Match[str]) -> bool:
    """Whether the numbers differ by no more than processors do; times are not looked at."""
    pairs = zip(_NUMBER.findall(line), found.groups(), strict=True)
    numbers = [[float(text.replace(",", "")) for text in pair] for pair in pairs if ":" not in "".join(pair)]
    return all(abs(got - want) <= 0.05 * want for want, got in numbers)


def _commands(block: str) -> Iterator[list[str]]:
    """Each command of a block, with the lines that it should print."""
    for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        # A backslash at the end of a line carries the command on to the next.
        command, *lines = re.sub(r"\\\n", "", piece).splitlines()
        yield [command, *lines]


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "COLUMNS": "100"}


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
        """Its only test, if there are examples on it."""
        document = PAGES.parse(self.path)
        if document.regions:
            yield Examples.from_parent(self, name="examples")


class Examples(pytest.Item):
    """All examples of a page, in order."""

    def runtest(self) -> None:
        """Run them in a folder of their own."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            _write_answers(Path("answers.csv"))
            for example in PAGES.parse(self.path):
                example.evaluate()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:
        """The words of a failed example are enough; an error in one needs its traceback."""
        return str(excinfo.value) if excinfo.errisinstance(SybilFailure) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where pytest says that this test is."""
        return self.path, 0, f"examples of {self.path.relative_to(ROOT)}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take README.md and the pages under docs/ for tests."""
    inside = file_path.is_relative_to(ROOT / "docs") or file_path == ROOT / "README.md"
    return Page.from_parent(parent, path=file_path) if inside and file_path.suffix == ".md" else None


def _write_answers(path: Path) -> None:
    from erkle.datasets import city_answers, load_cities
    from erkle.files import csv_text, write_text

    names = load_cities().names
    rows = ([names[i] for i in row] for row in city_answers(10_000))
    write_text(path, csv_text(["anchor", "near", "far"], rows))

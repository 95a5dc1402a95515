"""What the user sees: progress and remarks on standard error, facts and tables on standard output for piping.

Every command imports this, so it imports nothing heavy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

if TYPE_CHECKING:
    from erkle.cli.learn.curve import ErrorCurve, ShowCurve
    from erkle.online import ERKLE

_SOME = 12 * [(0, 1, 2)]
# A unit of work may take minutes: the time left is judged by those of the last hour.
_LOOKS_BACK = 3600.0
# Names and paths are printed as they are: no markup.
console = Console(stderr=True, highlight=False, markup=False)


def per_cent(share: float) -> str:
    """A share as people read it.

    >>> per_cent(0.1234)
    '12.3 %'
    """
    return f"{100 * share:.1f} %"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "answer"), counted(2000, "answer")
    ('1 answer', '2,000 answers')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def some(names: list[str]) -> str:
    """The first few names, and how many more there are.

    >>> some(["Ann", "Bob"])
    'Ann, Bob'
    """
    shown = ", ".join(name if len(name) <= 30 else name[:29] + "…" for name in names[:6])
    return shown if len(names) <= 6 else f"{shown}, and {len(names) - 6:,} more"


def show_facts(title: str, facts: dict[str, str]) -> None:
    """Print facts under a title, in two columns."""
    Console(highlight=False, markup=False).print(title, style="bold")
    # Addresses and checksums are for copying.
    print_table(["", Column(overflow="fold")], facts.items(), show_header=False)


def print_table(columns: Iterable[str | Column], rows: Iterable[Iterable[str]], show_header: bool = True) -> None:
    """Print a table on standard output, where it can be piped."""
    table = Table(*columns, show_header=show_header, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)


def numbers(*headings: str) -> list[Column]:
    """Columns of numbers, for `print_table`."""
    return [Column(heading, justify="right") for heading in headings]


def compile_first(learner: ERKLE) -> None:
    """Compile what a learner needs before the clock and the bar start, and say so, for that takes a while."""
    from erkle._compiled.compiling import when_compiling
    from erkle.online import ERKLE

    words = "Compiling for this machine: once, some ten seconds; later runs start at once."
    with when_compiling(partial(console.print, words, style="dim")):
        # As many answers as it takes to come to a first fit of them.
        ERKLE(3, learner.loss, learner.step, kernel=learner.kernel).fit(_SOME)


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Words and a spinner, for as long as something of unknown length takes."""
    if console.is_terminal:
        with console.status(words):
            yield
    else:
        console.print(words, style="dim")
        yield


@contextmanager
def checking_bar(name: str, n_bytes: int | None) -> Iterator[Progress]:
    """A bar over the bytes of a file, gone when they are read."""
    columns = TextColumn(f"Checking {name}", markup=False), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        bar.add_task("", total=n_bytes)
        yield bar


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Warnings without the lines of code they come from."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        console.print(f"Warning: {warning.message}", style="yellow", markup=False, soft_wrap=True)


@contextmanager
def units_bar(verb: str, n_units: int, n_missing: int) -> Iterator[Callable[[str], None]]:
    """A bar over units of work; call what it yields with a word about each unit that is done."""
    columns = TextColumn(verb), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    last = TextColumn("{task.fields[at]}")
    with Progress(*columns, last, console=console, speed_estimate_period=_LOOKS_BACK) as bar:
        task = bar.add_task("", total=n_units, completed=n_units - n_missing, at="")

        def advance(word: str) -> None:
            bar.update(task, advance=1, at=word)

        yield advance


@contextmanager
def learning_bar(total: int | None) -> Iterator[ShowCurve]:
    """A bar over the answers; what it yields shows how far it is and how often the last predictions were wrong."""
    known = [BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    unknown = [SpinnerColumn(), TextColumn("{task.completed:,} answers"), TimeElapsedColumn()]
    columns = unknown if total is None else known
    with Progress(TextColumn("Learning"), *columns, TextColumn("{task.fields[error]}"), console=console) as bar:
        task = bar.add_task("", total=total, error="")

        def show(curve: ErrorCurve) -> None:
            error = f"error {per_cent(curve.last)} of the last {curve.n_last:,}"
            bar.update(task, completed=curve.n_answers, error=error)

        yield show

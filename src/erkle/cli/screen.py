"""What the user sees while we work: on standard error, so that standard output can be piped."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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

from erkle._compiled.compiling import when_compiling
from erkle.cli.learn.curve import WINDOW, ErrorCurve
from erkle.online import ERKLE

__all__ = [
    "LearningBar",
    "checking_bar",
    "compile_first",
    "console",
    "counted",
    "per_cent",
    "waiting",
    "warnings_as_sentences",
]

_SOME = 12 * [(0, 1, 2)]
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


def compile_first(learner: ERKLE) -> None:
    """Compile what a learner needs before the clock and the bar start, and say so, for that takes a while."""
    words = "Compiling for this machine: once, some ten seconds; later runs start at once."
    with when_compiling(lambda: console.print(words, style="dim")):
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


class LearningBar:
    """A bar over the answers, with the running error beside it."""

    def __init__(self, total: int | None) -> None:
        known = [BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
        unknown = [SpinnerColumn(), TextColumn("{task.completed:,} answers"), TimeElapsedColumn()]
        self._progress = Progress(
            TextColumn("Learning"),
            *(unknown if total is None else known),
            TextColumn("{task.fields[error]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=total, error="")

    def __enter__(self) -> "LearningBar":
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def show(self, curve: ErrorCurve) -> None:
        """Show how far it is and how often the last predictions were wrong."""
        error = f"error {per_cent(curve.last)} of the last {min(WINDOW, curve.n_answers):,}"
        self._progress.update(self._task, completed=curve.n_answers, error=error)

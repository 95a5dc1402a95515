"""What commands print: progress and remarks on standard error, facts and tables on standard output.

Every command imports this module, so it imports nothing that takes long.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from erkle.cli.learn.curve import ErrorCurve, ShowCurve
    from erkle.online import ERKLE

# As many answers as it takes to reach the first fit.
_SOME = 12 * [(0, 1, 2)]
# Seconds of work from which the time left is estimated: a unit of work may take minutes.
_ESTIMATED_FROM = 3600.0
# Seconds between two lines where no bar can be drawn; more once the work has taken ten times as long.
SECONDS_BETWEEN_LINES = 4.0
# Names and paths are printed as they are: no markup.
console = Console(stderr=True, highlight=False, markup=False)


def per_cent(share: float) -> str:
    """A share in per cent.

    >>> per_cent(0.1234)
    '12.3 %'
    """
    return f"{100 * share:.1f} %"


def counted(number: int, thing: str) -> str:
    """A number with its noun.

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
    # Fold rather than cut, so that addresses and checksums can be copied.
    print_table(["", Column(overflow="fold")], facts.items(), show_header=False)


def print_table(columns: Iterable[str | Column], rows: Iterable[Iterable[str]], show_header: bool = True) -> None:
    """Print a table on standard output."""
    table = Table(*columns, show_header=show_header, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)


def numbers(*headings: str) -> list[Column]:
    """Right-aligned columns, for `print_table`."""
    return [Column(heading, justify="right") for heading in headings]


def compile_first(learner: ERKLE) -> None:
    """Compile what a learner needs before its progress bar starts, and show that this takes a while."""
    from erkle._compiled.compiling import when_compiling
    from erkle.online import ERKLE

    words = "Compiling for this machine (first run only, up to a minute)"
    with ExitStack() as stack, when_compiling(lambda: stack.enter_context(waiting(words))):
        ERKLE(3, kernel=learner.kernel, loss=learner.loss, step=learner.step).fit(_SOME)


@contextmanager
def waiting(words: str) -> Iterator[Callable[[str], None]]:
    """Show words, a spinner and the time while something runs that may take long. What it yields changes the words."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        bar.add_task(words)
        [task] = bar.tasks
        if not console.is_terminal:
            console.print(f"{words} ...", style="dim", soft_wrap=True)
        with _lines(lambda seconds: f"{task.description} ... {seconds:.0f} s"):
            yield lambda words: bar.update(task.id, description=words)


@contextmanager
def _lines(line: Callable[[float], str]) -> Iterator[None]:
    """Print a line now and then if the output is not a terminal; ``line`` is called with the seconds so far."""
    if console.is_terminal:
        yield
        return
    start, done = time.monotonic(), Event()

    def show() -> None:
        while not done.wait(max(SECONDS_BETWEEN_LINES, (time.monotonic() - start) / 10)):
            console.print(line(time.monotonic() - start), style="dim", soft_wrap=True)

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def checking_bar(name: str, n_bytes: int | None) -> Iterator[Progress]:
    """A bar over the bytes of a file; it disappears at the end."""
    columns = TextColumn(f"Checking {name}", markup=False), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        bar.add_task("", total=n_bytes)
        [task] = bar.tasks
        with _lines(lambda seconds: f"Checking {name}: {task.percentage:.0f} % after {seconds:.0f} s"):
            yield bar


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Print warnings without the lines of code that caused them."""
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
    with Progress(*columns, last, console=console, speed_estimate_period=_ESTIMATED_FROM) as bar:
        bar.add_task("", total=n_units, completed=n_units - n_missing, at="")
        [task] = bar.tasks

        def advance(word: str) -> None:
            bar.update(task.id, advance=1, at=word)

        with _lines(lambda seconds: f"{verb}: {task.completed:.0f} of {n_units:,} after {seconds:.0f} s"):
            yield advance


class _TimeLeft(TimeRemainingColumn):
    """The time left at the recent speed, or "more than" that if later answers will take longer."""

    def render(self, task: Task) -> Text:
        """Show the time left."""
        left = super().render(task)
        is_bound = task.fields["gets_slower"] and not task.finished
        return Text(f"> {left.plain}", style=left.style) if is_bound else left


@contextmanager
def learning_bar(total: int | None) -> Iterator[ShowCurve]:
    """A bar over the answers; what it yields shows the number of answers and the recent error of a curve.

    While many answers are fitted again, it shows how far that has got.
    """
    from erkle.cli.learn.fitting import FitClock
    from erkle.online.models.fit_progress import FitProgress, told_to

    known = [BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), _TimeLeft()]
    unknown = [SpinnerColumn(), TextColumn("{task.completed:,} answers"), TimeElapsedColumn()]
    columns = unknown if total is None else known
    with Progress(TextColumn("Learning"), *columns, TextColumn("{task.fields[last]}"), console=console) as bar:
        bar.add_task("", total=total, last="", fit="", gets_slower=False)
        [task] = bar.tasks
        clock = FitClock()

        def show(curve: ErrorCurve, *, gets_slower: bool = False) -> None:
            error = f"error {per_cent(curve.last)} of the last {curve.n_last:,}"
            bar.update(task.id, completed=curve.n_answers, last=error, fit="", gets_slower=gets_slower)

        def show_fit(progress: FitProgress) -> None:
            words = clock.say(progress)
            bar.update(task.id, last=words, fit=words)

        def line(seconds: float) -> str:
            return task.fields["fit"] or f"Learning: {task.completed:,.0f} answers after {seconds:.0f} s"

        with _lines(line), told_to(show_fit):
            yield show

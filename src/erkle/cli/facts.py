"""Facts in two columns, and those about repeated answers."""

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from erkle import triplets
from erkle.cli.screen import per_cent

__all__ = ["repeats", "show", "some"]


def show(title: str, facts: dict[str, str]) -> None:
    """Print facts under a title, on standard output."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(overflow="fold")  # addresses and checksums are for copying
    for name, fact in facts.items():
        table.add_row(name, fact)
    console = Console(highlight=False, markup=False)
    console.print(title, style="bold")
    console.print(table)


def repeats(T: NDArray[np.int32] | NDArray[np.int64]) -> dict[str, str]:
    """How often questions come again, and how often they are answered both ways."""
    n_questions = len(np.unique(triplets.question_keys(T)))
    conflicting = triplets.conflicts(T)
    return {
        "different questions": f"{n_questions:,}",
        "repeated answers": f"{int(triplets.duplicates(T).sum()):,}",
        "answers in conflict": f"{int(conflicting.sum()):,} on "
        f"{len(np.unique(triplets.question_keys(T[conflicting]))):,} questions",
        "wrong whatever the kernel": per_cent(triplets.floor(T)),
    }


def some(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(name if len(name) <= 30 else name[:29] + "…" for name in names[:6])
    return shown if len(names) <= 6 else f"{shown}, and {len(names) - 6:,} more"

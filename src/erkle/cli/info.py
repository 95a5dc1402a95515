"""`erkle info`: what is in a file."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from erkle import metrics, triplets
from erkle._kernels.dense import memory_dtype
from erkle.cli.screen import checking_bar, per_cent
from erkle.files import FileError, load_npz
from erkle.triplets import Reader

__all__ = ["describe"]

# Repeats are found by sorting all answers; beyond this many we only count them, and say so.
_MOST_SORTED = 5_000_000


def describe(path: Path) -> None:
    """Print what is in a saved kernel or in a file of answers."""
    if path.suffix == ".npz":
        _show(path.name, _kernel_facts(path))
    else:
        _show(path.name, _answer_facts(path))


def _show(title: str, facts: dict[str, str]) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, fact in facts.items():
        table.add_row(name, fact)
    console = Console(highlight=False, markup=False)
    console.print(title, style="bold")
    console.print(table)


def _kernel_facts(path: Path) -> dict[str, str]:
    """From the file itself, without a learner: one with a loss of the user's own is described all the same."""
    arrays, meta = load_npz(path)
    if "kernel" not in arrays or meta.get("kind") != "ERKLE":
        raise FileError(f"{path.name}: holds no kernel; pass a kernel.npz that `erkle learn` or ERKLE.save wrote.")
    names = arrays["labels"].tolist() if "labels" in arrays else []
    memory = dict(zip(memory_dtype.names or (), arrays["memory"], strict=True))
    n_learned, n_mistakes = meta["n_triplets_seen"], meta["n_mistakes"]
    parts = [f"{name}({', '.join(f'{field:g}' for field in fields)})" for name, *fields in (meta["loss"], meta["step"])]
    settings = [f"{name} {value}" for name, value in meta["parameters"].items() if name != "n_objects"]
    return {
        "objects": f"{len(arrays['kernel']):,}",
        "names": _some(names) if names else "none saved",
        "answers learned": f"{n_learned:,}",
        "predicted wrongly before learning": per_cent(n_mistakes / n_learned) if n_learned else "nothing learned yet",
        "moves": f"{int(memory['n_active']):,}, of which {int(memory['n_projections']):,} projected",
        "rank": str(metrics.rank(arrays["kernel"])),
        "learned with": ", ".join([*parts, *settings]),
    }


def _answer_facts(path: Path) -> dict[str, str]:
    n_answers, kept = 0, []
    with Reader(path) as reader, checking_bar(path.name, reader.size) as bar:
        for chunk in reader:
            n_answers += len(chunk.triplets)
            if n_answers <= _MOST_SORTED:
                kept.append(chunk.triplets.astype(np.int32))
            bar.update(bar.task_ids[0], completed=chunk.end_offset)
        names = reader.labels.names
    facts = {"objects": f"{len(names):,}", "names": _some(names), "answers": f"{n_answers:,}"}
    return facts | (_repeats(np.concatenate(kept)) if n_answers <= _MOST_SORTED else {"repeats": "not looked for"})


def _repeats(T: np.ndarray[tuple[int, int], np.dtype[np.int32]]) -> dict[str, str]:
    n_questions = len(np.unique(triplets.question_keys(T)))
    conflicting = triplets.conflicts(T)
    return {
        "different questions": f"{n_questions:,}",
        "repeated answers": f"{int(triplets.duplicates(T).sum()):,}",
        "answers in conflict": f"{int(conflicting.sum()):,} on "
        f"{len(np.unique(triplets.question_keys(T[conflicting]))):,} questions",
        "wrong whatever the kernel": per_cent(triplets.floor(T)),
    }


def _some(names: list[str]) -> str:
    shown = ", ".join(name if len(name) <= 30 else name[:29] + "…" for name in names[:6])
    return shown if len(names) <= 6 else f"{shown}, and {len(names) - 6:,} more"

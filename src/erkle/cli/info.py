"""`erkle info`: what is in a file."""

from pathlib import Path
from typing import Any

import numpy as np

from erkle import metrics
from erkle._kernels.dense import memory_dtype
from erkle.cli.facts import repeats, show, some
from erkle.cli.screen import checking_bar, per_cent
from erkle.files import FileError, load_npz
from erkle.triplets import Reader

__all__ = ["describe"]

# Repeats are found by sorting all answers; beyond this many we only count them, and say so.
_MOST_SORTED = 5_000_000


def describe(path: Path) -> None:
    """Print what is in a saved kernel or in a file of answers."""
    show(path.name, _kernel_facts(path) if path.suffix == ".npz" else _answer_facts(path))


def _kernel_facts(path: Path) -> dict[str, str]:
    """From the file itself, without a learner: one with a loss of the user's own is described all the same."""
    arrays, meta = load_npz(path)
    try:
        return _facts(path, arrays, meta)
    except (KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError) as error:
        raise FileError(f"{path.name}: is not a whole learner ({error}); restore it from a copy.") from error


def _facts(path: Path, arrays: dict[str, Any], meta: dict[str, Any]) -> dict[str, str]:
    if "kernel" not in arrays or meta.get("kind") != "ERKLE":
        raise FileError(f"{path.name}: holds no kernel; pass a kernel.npz that `erkle learn` or ERKLE.save wrote.")
    names = arrays["labels"].tolist() if "labels" in arrays else []
    memory = dict(zip(memory_dtype.names or (), arrays["memory"], strict=True))
    n_learned, n_mistakes = meta["n_triplets_seen"], meta["n_mistakes"]
    parts = [f"{name}({', '.join(f'{field:g}' for field in fields)})" for name, *fields in (meta["loss"], meta["step"])]
    settings = [f"{name} {value}" for name, value in meta["parameters"].items() if name != "n_objects"]
    return {
        "objects": f"{len(arrays['kernel']):,}",
        "names": some(names) if names else "none saved",
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
    facts = {"objects": f"{len(names):,}", "names": some(names), "answers": f"{n_answers:,}"}
    return facts | (repeats(np.concatenate(kept)) if n_answers <= _MOST_SORTED else {"repeats": "not looked for"})

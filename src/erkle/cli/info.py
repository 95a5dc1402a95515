"""`erkle info`: what is in a file."""

from pathlib import Path

import numpy as np

from erkle import metrics
from erkle.cli.facts import repeats, show, some
from erkle.cli.screen import checking_bar, per_cent
from erkle.files import load_npz
from erkle.online import ERKLE
from erkle.triplets import Reader

__all__ = ["describe"]

# Repeats are found by sorting all answers; beyond this many we only count them, and say so.
_MOST_SORTED = 5_000_000


def describe(path: Path) -> None:
    """Print what is in a saved kernel or in a file of answers."""
    show(path.name, _kernel_facts(path) if path.suffix == ".npz" else _answer_facts(path))


def _kernel_facts(path: Path) -> dict[str, str]:
    learner = ERKLE.load(path)
    arrays, _ = load_npz(path)
    names = arrays["labels"].tolist() if "labels" in arrays else []
    return {
        "objects": f"{learner.n_objects_:,}",
        "names": some(names) if names else "none saved",
        "answers learned": f"{learner.n_triplets_seen_:,}",
        "predicted wrongly before learning": per_cent(learner.prequential_error_),
        "moves": f"{learner.n_active_:,}, of which {learner.n_projections_:,} projected",
        "rank": str(metrics.rank(learner.kernel_)),
        "learner": " ".join(repr(learner).split()),
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

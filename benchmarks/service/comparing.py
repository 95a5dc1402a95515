"""What a server has kept: its log compared with what participants were told, and its kernel with that of the log."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.service.participants import Acknowledged
from benchmarks.service.serving import PASSWORD, Serving
from erkle import ERKLE
from erkle.client import Client
from erkle.service.learning import Fold
from erkle.store import Store

__all__ = ["Kept", "compared", "same_kernel"]


class Kept(NamedTuple):
    """Counts of answers.

    Attributes
    ----------
    answers : int
        Answers in the log.
    lost, altered : int
        Acknowledged answers that are not in the log, and those that are different there.
    twice : int
        Questions that are in the log again, and numbers that were acknowledged again.
    """

    answers: int
    lost: int
    altered: int
    twice: int


def compared(serving: Serving, acknowledged: Sequence[Acknowledged]) -> Kept:
    """Compare the log of the study with what was acknowledged."""
    with Store(serving.database) as store:
        log = [Acknowledged(a.sequence, a.participant, a.token, a.near) for a in store.answers.log(serving.study)]
    saved = {answer.sequence: answer for answer in log}
    assert sorted(saved) == list(range(1, len(log) + 1)), "The log has gaps or repeats a number."
    found = [saved.get(answer.sequence) for answer in acknowledged]
    repeated = Counter(answer.token for answer in log), Counter(answer.sequence for answer in acknowledged)
    return Kept(
        answers=len(log),
        lost=found.count(None),
        altered=sum(has not in (None, told) for has, told in zip(found, acknowledged, strict=True)),
        twice=sum(count - 1 for counts in repeated for count in counts.values()),
    )


def same_kernel(serving: Serving, folder: Path) -> bool:
    """Whether the kernel of the server equals that of a fresh replay of the log, to the last bit."""
    with Client(serving.url, timeout=90.0) as client:
        client.login("ann", PASSWORD)
        client.export(serving.study, "kernel.npz", folder / "kernel.npz")
    fold = Fold(len(serving.places))
    with Store(serving.database) as store:
        fold.learn(list(store.answers.log(serving.study)))
    given = ERKLE.load(folder / "kernel.npz")
    return bool(np.array_equal(given.kernel_matrix(), fold.learner.kernel_matrix()))

"""What all answers say that are in the log when somebody asks, whichever process learns them."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from erkle.files import npz_to_bytes
from erkle.online import saving
from erkle.service.learning.fold import Fold
from erkle.service.learning.learning import Learning
from erkle.service.learning.snapshots import Snapshots
from erkle.service.learning.states import PAGE
from erkle.store import NotAllowed, Store, Study

__all__ = ["embedding", "folded", "kernel_npz"]


def kernel_npz(store: Store, learning: Learning) -> bytes:
    """The kernel as a file."""
    names = [each.name for each in store.studies.objects(learning.study)]
    with _whole(store, learning) as fold:
        return npz_to_bytes(*saving.file_contents(fold.learner, names))


def embedding(store: Store, learning: Learning) -> NDArray[np.float64]:
    """A map, (n, 2), by falling variance."""
    with _whole(store, learning) as fold:
        return fold.learner.embedding(2)


@contextmanager
def _whole(store: Store, learning: Learning) -> Iterator[Fold]:
    """A fold of the whole log: the learner's own, when it has come so far, or, where another process learns, one
    made for this from the last snapshot; both are the same to the last bit."""
    study, last = store.studies.get(learning.study), store.answers.last(learning.study)
    with learning.fold(study.roster, last) as own:
        yield folded(store, study, last) if own is None else _with_answers(own)


def folded(store: Store, study: Study, last: int) -> Fold:
    """The log of a study up to a number, by nobody's learner."""
    kept = Snapshots(store, study.id, study.n_objects).newest()
    fold = Fold(study.n_objects) if kept is None else kept.fold
    while fold.sequence < last and (
        page := list(store.answers.log(study.id, fold.sequence, PAGE, include_excluded=True))
    ):
        fold.learn(page)
    return _with_answers(fold)


def _with_answers(fold: Fold) -> Fold:
    if fold.learner.n_triplets_seen_ == 0:
        raise NotAllowed("Nothing has been learned of this study yet; wait for answers.")
    return fold

"""The kernel, the map and the view of all answers in the log at the time of a request. Works in every process.

It starts from the newest snapshot, which is usually a few seconds old, and learns the answers since then in a separate
fold. The result is the same, to the last bit, as that of the study's own learner for the same answers.
"""

import threading
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from erkle.npz_files import npz_to_bytes
from erkle.online import saving
from erkle.service.learning.fold import Fold
from erkle.service.learning.snapshots import Snapshots
from erkle.service.learning.states import PAGE
from erkle.service.learning.view import View
from erkle.store import NotAllowed, Store, Study

# One fold at a time: after a change of the roster there is no snapshot, and the whole log must be learned.
_folding = threading.Lock()


def kernel_npz(store: Store, study: Study) -> bytes:
    """Return the kernel as the content of an npz file. Participants have numbers, in the order of joining."""
    names = [each.name for each in store.studies.objects(study.id)]
    arrays, meta = saving.file_contents(_answered(store, study).learner, names)
    # Their ids are secret: whoever has an id can answer as that participant.
    numbers = {each.id: str(number) for number, each in enumerate(store.participants.all(study.id), 1)}
    arrays["participants.names"] = np.array([name and numbers[name] for name in arrays["participants.names"].tolist()])
    return npz_to_bytes(arrays, meta)


def embedding(store: Store, study: Study) -> NDArray[np.float64]:
    """Return a map, (n, 2). The first axis has the largest variance."""
    return _answered(store, study).learner.embedding(2)


def view(store: Store, study: Study) -> View:
    """Return what can be learned from all answers."""
    fold = _folded(store, study)
    return View.of(fold.learner, fold.sequence, fold.held_out)


def _answered(store: Store, study: Study) -> Fold:
    fold = _folded(store, study)
    if fold.learner.n_triplets_seen_ == 0 and not fold.learner.features_:
        raise NotAllowed("This study has no answers to learn from yet; wait for answers.")
    return fold


def _folded(store: Store, study: Study) -> Fold:
    """Fold the whole log, starting from the newest snapshot."""
    last = store.answers.last(study.id)
    with _folding:
        saved = Snapshots(store, study.id, study.n_objects).newest()
        fold = Fold(study.n_objects, store.features.all(study.id)) if saved is None else saved.fold
        log = store.answers.log(study.id, fold.sequence, last - fold.sequence, include_excluded=True)
        while page := list(islice(log, PAGE)):
            fold.learn(page)
    return fold

"""The kernel and the map of all answers in the log at the time of a request, whichever process owns the learner.

The newest snapshot is usually a few seconds old, so only the most recent answers are learned here, in a separate fold.
The result is the same, to the last bit, as what the study's own learner makes of the same answers.
"""

import threading
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from erkle.files import npz_to_bytes
from erkle.online import saving
from erkle.service.learning.fold import Fold
from erkle.service.learning.snapshots import Snapshots
from erkle.service.learning.states import PAGE
from erkle.store import NotAllowed, Store, Study

# One at a time: after a change of the roster there is no snapshot, and the whole log is learned.
_folding = threading.Lock()


def kernel_npz(store: Store, study: Study) -> bytes:
    """The kernel as a file."""
    names = [each.name for each in store.studies.objects(study.id)]
    return npz_to_bytes(*saving.file_contents(_folded(store, study).learner, names))


def embedding(store: Store, study: Study) -> NDArray[np.float64]:
    """A map, (n, 2), by falling variance."""
    return _folded(store, study).learner.embedding(2)


def _folded(store: Store, study: Study) -> Fold:
    """A fold of the whole log, from the newest snapshot on."""
    last = store.answers.last(study.id)
    with _folding:
        kept = Snapshots(store, study.id, study.n_objects).newest()
        fold = Fold(study.n_objects) if kept is None else kept.fold
        log = store.answers.log(study.id, fold.sequence, last - fold.sequence, include_excluded=True)
        while page := list(islice(log, PAGE)):
            fold.learn(page)
    if fold.learner.n_triplets_seen_ == 0:
        raise NotAllowed("Nothing has been learned of this study yet; wait for answers.")
    return fold

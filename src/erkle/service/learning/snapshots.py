"""Snapshots of the fold. With them a learner starts without the whole log, and other processes see the map."""

import logging
import math
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.service.learning.fold import Fold
from erkle.store import Snapshot, Store

# Least number of seconds between two snapshots.
_PAUSE = 5.0
# The pause is also at least 100 times as long as it takes to save or load a snapshot.
SHARE = 100.0

log = logging.getLogger("erkle.service")


class SavedFold(NamedTuple):
    """The content of a snapshot: a fold of the log, the map that was shown, and the number of the roster."""

    fold: Fold
    map: NDArray[np.float64] | None
    roster: int


class Snapshots:
    """The snapshots of one study.

    Parameters
    ----------
    store : Store
    study : str
    n_objects : int
    """

    def __init__(self, store: Store, study: str, n_objects: int) -> None:
        self._store, self._study, self._n_objects = store, study, n_objects
        self._roster, self._sequence = -1, 0
        # When a snapshot was last saved, or could not be, and how many seconds that took.
        self._tried_at, self._seconds = -math.inf, 0.0

    def newest(self) -> SavedFold | None:
        """Load the newest readable snapshot of the present roster."""
        found = (_read(snapshot) for snapshot in self._store.snapshots.latest(self._study))
        sound = (saved for saved in found if saved is not None and saved.fold.learner.n_objects_ == self._n_objects)
        return next(sound, None)

    def save(self, saved: SavedFold, fence: int, at_once: bool = False) -> None:
        """Save a snapshot if there is anything new and, unless ``at_once``, if the last attempt is old enough.

        A failure is only logged: the model must not stand still because the disk is full, and the log has every answer.
        """
        is_new = saved.roster != self._roster or saved.fold.sequence > self._sequence
        is_due = at_once or time.monotonic() - self._tried_at > max(_PAUSE, SHARE * self._seconds)
        if saved.fold.is_empty or not (is_new and is_due):
            return
        begun = time.monotonic()
        try:
            data = saved.fold.to_bytes(saved.map)
            self._store.snapshots.save(self._study, saved.fold.sequence, saved.roster, data, fence)
            self._roster, self._sequence = saved.roster, saved.fold.sequence
        except Exception as trouble:
            log.warning("a snapshot could not be saved", exc_info=True, extra={"trouble": str(trouble)})
        self._tried_at = time.monotonic()
        self._seconds = self._tried_at - begun


def _read(snapshot: Snapshot) -> SavedFold | None:
    try:
        return SavedFold(*Fold.from_bytes(snapshot.data or b""), snapshot.roster)
    except Exception as trouble:
        # Any error may be ignored here, because the log has the same answers.
        log.warning("a snapshot cannot be used", extra={"trouble": str(trouble)})
        return None

"""Snapshots: the fold is saved now and then, so that a start need not read the whole log, and others see the map."""

import logging
import math
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.service.learning.fold import Fold
from erkle.store import Snapshot, Store

# Seconds between two snapshots, at least.
_PAUSE = 5.0
# The pause is also at least this many times as long as saving or loading a snapshot takes.
SHARE = 100.0

log = logging.getLogger("erkle.service")


class Kept(NamedTuple):
    """What a snapshot holds: a fold of the log under a roster, and the map that people saw."""

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
        self._saved_at, self._takes = -math.inf, 0.0

    def newest(self) -> Kept | None:
        """The newest snapshot of the present roster that can be read."""
        found = (_read(snapshot) for snapshot in self._store.snapshots.latest(self._study))
        sound = (kept for kept in found if kept is not None and kept.fold.learner.n_objects_ == self._n_objects)
        return next(sound, None)

    def save(self, kept: Kept, fence: int, at_once: bool = False) -> None:
        """Save what was not saved before; by default only if the last snapshot is old enough."""
        is_new = kept.roster != self._roster or kept.fold.sequence > self._sequence
        is_due = at_once or time.monotonic() - self._saved_at > max(_PAUSE, SHARE * self._takes)
        if kept.fold.sequence == 0 or not (is_new and is_due):
            return
        begun = time.monotonic()
        data = kept.fold.to_bytes(kept.map)
        self._store.snapshots.save(self._study, kept.fold.sequence, kept.roster, data, fence)
        self._roster, self._sequence = kept.roster, kept.fold.sequence
        self._saved_at = time.monotonic()
        self._takes = self._saved_at - begun


def _read(snapshot: Snapshot) -> Kept | None:
    try:
        return Kept(*Fold.from_bytes(snapshot.data or b""), snapshot.roster)
    except Exception as trouble:
        # Whatever it is: the log says the same.
        log.warning("a snapshot cannot be used", extra={"trouble": str(trouble)})
        return None

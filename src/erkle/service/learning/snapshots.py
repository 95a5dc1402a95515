"""Snapshots: the fold is kept now and then, so that a start need not read the whole log, and others see the map."""

import logging
import math
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.service.learning.fold import Fold
from erkle.store import Snapshot, Store

__all__ = ["SHARE", "Kept", "Snapshots"]

# Seconds between two snapshots, at least, and how many times what one takes.
_SNAPSHOT, SHARE = 5.0, 100.0

log = logging.getLogger("erkle.service")


class Kept(NamedTuple):
    """What a snapshot holds: a fold, and the map that people had before their eyes."""

    fold: Fold
    shown: NDArray[np.float64] | None


class Snapshots:
    """Those of one study.

    Parameters
    ----------
    store : Store
    study : str
    n_objects : int
    """

    def __init__(self, store: Store, study: str, n_objects: int) -> None:
        self._store, self._study, self._n_objects = store, study, n_objects
        self._sequence, self._at, self._takes = 0, -math.inf, 0.0

    def newest(self) -> Kept | None:
        """The newest that is sound."""
        found = (_read(snapshot) for snapshot in self._store.snapshots.latest(self._study))
        sound = (kept for kept in found if kept is not None and kept.fold.learner.n_objects_ == self._n_objects)
        return next(sound, None)

    def keep(self, kept: Kept, roster: int, fence: int | None, at_once: bool = False) -> None:
        """Keep what has been learned of this roster, if it is news, and time or wanted at once."""
        wait = max(_SNAPSHOT, SHARE * self._takes)
        if kept.fold.sequence <= self._sequence or not (at_once or time.monotonic() - self._at > wait):
            return
        begun = time.monotonic()
        data = kept.fold.to_bytes(kept.shown)
        self._store.snapshots.save(self._study, kept.fold.sequence, roster, data, fence)
        self._sequence, self._at = kept.fold.sequence, time.monotonic()
        self._takes = self._at - begun

    def begin_anew(self) -> None:
        """The roster has changed: whatever is learned now is news."""
        self._sequence = 0


def _read(snapshot: Snapshot) -> Kept | None:
    try:
        return Kept(*Fold.from_bytes(snapshot.data or b""))
    except Exception as trouble:
        # Whatever it is: the log says the same.
        log.warning("a snapshot cannot be used", extra={"trouble": str(trouble)})
        return None

"""The fold: the kernel is a function of the log, the number of objects and their features, and of nothing else.

Law: two folds of the same log are the same to the last bit, whatever the size of the pages that were read, and whether
or not a snapshot was saved and restored in between. So the seed is the same for every study. If the objects or their
features change, the log is folded again from the start.
"""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from erkle.features import Features
from erkle.files import FileError
from erkle.kernels.lapack import one_thread
from erkle.npz_files import npz_from_bytes, npz_to_bytes, prefixed, under
from erkle.online import ERKLE, saving
from erkle.online.record import Curve, Record
from erkle.store import Answer, Kind

# Practice and catch questions say something about the participant, and nothing new about the objects.
LEARNED = frozenset({Kind.CHOSEN, Kind.HELD_OUT, Kind.REPEATED})
_SEED = 0


class Fold:
    """A learner, the sequence number of its last answer in the log, and its errors on held-out questions.

    Parameters
    ----------
    n_objects : int
    features : mapping from names to (n_objects, d) arrays, optional
        What is known about the objects; blocks that say nothing are left out.
    """

    def __init__(self, n_objects: int, features: Mapping[str, NDArray[np.float32]] | None = None) -> None:
        # Somebody may have added objects since their number was read.
        first = {name: vectors[:n_objects] for name, vectors in (features or {}).items()}
        with one_thread(n_objects):
            known = Features.useful(first, n_objects)
        self.learner = ERKLE(n_objects, random_state=_SEED, features=known).fit([])
        self.sequence = 0
        self._held = Record(n_objects)

    def learn(self, answers: Sequence[Answer]) -> None:
        """Learn the next answers of the log. Answers of excluded participants are not learned."""
        learned = [answer for answer in answers if self._is_learned(answer)]
        before = self.learner.n_triplets_seen_
        if learned:
            T = np.array([(answer.anchor, answer.near, answer.far) for answer in learned], np.int64)
            decisions = self.learner.prequential(T, participants=[answer.participant for answer in learned])
            for place, answer in enumerate(learned):
                if answer.kind == Kind.HELD_OUT:
                    self._held.add(T[place : place + 1], decisions[place : place + 1], before + place)
        if answers:
            self.sequence = answers[-1].sequence

    def _is_learned(self, answer: Answer) -> bool:
        ids = answer.anchor, answer.near, answer.far
        # The store accepts no other rows. If there is a bad row all the same, it must not stop the learner.
        sound = len(set(ids)) == 3 and 0 <= min(ids) <= max(ids) < self.learner.n_objects_
        return answer.kind in LEARNED and not answer.excluded and sound

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known: no features, and no answer of the log."""
        return self.sequence == 0 and self.learner.features is None

    @property
    def held_out(self) -> Curve:
        """The errors of predictions for random (held-out) questions, each made before its answer was learned."""
        return Curve.of_bins(self._held.bins)

    def to_bytes(self, shown: NDArray[np.float64] | None = None) -> bytes:
        """Save the fold as an npz file, together with the map that the dashboard shows."""
        arrays, meta = saving.pack(self.learner)
        arrays |= prefixed("held", self._held.arrays())
        if shown is not None:
            arrays |= prefixed("shown", {"map": shown})
        return npz_to_bytes(arrays, {**meta, "sequence": self.sequence})

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Self, NDArray[np.float64] | None]:
        """Restore a fold and the map that was shown. Raises `FileError` if the data are damaged."""
        arrays, meta = npz_from_bytes(data, "The snapshot")
        fold = cls.__new__(cls)
        fold.learner = saving.unpack(ERKLE, (arrays, meta), "The snapshot")
        try:
            fold.sequence = int(meta["sequence"])
            fold._held = Record.from_arrays(under("held", arrays), fold.learner.n_objects_)
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"The snapshot: is incomplete ({error}); the log is read instead.") from error
        return fold, under("shown", arrays).get("map")

"""The base class of models: a kernel that predicts, evidence of its predictions, and reviews.

A model learns a stream piece by piece. The learner calls `Model.review` when the number of answers reaches
``next_review``. Everything that `ERKLE` reports comes from ``kernel`` and ``evidence``.
"""

import copy
import sys
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.kernels.kernel import Kernel
from erkle.kernels.looping import Stretch
from erkle.npz_files import Packed
from erkle.online.selection.candidates import Candidate, Candidates
from erkle.online.selection.evidence import Evidence


class Answers(NamedTuple):
    """All answers so far, and the lapse of the participant who gave each of them.

    Attributes
    ----------
    T : (m, 3) array
        Rows (anchor, near, far).
    lapses : (m,) array
        NaN where the participant is unknown.
    typical_lapse : float
        The median of the participants' lapses.
    """

    T: NDArray[np.int32]
    lapses: NDArray[np.float64]
    typical_lapse: float


class Model(ABC):
    """What a learner has learned.

    Attributes
    ----------
    kernel : Kernel
        The kernel that predicts.
    evidence : Evidence
        How good the predictions of the kernel were.
    next_review : int
        The number of answers at which the next review is due.
    """

    kernel: Kernel
    evidence: Evidence
    next_review: int = sys.maxsize

    @abstractmethod
    def learn(self, stretch: Stretch) -> None:
        """Learn the rows in order, and add the predictions of the new answers to the evidence."""

    @abstractmethod
    def grow(self, n_new: int) -> None:
        """Add objects."""

    @abstractmethod
    def pack(self) -> Packed:
        """The whole state, as arrays and JSON values."""

    def add_evidence(self, stretch: Stretch) -> None:
        """Add the predictions of the new answers that have been learned to the evidence."""
        new = stretch.new_learned()
        stretch.likely[: len(new)] = self.evidence.add(stretch.distances[new], stretch.first)

    def review(self, seen: int, answers: Answers) -> None:  # noqa: B027
        """Choose settings by the evidence after ``seen`` answers. By default there is nothing to choose."""

    def selection(self) -> list[Candidate]:
        """The settings tried so far, the best first; empty if there is nothing to choose."""
        return []


class ChoosingModel(Model):
    """A model that chooses among candidates. Reviews change a draft, which then replaces the model in a single call.

    So after Ctrl-C, or with too little memory, the model is what it was, and the next call starts the review again.
    """

    candidates: Candidates[Any, Any]

    def review(self, seen: int, answers: Answers) -> None:
        """Choose the leader by the predictions since the last review, and let other candidates enter."""
        draft = self._draft()
        draft._review(seen, answers)
        self._become(draft)

    @abstractmethod
    def _review(self, seen: int, answers: Answers) -> None:
        """Review this draft."""

    def _draft(self) -> Self:
        draft = copy.copy(self)
        draft.candidates = self.candidates.copy()
        return draft

    def _become(self, draft: Self) -> None:
        vars(self).update(vars(draft))

    def selection(self) -> list[Candidate]:
        """The settings tried so far, the best first."""
        return self.candidates.table()

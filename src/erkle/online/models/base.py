"""What every model has: a kernel to read from, the evidence of its predictions, and reviews.

A model learns stretches of a stream. Between two stretches the learner calls `Model.review` once the number of answers
has reached ``next_review``. `ERKLE` reads all that it tells users from ``kernel`` and ``evidence``.
"""

import sys
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from erkle.files import Packed
from erkle.kernels.kernel import Kernel
from erkle.kernels.looping import Stretch
from erkle.online.selection.candidates import Candidate
from erkle.online.selection.evidence import Evidence


class Model(ABC):
    """What a learner has learned, and how it goes on.

    Attributes
    ----------
    kernel : Kernel
        What answers questions now.
    evidence : Evidence
        How good the predictions of the kernel were.
    next_review : int
        The number of answers at which the model wants to be reviewed.
    """

    kernel: Kernel
    evidence: Evidence
    next_review: int = sys.maxsize

    @abstractmethod
    def learn(self, stretch: Stretch) -> None:
        """Learn the rows in order, and add what was predicted of the new answers to the evidence."""

    @abstractmethod
    def grow(self, n_new: int) -> None:
        """Make room for new objects."""

    @abstractmethod
    def pack(self) -> Packed:
        """All of the state, as arrays and as what JSON can hold."""

    def review(self, seen: int, history: NDArray[np.int32]) -> None:  # noqa: B027
        """Choose by the evidence, after ``seen`` answers; a model without choices has nothing to do."""

    def selection(self) -> list[Candidate]:
        """The candidates, the best first; none where there is nothing to choose."""
        return []

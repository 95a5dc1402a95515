"""What a learner has been asked, and how well it knew: counts, and a curve in bins that grow with the stream."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.checks import shaped

Counts = NDArray[np.int64]

# Ends of the bins: some twenty-five for ten times as many answers, so that a curve of any length is a small one.
_ENDS = np.unique(np.concatenate([np.arange(1, 100, 10), np.geomspace(100, 1e15, 326)]).astype(np.int64))


class Curve(NamedTuple):
    """Errors by the number of answers learned before: bins that are not empty.

    Attributes
    ----------
    n_learned : (n_bins,) array
        How many answers had been learned at the middle of the bin.
    n_answers, n_wrong : (n_bins,) arrays
        How many were predicted in it, and how many of them wrongly.
    """

    n_learned: NDArray[np.float64]
    n_answers: Counts
    n_wrong: Counts

    @classmethod
    def of(cls, n_learned: NDArray[np.integer[Any]], wrong: NDArray[np.bool_]) -> Self:
        """Predictions made after so many answers had been learned, and whether each was wrong."""
        return cls.of_bins(_bins(n_learned, wrong))

    @classmethod
    def of_bins(cls, bins: Counts) -> Self:
        """The bins of a record: answers, wrong ones, and the sum of the numbers learned before."""
        used = bins[bins[:, 0] > 0]
        return cls(used[:, 2] / used[:, 0], used[:, 0], used[:, 1])


class Record:
    """Counts how often each object was the anchor and how often it was in an answer, and errors before learning."""

    def __init__(self, n_objects: int) -> None:
        self.anchored = np.zeros(n_objects, np.int64)
        self.appearances = np.zeros(n_objects, np.int64)
        self.bins = np.zeros((len(_ENDS) + 1, 3), np.int64)

    def add(self, T: NDArray[np.int64], decisions: NDArray[np.float64], n_learned: int) -> None:
        """Answers learned in order, the decision value each had before, and how many had been learned before them."""
        np.add.at(self.anchored, T[:, 0], 1)
        np.add.at(self.appearances, T.ravel(), 1)
        self.bins += _bins(np.arange(n_learned, n_learned + len(T)), decisions <= 0.0)

    def grow(self, n_new: int) -> None:
        """Make room for new objects."""
        self.anchored, self.appearances = (np.pad(counts, (0, n_new)) for counts in (self.anchored, self.appearances))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of the state, as plain arrays of numbers."""
        return {"anchored": self.anchored, "appearances": self.appearances, "bins": self.bins}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_objects: int) -> Self:
        """The record that `arrays` came from."""
        record = cls(n_objects)
        for name, own in record.arrays().items():
            own[:] = shaped(arrays, name, own.shape, np.int64)
        return record


def _bins(n_learned: NDArray[np.integer[Any]], wrong: NDArray[np.bool_]) -> Counts:
    bins = np.zeros((len(_ENDS) + 1, 3), np.int64)
    where = np.searchsorted(_ENDS, n_learned, side="right")
    np.add.at(bins, where, np.stack([np.ones_like(n_learned), wrong, n_learned], axis=1))
    return bins

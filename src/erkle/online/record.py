"""The record of a learner: how often each object was in an answer, and errors before learning in growing bins."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.checks import shaped

Counts = NDArray[np.int64]

# Ends of the bins: about 25 per factor of ten, so that the curve of a stream of any length is small.
_ENDS = np.unique(np.concatenate([np.arange(1, 100, 10), np.geomspace(100, 1e15, 326)]).astype(np.int64))


class Curve(NamedTuple):
    """Errors of predictions made before learning, in bins by the number of answers learned until then.

    Attributes
    ----------
    n_learned : (n_bins,) array
        Mean number of answers learned before the predictions in the bin.
    n_answers : (n_bins,) array
        Number of predictions in the bin, at least 1.
    n_wrong : (n_bins,) array
        Number of wrong predictions in the bin.
    """

    n_learned: NDArray[np.float64]
    n_answers: Counts
    n_wrong: Counts

    @classmethod
    def of(cls, n_learned: NDArray[np.integer[Any]], wrong: NDArray[np.bool_]) -> Self:
        """The curve of predictions: how many answers had been learned before each one, and whether it was wrong."""
        return cls.of_bins(_bins(n_learned, wrong))

    @classmethod
    def of_bins(cls, bins: Counts) -> Self:
        """The curve of a record's bins: predictions, wrong ones, and the sum of ``n_learned``."""
        used = bins[bins[:, 0] > 0]
        return cls(used[:, 2] / used[:, 0], used[:, 0], used[:, 1])


class Record:
    """Counts how often each object was the anchor and how often it was in an answer, and errors before learning."""

    def __init__(self, n_objects: int) -> None:
        self.anchored = np.zeros(n_objects, np.int64)
        self.appearances = np.zeros(n_objects, np.int64)
        self.bins = np.zeros((len(_ENDS) + 1, 3), np.int64)

    def add(self, T: NDArray[np.int64], decisions: NDArray[np.float64], n_learned: int) -> None:
        """Add answers in order, with their decision values before learning; ``n_learned`` came before them."""
        np.add.at(self.anchored, T[:, 0], 1)
        np.add.at(self.appearances, T.ravel(), 1)
        self.bins += _bins(np.arange(n_learned, n_learned + len(T)), decisions <= 0.0)

    def grow(self, n_new: int) -> None:
        """Add objects."""
        self.anchored, self.appearances = (np.pad(counts, (0, n_new)) for counts in (self.anchored, self.appearances))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, as arrays of numbers."""
        return {"anchored": self.anchored, "appearances": self.appearances, "bins": self.bins}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_objects: int) -> Self:
        """Restore a record from its `arrays`."""
        record = cls(n_objects)
        for name, own in record.arrays().items():
            own[:] = shaped(arrays, name, own.shape, np.int64)
        return record


def _bins(n_learned: NDArray[np.integer[Any]], wrong: NDArray[np.bool_]) -> Counts:
    bins = np.zeros((len(_ENDS) + 1, 3), np.int64)
    where = np.searchsorted(_ENDS, n_learned, side="right")
    np.add.at(bins, where, np.stack([np.ones_like(n_learned), wrong, n_learned], axis=1))
    return bins

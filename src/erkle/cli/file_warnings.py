"""What a file of answers looks like from afar: sorted, or with a header that was taken for an answer."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from erkle.cli.facts import some
from erkle.triplets import Labels

__all__ = ["Looks"]

_COLUMNS = ("anchor", "near", "far")


class Looks:
    """Counts kept while a file is read, and the remarks that follow from them."""

    def __init__(self) -> None:
        self.n_answers = 0
        self._n_repeated = np.zeros(3, np.int64)
        self._first: NDArray[np.int64] | None = None
        self._n_first_again = 0

    def see(self, T: NDArray[np.int64]) -> None:
        """Count some more answers."""
        if self._first is None:
            self._first = T[0]
            self._n_first_again = -3
        self.n_answers += len(T)
        self._n_repeated += np.count_nonzero(T[1:] == T[:-1], axis=0)
        if self._n_first_again <= 0:
            self._n_first_again += int(np.isin(T, self._first).sum())

    def remarks(self, name: str, labels: Labels, shuffled: bool) -> Iterator[str]:
        """Sentences a user would rather read before learning than after."""
        if self._first is not None and self.n_answers > 10 and self._n_first_again <= 0:
            names = some([labels.names[i] for i in self._first])
            yield (
                f"The first answer of {name} ({names}) names objects that no other answer does. If it is a header, "
                "call its columns anchor, near, far."
            )
        column = int(np.argmax(self._n_repeated))
        if not shuffled and self.n_answers > 100 and self._n_repeated[column] > 0.9 * self.n_answers:
            yield (
                f"{name} looks sorted: most answers have the same {_COLUMNS[column]} object as the one before. "
                "A learner forgets what it sees first; add --shuffle to learn in a random order."
            )

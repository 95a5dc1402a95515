"""Multi-pass replay: after 2β answers, each new answer is followed by β - 1 answers drawn from all seen so far.

The draws are made row by row from one generator, so any split of a stream into calls gives the same draws.
"""

import sys
from typing import cast

import numpy as np
from numpy.typing import NDArray

from erkle.kernels.looping import Stretch


def generator(random_state: int | np.random.Generator | np.random.RandomState | None) -> np.random.Generator:
    """A new generator, always of the same kind, so that its state can be saved.

    >>> generator(7).random() == generator(7).random()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return np.random.Generator(np.random.PCG64(int(random_state.integers(2**63))))
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(np.random.PCG64(random_state.randint(2**31)))
    try:
        return np.random.Generator(np.random.PCG64(random_state))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state is {random_state!r}; pass None, an integer of at least 0 or a numpy Generator."
        ) from error


class Replay:
    """The answers seen so far, and the generator that draws from them.

    With one pass only the last ``keep`` answers are kept. The buffer has room for twice as many, so that answers are
    rarely moved within it.
    """

    def __init__(self, passes: int, rng: np.random.Generator, keep: int = 0) -> None:
        self.passes = passes
        self.rng = rng
        self.keep = sys.maxsize if passes > 1 else keep
        self.seen = 0
        self._kept = 0
        # Rows (anchor, near, far, number of the participant).
        self._history = np.empty((0, 4), np.int32)

    @property
    def history(self) -> NDArray[np.int32]:
        """The answers that are kept, in order of arrival, as rows (anchor, near, far)."""
        return self._rows[:, :3]

    @property
    def participants(self) -> NDArray[np.int32]:
        """The number of the participant who gave each of them; 0 if unknown."""
        return self._rows[:, 3]

    @property
    def _rows(self) -> NDArray[np.int32]:
        return self._history[max(0, self._kept - self.keep) : self._kept]

    def restore(self, seen: int, history: NDArray[np.int32], participants: NDArray[np.int32]) -> None:
        """Continue where another replay stopped."""
        self.seen, self._kept = seen, len(history)
        self._history = np.column_stack([history, participants])

    def schedule(self, T: NDArray[np.int64], participants: NDArray[np.int32]) -> Stretch:
        """The rows to learn for the new answers T, given by these participants."""
        numbers = np.arange(self.seen + 1, self.seen + 1 + len(T))
        draws = self.rng.random((len(T), self.passes - 1))
        self.seen += len(T)
        remembered = False
        try:
            if self.keep:
                self._remember(T, participants)
                remembered = True
            return self._stretch(T, numbers, draws)
        except BaseException:
            # Too little memory: nothing of T has been learned.
            if remembered:
                self._kept -= len(T)
            self.seen -= len(T)
            self._rewind(len(T))
            raise

    def _stretch(self, T: NDArray[np.int64], numbers: NDArray[np.int64], draws: NDArray[np.float64]) -> Stretch:
        if self.passes == 1:
            return Stretch.of(T, numbers, np.arange(len(T)))
        drawn = (draws * numbers[:, None]).astype(np.int64)
        rows = np.concatenate([T[:, None], self._history[drawn, :3]], axis=1)
        counted = numbers[:, None] + np.arange(self.passes)
        # The first 2β answers are learned once. Their draws are made nevertheless, so that row j always has draw j.
        wanted = np.broadcast_to(numbers[:, None] > 2 * self.passes, counted.shape).copy()
        wanted[:, 0] = True
        new = np.cumsum(wanted.sum(axis=1)) - wanted.sum(axis=1)
        return Stretch.of(np.ascontiguousarray(rows[wanted]), counted[wanted], new)

    def forget(self, n_triplets: int) -> None:
        """Undo the scheduling of the last answers, which were not learned. Their draws will be repeated."""
        self.seen -= n_triplets
        self._kept = max(0, self._kept - n_triplets)
        self._rewind(n_triplets)

    def _rewind(self, n_triplets: int) -> None:
        """Set the generator back to before the draws of the last answers."""
        bits = cast(np.random.PCG64, self.rng.bit_generator)
        bits.advance(-n_triplets * (self.passes - 1) % 2**128)

    def _remember(self, T: NDArray[np.int64], participants: NDArray[np.int32]) -> None:
        if self._kept + len(T) > 2 * self.keep:
            last = self._rows.copy()
            self._kept = len(last)
            self._history[: self._kept] = last
        needed = self._kept + len(T)
        if needed > len(self._history):
            room = np.empty((max(needed, 2 * len(self._history)), 4), np.int32)
            room[: self._kept] = self._history[: self._kept]
            self._history = room
        self._history[self._kept : needed, :3] = T
        self._history[self._kept : needed, 3] = participants
        self._kept = needed

"""The Python side of the low-rank kernel, K = XX' with r columns: it owns the arrays that the compiled loop changes."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle._compiled import low_rank as compiled
from erkle.checks import compared_by_type, shaped
from erkle.kernels import lapack
from erkle.kernels.kernel import ByCoordinates, Counters
from erkle.kernels.looping import Rule, Stretch, run_loop

Floats = NDArray[np.float64]


@compared_by_type
class LowRank(NamedTuple):
    """A kernel of rank r or less that starts at 0: accurate on people's answers, at a cost that does not grow with n.

    Attributes
    ----------
    rank : int or "auto"
        The largest rank. "auto" chooses the rank, the weight of the trace and the length of the steps while learning.
    trace : float or None
        Weight of the trace of K in the loss of each answer: every move reduces the eigenvalues by its rate times this
        weight. None means 0 if the rank is a number, and a weight chosen while learning if the rank is "auto".
    consolidate : "auto", "off" or float
        Whether all answers are kept and fitted again from time to time, with online steps in between. A number s
        fits them again whenever their number has grown by the share s since the last fit. "auto" follows a tuned
        schedule if the rank is "auto", and is "off" otherwise.

    Examples
    --------
    >>> from erkle import ERKLE, LowRank
    >>> learner = ERKLE(n_objects=4, kernel=LowRank(2)).fit([(0, 1, 2), (0, 1, 3), (2, 3, 0)])
    >>> learner.embedding().shape
    (4, 2)
    """

    rank: int | str = "auto"
    trace: float | None = None
    consolidate: str | float = "auto"

    @property
    def chooses(self) -> bool:
        """Whether the rank, the trace and the steps are chosen while learning."""
        return self.rank == "auto"

    @property
    def consolidates(self) -> bool:
        """Whether all answers are kept and fitted again from time to time."""
        return self.chooses if self.consolidate == "auto" else self.consolidate not in ("off", 0)

    @property
    def follows_rule(self) -> bool:
        """Whether the loss, step and direction of the learner decide how an answer moves the kernel."""
        return not (self.chooses or self.consolidates)


class LowRankKernel(ByCoordinates):
    """K = Q diag(values) Q' + diag(shifts), where Q has r columns or fewer."""

    def __init__(self, n_objects: int, rank: int, trace: float = 0.0) -> None:
        memory = np.zeros(1, compiled.memory_dtype)
        memory["trace"] = trace
        gram, values, shifts = np.zeros((rank, rank)), np.zeros(rank), np.zeros(n_objects)
        self._hold(np.zeros((n_objects, rank)), np.eye(rank), gram, values, shifts, memory)

    def _hold(self, B: Floats, R: Floats, gram: Floats, values: Floats, shifts: Floats, memory: Any) -> None:
        # When the room is used up, it grows by half, so that adding an object costs O(r) on average.
        self._room = B, shifts
        self._state = compiled.LowRankState(B, R, gram, values, shifts, memory, np.zeros((3, len(values))))

    @classmethod
    def of_map(cls, X: Floats, rank: int, trace: float, shifts: Floats | None = None, shift_rate: float = 0.0) -> Self:
        """The kernel XX', cut to ``rank``, plus a diagonal of shifts; it can learn further answers.

        An answer moves the shifts ``shift_rate`` times as far as it moves the diagonal.
        """
        kernel = cls(len(X), rank, trace)
        if shifts is not None:
            kernel._state.shifts[:] = shifts
            kernel._state.memory["shift_rate"] = shift_rate
        # The small matrix X'X gives the eigenvectors of XX'; directions that are only rounding are left out.
        values, vectors = np.linalg.eigh(X.T @ X)
        values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        kept = int(np.count_nonzero(values > 1e-9 * max(values[0], 1e-200))) if len(values) else 0
        state = kernel._state
        state.B[:, :kept] = X @ (vectors[:, :kept] / np.sqrt(values[:kept]))
        state.gram[:kept, :kept] = state.B[:, :kept].T @ state.B[:, :kept]
        state.values[:kept] = values[:kept]
        state.memory["size"] = kept
        return kernel

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Restore a kernel from its `arrays`; it continues exactly like the original."""
        n, rank = arrays["B"].shape
        shapes = {"B": (n, rank), "R": (rank, rank), "gram": (rank, rank), "values": (rank,), "shifts": (n,)}
        kernel = cls.__new__(cls)
        memory = np.zeros(1, compiled.memory_dtype)
        memory[0] = tuple(shaped(arrays, "memory", (len(compiled.memory_dtype.names or ()),)))
        kernel._hold(**{name: shaped(arrays, name, shape) for name, shape in shapes.items()}, memory=memory)
        return kernel

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The complete state, as plain arrays of numbers."""
        B, R, gram, values, shifts, memory, _ = self._state
        numbers = np.array(memory[0].item(), dtype=np.float64)
        return {"B": B, "R": R, "gram": gram, "values": values, "shifts": shifts, "memory": numbers}

    def __reduce__(self) -> tuple[Any, ...]:
        # The default copy would hold B twice, and its rows would no longer be a view of the room to grow.
        return type(self).from_arrays, (self.arrays(),)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self._state.B)

    @property
    def rank(self) -> int:
        """Largest rank."""
        return len(self._state.values)

    @property
    def counters(self) -> Counters:
        """How often answers moved the kernel; each move solves one small eigenproblem."""
        memory = self._state.memory[0]
        n_active = int(memory["n_active"])
        return Counters(n_active, 0, n_active, int(memory["n_projections"]))

    def coordinates(self, ids: ArrayLike | slice) -> Floats:
        """Coordinates of some objects: rows of X, where K = XX' + diag(shifts); the longest columns come first."""
        state = self._state
        size = int(state.memory["size"][0])
        with lapack.one_thread(self.n_objects):
            return np.asarray(state.B[ids, :size] @ (state.R[:size, :size] * np.sqrt(state.values[:size])))

    @property
    def shifts(self) -> Floats:
        """The diagonal, (n,): what is added to the squared distance between each object and every other object."""
        return np.array(self._state.shifts)

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""
        return excess(*(self.coordinates(ids) for ids in T.T), *self._state.shifts[T[:, 1:].T])

    def distances(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) and d²(a, c) of each row, (m, 2)."""
        return distances(*(self.coordinates(ids) for ids in T.T), *self._state.shifts[T.T])

    def grow(self, n_new: int) -> None:
        """Add objects at the origin."""
        B, shifts = self._state.B, self._state.shifts
        n, room = len(B), len(self._room[0])
        if n + n_new > room:
            room = max(n + n_new, math.ceil(1.5 * n))
            self._room = np.zeros((room, B.shape[1])), np.zeros(room)
            self._room[0][:n], self._room[1][:n] = B, shifts
        # A new object gets the mean shift.
        self._room[1][n : n + n_new] = shifts.mean()
        self._state = self._state._replace(B=self._room[0][: n + n_new], shifts=self._room[1][: n + n_new])

    def grow_to(self, places: Floats, shift: float) -> None:
        """Add objects at places in the frame of `embedding`, with this shift."""
        shifts, before = np.append(self.shifts, np.full(len(places), shift)), self._state.memory[0]
        X = np.concatenate([self.embedding(), places])
        grown = type(self).of_map(X, self.rank, before["trace"], shifts, before["shift_rate"])
        for name in ("n_active", "n_projections", "n_multiplied"):
            grown._state.memory[name] = before[name]
        self._room, self._state = grown._room, grown._state

    def move_away(self, ids: NDArray[np.int64], by: float) -> None:
        """Increase the squared distances between these objects and all others."""
        self._state.shifts[ids] += by

    def learn(self, rule: Rule, stretch: Stretch) -> None:
        """Learn the rows in order. If a row cannot be learned, raise; its excess and all later ones stay NaN."""
        run_loop(self._state, rule, stretch, 0)


class Mixture(ByCoordinates):
    """A mixture of low-rank kernels, K = sum of share · K_i; it is again a low-rank kernel.

    It reads the current state of its kernels, which may go on learning. Kernels with a share of zero are left out.

    Parameters
    ----------
    parts : pairs of a LowRankKernel and its share
        The kernels and their factors.
    leader : LowRankKernel
        The kernel whose counters the mixture reports.
    """

    def __init__(self, parts: Iterable[tuple[LowRankKernel, float]], leader: LowRankKernel) -> None:
        self.parts, self._leader = [part for part in parts if part[1] > 0.0], leader

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self._leader.n_objects

    @property
    def shifts(self) -> Floats:
        """The shifts of all kernels, weighted by their shares, (n,)."""
        return np.asarray(sum(share * kernel.shifts for kernel, share in self.parts))

    @property
    def counters(self) -> Counters:
        """The counters of the leader."""
        return self._leader.counters

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""
        return np.asarray(sum(share * kernel.excess(T) for kernel, share in self.parts))

    def distances(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) and d²(a, c) of each row, (m, 2)."""
        return np.asarray(sum(share * kernel.distances(T) for kernel, share in self.parts))

    def coordinates(self, ids: ArrayLike | slice) -> Floats:
        """Coordinates of some objects: the scaled coordinates of all kernels, side by side."""
        return np.concatenate([np.sqrt(share) * kernel.coordinates(ids) for kernel, share in self.parts], axis=1)


def excess(a: Floats, b: Floats, c: Floats, shift_b: Floats | float = 0.0, shift_c: Floats | float = 0.0) -> Floats:
    """d²(a, b) - d²(a, c) of each row, from (m, r) coordinates and the (m,) shifts of b and c."""
    near, far = ((a - b) ** 2).sum(axis=1) + shift_b, ((a - c) ** 2).sum(axis=1) + shift_c
    return np.asarray(near - far)


def distances(a: Floats, b: Floats, c: Floats, shift_a: Floats, shift_b: Floats, shift_c: Floats) -> Floats:
    """d²(a, b) and d²(a, c) of each row, (m, 2), from (m, r) coordinates and (m,) shifts."""
    near, far = ((a - b) ** 2).sum(axis=1) + shift_b, ((a - c) ** 2).sum(axis=1) + shift_c
    return np.stack([shift_a + near, shift_a + far], axis=1)

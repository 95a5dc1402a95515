"""The low-rank kernel in Python: K = XX' with r columns, of which only three rows and a rotation change at a time."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle._compiled import low_rank as compiled
from erkle.checks import shaped
from erkle.kernels import lapack
from erkle.kernels.kernel import ByCoordinates, Counters
from erkle.kernels.looping import Rule, Stretch, go_on

Floats = NDArray[np.float64]


class LowRank(NamedTuple):
    """K of rank r or less, started at 0: what people's answers hold, at a cost that does not grow with n.

    Attributes
    ----------
    rank : int or "auto"
        The largest rank; "auto" chooses it, the weight of the trace and the length of the steps while learning.
    trace : float or None
        Weight of the trace of K in the loss of each answer: every move shrinks the eigenvalues by its rate times
        this. None is 0, and chosen where the rank is.
    consolidate : "auto", "off" or float
        Whether all answers are fitted again now and then, with online steps in between: a share s does so whenever
        there are s times more answers than at the last time, and keeps all answers for it. "auto" is a good schedule
        where the rank is chosen, and "off" where it is given.

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
        """Whether rank, trace and steps are chosen while learning."""
        return self.rank == "auto"

    @property
    def consolidates(self) -> bool:
        """Whether all answers are kept, and fitted again now and then."""
        return self.chooses if self.consolidate == "auto" else self.consolidate not in ("off", 0)

    @property
    def follows_rule(self) -> bool:
        """Whether answers move it by the loss, step and direction of the learner, rather than by its own."""
        return not (self.chooses or self.consolidates)


class LowRankKernel(ByCoordinates):
    """K = Q diag(values) Q' + diag(shifts), the first of rank r or less."""

    def __init__(self, n_objects: int, rank: int, trace: float = 0.0) -> None:
        memory = np.zeros(1, compiled.memory_dtype)
        memory["trace"] = trace
        gram, values, shifts = np.zeros((rank, rank)), np.zeros(rank), np.zeros(n_objects)
        self._hold(np.zeros((n_objects, rank)), np.eye(rank), gram, values, shifts, memory)

    def _hold(self, B: Floats, R: Floats, gram: Floats, values: Floats, shifts: Floats, memory: Any) -> None:
        # There is room for half as many objects more when it is used up, so that adding one costs O(r) in the mean.
        self._room = B, shifts
        self._state = compiled.LowRankState(B, R, gram, values, shifts, memory, np.zeros((3, len(values))))

    @classmethod
    def of_map(cls, X: Floats, rank: int, trace: float, shifts: Floats | None = None, shift_rate: float = 0.0) -> Self:
        """The kernel XX' of rank ``rank`` at most, plus a diagonal of shifts, to go on with.

        Answers move the shifts by ``shift_rate`` times as much as they move the diagonal.
        """
        kernel = cls(len(X), rank, trace)
        if shifts is not None:
            kernel._state.shifts[:] = shifts - shifts.min()
            kernel._state.memory["shift_rate"] = shift_rate
        # The eigenvectors of XX' by the small matrix X'X; directions lost in rounding are left out.
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
        """The kernel that `arrays` came from; it goes on exactly as that one would."""
        n, rank = arrays["B"].shape
        shapes = {"B": (n, rank), "R": (rank, rank), "gram": (rank, rank), "values": (rank,), "shifts": (n,)}
        kernel = cls.__new__(cls)
        memory = np.zeros(1, compiled.memory_dtype)
        memory[0] = tuple(shaped(arrays, "memory", (len(compiled.memory_dtype.names or ()),)))
        kernel._hold(**{name: shaped(arrays, name, shape) for name, shape in shapes.items()}, memory=memory)
        return kernel

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of the state, as plain arrays of numbers."""
        B, R, gram, values, shifts, memory, _ = self._state
        numbers = np.array(memory[0].item(), dtype=np.float64)
        return {"B": B, "R": R, "gram": gram, "values": values, "shifts": shifts, "memory": numbers}

    def __reduce__(self) -> tuple[Any, ...]:
        # Field by field, a copy would hold B twice, and the rows in use apart from the room to grow into.
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
        return Counters(n_active, n_active, int(memory["n_projections"]))

    def coordinates(self, ids: ArrayLike | slice) -> Floats:
        """Coordinates of some objects, rows of X with K = XX' but for the diagonal; columns by falling length."""
        state = self._state
        size = int(state.memory["size"][0])
        with lapack.one_thread(self.n_objects):
            return np.asarray(state.B[ids, :size] @ (state.R[:size, :size] * np.sqrt(state.values[:size])))

    @property
    def shifts(self) -> Floats:
        """What is added on the diagonal, (n,): how much farther each object is from all others alike."""
        return np.array(self._state.shifts)

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""
        return excess(*(self.coordinates(ids) for ids in T.T), *self._state.shifts[T[:, 1:].T])

    def grow(self, n_new: int) -> None:
        """Add objects at the origin: like everything and nothing."""
        B, shifts = self._state.B, self._state.shifts
        n, room = len(B), len(self._room[0])
        if n + n_new > room:
            room = max(n + n_new, math.ceil(1.5 * n))
            self._room = np.zeros((room, B.shape[1])), np.zeros(room)
            self._room[0][:n], self._room[1][:n] = B, shifts
        # One that is new is as far from the others as they are in the mean.
        self._room[1][n : n + n_new] = shifts.mean()
        self._state = self._state._replace(B=self._room[0][: n + n_new], shifts=self._room[1][: n + n_new])

    def learn(self, rule: Rule, stretch: Stretch) -> None:
        """Learn the rows in order; what cannot be learned raises, and its excess and those behind it stay NaN."""
        go_on(self._state, rule, stretch, 0)


class Mixture(ByCoordinates):
    """A mixture of low-rank kernels: K = the sum of share · K_i, which is a kernel of low rank again.

    It reads the kernels whose shares are above zero, as they are now: they may go on learning.

    Parameters
    ----------
    parts : pairs of a LowRankKernel and its share
        Each kernel, and what it is multiplied by.
    leader : LowRankKernel
        The kernel whose counters are those of the mixture.
    """

    def __init__(self, parts: Iterable[tuple[LowRankKernel, float]], leader: LowRankKernel) -> None:
        self.parts, self._leader = [part for part in parts if part[1] > 0.0], leader

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self._leader.n_objects

    @property
    def shifts(self) -> Floats:
        """The shifts of all kernels by their shares, (n,)."""
        return np.asarray(sum(share * kernel.shifts for kernel, share in self.parts))

    @property
    def counters(self) -> Counters:
        """The counters of the leader."""
        return self._leader.counters

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""
        return np.asarray(sum(share * kernel.excess(T) for kernel, share in self.parts))

    def coordinates(self, ids: ArrayLike | slice) -> Floats:
        """Coordinates of some objects: those under each kernel, side by side."""
        return np.concatenate([np.sqrt(share) * kernel.coordinates(ids) for kernel, share in self.parts], axis=1)


def excess(a: Floats, b: Floats, c: Floats, shift_b: Floats, shift_c: Floats) -> Floats:
    """d²(a, b) - d²(a, c) of each row: (m, r) coordinates, and (m,) shifts of the two candidates."""
    near, far = ((a - b) ** 2).sum(axis=1) + shift_b, ((a - c) ** 2).sum(axis=1) + shift_c
    return np.asarray(near - far)

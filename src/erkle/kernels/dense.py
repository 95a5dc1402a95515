"""The dense kernel of the paper: its specification, and the Python side of the state that the compiled loop changes.

With ``projection="eigh"``, the literal algorithm, LAPACK computes every eigenpair; otherwise it does so only where
Lanczos fails. Where the loop stops for Python depends only on the rows learned so far, so any split of a stream gives
the same kernel.
"""

from contextlib import nullcontext
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import embedding
from erkle._compiled import dense as compiled
from erkle._compiled.buffered import Buffered, apply
from erkle.checks import compared_by_type, shaped
from erkle.interruption import uninterrupted
from erkle.kernels import lapack, upkeep
from erkle.kernels.forms import Form, check_reading
from erkle.kernels.kernel import LARGEST_MATRIX_SAVED, Counters
from erkle.kernels.looping import Rule, Stretch, run_loop

Projection = Literal["inverse", "eigh"]

# Default for the relative residual of an eigenpair.
DEFAULT_TOL = 1e-2
# Answers in a block, times n²: a block takes at most half a second, so that Ctrl-C takes effect within a second.
_BLOCK_ENTRIES = 2**28


@compared_by_type
class Dense(NamedTuple):
    """The exact kernel of the paper: an n × n matrix, projected onto the positive semidefinite cone.

    Attributes
    ----------
    tol : float
        Largest relative residual of the eigenpair that a projection removes, from 1e-12 to 0.5.
    projection : {"inverse", "eigh"}
        How to compute that eigenpair: "inverse" runs Lanczos on a maintained inverse; "eigh" calls LAPACK for every
        projection, as the paper describes it, and needs no ``tol``.
    initial : (n, n) array or None
        The positive semidefinite matrix to start from; None is the identity. Centre it: ``tol`` is relative to its
        mean diagonal, so that a large constant in all entries would hide small negative eigenvalues.

    Examples
    --------
    >>> from erkle import ERKLE, Dense
    >>> learner = ERKLE(n_objects=4, kernel=Dense()).fit([(0, 1, 2), (0, 1, 3), (2, 3, 0)])
    >>> learner.kernel_matrix().shape
    (4, 4)
    """

    tol: float = DEFAULT_TOL
    projection: Projection = "inverse"
    initial: ArrayLike | None = None

    @property
    def consolidates(self) -> bool:
        """Whether all answers are kept and fitted again from time to time: never."""
        return False

    @property
    def follows_rule(self) -> bool:
        """Whether the loss, step and direction of the learner decide how an answer moves the kernel: always."""
        return True


class DenseKernel:
    """K, an exact n × n matrix: each answer moves a few entries, then K is projected onto the cone.

    The kernel owns the matrix K that it starts from.
    """

    _projected: NDArray[np.float64] | None = None

    def __init__(self, K: NDArray[np.float64], tol: float, projection: Projection) -> None:
        self._state = upkeep.new_state(np.ascontiguousarray(K, np.float64), tol, projection == "eigh")

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Restore a kernel from its `arrays`; it continues exactly like the original."""
        n, room = len(arrays["K"]), len(arrays["K_pending"])
        kernel = cls.__new__(cls)
        memory = np.zeros(1, compiled.memory_dtype)
        memory[0] = tuple(shaped(arrays, "memory", (len(compiled.memory_dtype.names or ()),)))
        dtype = np.float32 if arrays["P"].dtype == np.float32 else np.float64
        size = n if len(arrays["P"]) else 0
        P = shaped(arrays, "P", (size, size), dtype)
        kernel._state = upkeep.state_of(shaped(arrays, "K", (n, n)), P, memory, Form(room, dtype))
        K, P = kernel._state.K, kernel._state.P
        K.pending[:] = shaped(arrays, "K_pending", (room, n))
        P.pending[:] = shaped(arrays, "P_pending", (room, size), dtype)
        K.counts[:], P.counts[:] = shaped(arrays, "pending", (2, 2), np.int64)
        return kernel

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The complete state, as plain arrays of numbers."""
        K, P = self._state.K, self._state.P
        return {
            "K": K.lower,
            "P": P.lower,
            "K_pending": K.pending,
            "P_pending": P.pending,
            "pending": np.array([K.counts, P.counts]),
            "memory": np.array(self._state.memory[0].item(), dtype=np.float64),
        }

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self._state.K.lower)

    @property
    def block(self) -> int:
        """How many answers to learn at once."""
        # With ``projection="eigh"`` there is no P, and an answer takes a decomposition.
        passes = 1 if len(self._state.P.lower) else max(1, self.n_objects // 4)
        return max(1, _BLOCK_ENTRIES // (passes * self.n_objects**2))

    @property
    def counters(self) -> Counters:
        """How often answers moved the kernel, and what the moves cost."""
        memory = self._state.memory[0]
        return Counters(*(int(memory[name]) for name in Counters._fields))

    @property
    def shifts(self) -> NDArray[np.float64]:
        """Zeros, (n,): the matrix alone holds all distances."""
        return np.zeros(self.n_objects)

    def unprojected(self) -> NDArray[np.float64]:
        """K as it is stored: positive semidefinite up to the tolerance of the eigenpairs."""
        K = self._state.K
        copy = Buffered(K.lower.copy(), K.pending, K.counts.copy())
        with lapack.one_thread(self.n_objects):
            apply(copy)
        return lapack.mirrored(copy.lower)

    def matrix(self) -> NDArray[np.float64]:
        """A copy of K, projected exactly if necessary."""
        return self._exact().copy()

    def _exact(self) -> NDArray[np.float64]:
        if self._projected is None:
            check_reading(self.n_objects)
            with lapack.one_thread(self.n_objects):
                self._projected = lapack.projected(self.unprojected())
        return self._projected

    def embedding(self, n_components: int | None = None) -> NDArray[np.float64]:
        """Coordinates, ordered by decreasing variance.

        A large kernel is not projected first: that takes long and hardly moves the first few coordinates.
        """
        large = n_components is not None and self.n_objects > LARGEST_MATRIX_SAVED
        return embedding.embed(self.unprojected() if large else self._exact(), n_components)

    def coordinates(self, ids: ArrayLike | slice) -> NDArray[np.float64]:
        """Coordinates of some objects."""
        return np.asarray(self.embedding()[ids if isinstance(ids, slice) else np.asarray(ids)])

    def readable(self) -> dict[str, NDArray[np.float64]]:
        """The kernel, if there are not too many objects."""
        return {"kernel": self._exact()} if self.n_objects <= LARGEST_MATRIX_SAVED else {}

    def excess(self, T: NDArray[np.int64]) -> NDArray[np.float64]:
        """d²(a, b) - d²(a, c) of each row."""
        return self._read(T)[:, 2]

    def distances(self, T: NDArray[np.int64]) -> NDArray[np.float64]:
        """d²(a, b) and d²(a, c) of each row, (m, 2)."""
        return np.maximum(self._read(T)[:, :2], 0.0)

    def _read(self, T: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.empty((len(T), 3))
        compiled.all_distances(self._state, np.array(T, np.int64, order="C"), found)
        return found

    def grow(self, n_new: int) -> None:
        """Add objects that are similar to no other object: ones on the diagonal, zeros elsewhere."""
        if n_new == 0:
            return
        self._state = upkeep.finish(self._state)
        self._state = upkeep.grown(self._state, n_new)
        self._projected = None

    def learn(self, rule: Rule, stretch: Stretch) -> None:
        """Learn the rows in order. If a row cannot be learned, raise; its excess and all later ones stay NaN."""
        self._projected = None
        # Plain loops need no BLAS, and setting its threads takes longer than an answer.
        threads = lapack.one_thread(self.n_objects) if len(self._state.K.pending) else nullcontext()
        position = 0
        self._state = upkeep.finish(self._state)
        while position < len(stretch.rows):
            with threads:
                position, _ = run_loop(self._state, rule, stretch, position)
            # An answer and the answers replayed after it are learned together.
            divides = position < len(stretch.rows) and position not in stretch.new
            with uninterrupted() if divides else nullcontext():
                self._state = upkeep.finish(self._state)

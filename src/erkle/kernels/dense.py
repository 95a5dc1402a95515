"""The Python side of the dense kernel: it owns the arrays and does what the compiled loop cannot.

The loop stops when it needs an eigenpair from LAPACK or a new inverse. With ``projection="eigh"``, the literal
algorithm, LAPACK computes every eigenpair; otherwise it does so only where Lanczos fails.
Where the loop stops depends only on the rows learned so far, so any split of a stream gives the same kernel.
"""

import warnings
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import embedding
from erkle._compiled import dense as compiled
from erkle._compiled import moves
from erkle._compiled.lanczos import Krylov
from erkle.checks import compared_by_type, shaped
from erkle.kernels import lapack
from erkle.kernels.kernel import Counters
from erkle.kernels.looping import Rule, Stretch, run_loop

Projection = Literal["inverse", "eigh"]

# Default for the relative residual of an eigenpair.
DEFAULT_TOL = 1e-2
# Largest Krylov basis, in vectors. Four vectors are enough on average; LAPACK takes over where 48 are not.
_LARGEST_BASIS = 48
# Most entries of K that a block of answers may visit if each answer visits all of them; a quarter of a second or so.
_BLOCK_ENTRIES = 2**26
# First value of sigma, as a share of the kernel's mean diagonal; the mean depth of projections replaces it later.
_FIRST_SIGMA = 0.03


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
        The positive semidefinite matrix to start from; None is the identity.

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
    """K, an exact n × n matrix: each answer moves a few entries, then K is projected onto the cone."""

    def __init__(self, K: NDArray[np.float64], tol: float, projection: Projection) -> None:
        n = len(K)
        scale = float(np.mean(np.diag(K))) or 1.0
        memory = np.zeros(1, compiled.memory_dtype)
        memory["bound"] = max(0.0, _smallest_eigenvalue(K))
        memory["sigma"] = _FIRST_SIGMA * scale
        memory["tol"] = tol
        P = np.zeros((n, n) if projection == "inverse" else (0, 0))
        self._hold(np.array(K, dtype=np.float64, order="C"), P, memory)
        if projection == "inverse":
            self._build_inverse()

    def _hold(self, K: NDArray[np.float64], P: NDArray[np.float64], memory: NDArray[np.void]) -> None:
        n = len(K)
        room = min(_LARGEST_BASIS, n) + 1
        krylov = Krylov(np.zeros((room, n)), *(np.zeros(room) for _ in range(4)))
        self._state = compiled.DenseState(K, P, memory, np.zeros((4, n)), np.zeros(3), krylov)
        self._projected: NDArray[np.float64] | None = None

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Restore a kernel from its `arrays`; it continues exactly like the original."""
        n = len(arrays["K"])
        kernel = cls.__new__(cls)
        memory = np.zeros(1, compiled.memory_dtype)
        memory[0] = tuple(shaped(arrays, "memory", (len(compiled.memory_dtype.names or ()),)))
        P = shaped(arrays, "P", (n, n) if len(arrays["P"]) else (0, 0))
        kernel._hold(shaped(arrays, "K", (n, n)), P, memory)
        return kernel

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The complete state, as plain arrays of numbers."""
        memory = np.array(self._state.memory[0].item(), dtype=np.float64)
        return {"K": self._state.K, "P": self._state.P, "memory": memory}

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self._state.K)

    @property
    def block(self) -> int:
        """How many answers to learn at once."""
        return max(1, _BLOCK_ENTRIES // self.n_objects**2)

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
        return lapack.symmetric(self._state.K)

    def matrix(self) -> NDArray[np.float64]:
        """A copy of K, projected exactly if necessary."""
        return self._exact().copy()

    def _exact(self) -> NDArray[np.float64]:
        if self._projected is None:
            with lapack.one_thread(self.n_objects):
                self._projected = lapack.projected(self.unprojected())
        return self._projected

    def embedding(self, n_components: int | None = None) -> NDArray[np.float64]:
        """Coordinates, ordered by decreasing variance."""
        return embedding.embed(self._exact(), n_components)

    def coordinates(self, ids: ArrayLike | slice) -> NDArray[np.float64]:
        """Coordinates of some objects."""
        return np.asarray(self.embedding()[ids if isinstance(ids, slice) else np.asarray(ids)])

    def readable(self) -> dict[str, NDArray[np.float64]]:
        """The kernel."""
        return {"kernel": self._exact()}

    def excess(self, T: NDArray[np.int64]) -> NDArray[np.float64]:
        """d²(a, b) - d²(a, c) of each row."""
        K = self._state.K
        a, b, c = T.T
        near = K[b, b] - 2.0 * K[np.maximum(a, b), np.minimum(a, b)]
        far = K[c, c] - 2.0 * K[np.maximum(a, c), np.minimum(a, c)]
        return np.asarray(near - far)

    def distances(self, T: NDArray[np.int64]) -> NDArray[np.float64]:
        """d²(a, b) and d²(a, c) of each row, (m, 2)."""
        K, a, others = self._state.K, T[:, :1], T[:, 1:]
        squares = K[a, a] + K[others, others] - 2.0 * K[np.maximum(a, others), np.minimum(a, others)]
        return np.asarray(np.maximum(squares, 0.0))

    def grow(self, n_new: int) -> None:
        """Add objects that are similar to no other object: ones on the diagonal, zeros elsewhere."""
        if n_new == 0:
            return
        K, P, memory = self._state.K, self._state.P, self._state.memory
        memory["bound"] = min(memory["bound"][0], 1.0)
        if len(P):
            P = _bordered(P, n_new, 1.0 / (1.0 + memory["sigma"][0]))
        self._hold(_bordered(K, n_new, 1.0), P, memory)

    def learn(self, rule: Rule, stretch: Stretch) -> None:
        """Learn the rows in order. If a row cannot be learned, raise; its excess and all later ones stay NaN."""
        self._projected = None
        if self._state.memory["bound"][0] < 0.0:
            # An interruption came after the loop had asked for an eigenpair and before the projection.
            self._project()
        position = 0
        while position < len(stretch.rows):
            position, status = run_loop(self._state, rule, stretch, position)
            if status == moves.NEEDS_EIGENPAIR:
                self._project()
            elif status == moves.NEEDS_INVERSE:
                self._build_inverse()
            elif status == moves.NEEDS_BOUND:
                self._raise_bound()

    def _project(self) -> None:
        K, P, memory = self._state.K, self._state.P, self._state.memory
        with lapack.one_thread(len(K)):
            value, vector = lapack.smallest_eigenpair(K)
        if value < 0.0:
            memory["n_projections"] += 1
            K -= value * np.outer(vector, vector)
        if len(P):
            self._build_inverse()
        # This comes last: a negative bound marks a projection that is not finished.
        memory["bound"] = max(0.0, value)

    def _raise_bound(self) -> None:
        memory = self._state.memory
        memory["bound"] = max(0.0, _smallest_eigenvalue(self._state.K))
        memory["n_eigenpairs"] += 1
        memory["quiet"] = 0

    def _build_inverse(self) -> None:
        K, P, memory = self._state.K, self._state.P, self._state.memory
        least_sigma = 1e-6 * max(np.diag(K).max(), 1e-200)
        sigma = memory["sigma"][0]
        if memory["projections"] > len(K) // 2:
            sigma = max(least_sigma, memory["depth"][0] / memory["projections"][0])
        with lapack.one_thread(len(K)):
            inverse = lapack.inverse(K, sigma)
            if inverse is None:
                warnings.warn(
                    "The kernel left the positive semidefinite cone by more than its tolerance and was projected back; "
                    "if you see this again, pass a smaller tol to Dense.",
                    RuntimeWarning,
                    stacklevel=6,
                )
                K[:] = lapack.projected(lapack.symmetric(K))
                inverse = lapack.inverse(K, sigma)
        # P and sigma change together, after the slow part, so that an interruption leaves them consistent.
        P[:] = inverse
        memory["least_sigma"], memory["sigma"] = least_sigma, sigma
        memory["updates"] = memory["projections"] = 0
        memory["depth"] = 0.0


def check_initial_kernel(K: Any, n_objects: int) -> NDArray[np.float64]:
    """K as an array of floats, or a `ValueError` if it is not a kernel of ``n_objects`` objects; None: the identity."""
    if K is None:
        return np.eye(n_objects)
    try:
        K = np.asarray(K).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise ValueError("The initial kernel is not an array of numbers; pass a matrix of floats.") from error
    if K.shape != (n_objects, n_objects):
        raise ValueError(f"The initial kernel has shape {K.shape}; pass one of shape ({n_objects}, {n_objects}).")
    if not np.isfinite(K).all():
        raise ValueError("The initial kernel has entries that are not finite; pass finite numbers only.")
    scale = np.abs(K).max()
    if scale > 0.0 and not 1e-100 < scale < 1e100:
        raise ValueError(f"The initial kernel has entries up to {scale:.3g}; scale it to between 1e-100 and 1e100.")
    if np.abs(K - K.T).max() > 1e-8 * scale:
        raise ValueError("The initial kernel is not symmetric; pass (K + K.T) / 2.")
    smallest = _smallest_eigenvalue(K)
    if smallest < -1e-8 * scale:
        raise ValueError(
            f"The initial kernel has the eigenvalue {smallest:.3g}, but a kernel has no negative eigenvalues; "
            "project it onto the positive semidefinite cone first."
        )
    return lapack.projected(0.5 * (K + K.T))


def _smallest_eigenvalue(K: NDArray[np.float64]) -> float:
    if np.array_equal(K, np.diag(np.diag(K))):
        return float(np.diag(K).min())
    with lapack.one_thread(len(K)):
        return lapack.smallest_eigenpair(K)[0]


def _bordered(A: NDArray[np.float64], n_new: int, diagonal: float) -> NDArray[np.float64]:
    n = len(A)
    larger = np.zeros((n + n_new, n + n_new))
    larger[:n, :n] = A
    larger.flat[n * (n + n_new + 1) :: n + n_new + 1] = diagonal
    return larger

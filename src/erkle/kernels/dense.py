"""The Python side of the dense kernel: it owns the arrays and does what the compiled loop cannot.

The loop stops when it needs an eigenpair from LAPACK or a new inverse. With ``projection="eigh"``, the literal
algorithm, LAPACK computes every eigenpair; otherwise it does so only where Lanczos fails.
Where the loop stops depends only on the rows learned so far, so any split of a stream gives the same kernel. What it
stopped for is part of the state until it is done, so an interruption does not change the kernel either.
"""

import warnings
from contextlib import nullcontext
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import embedding
from erkle._compiled import dense as compiled
from erkle._compiled import moves, symmetric
from erkle._compiled.buffered import Buffered, apply
from erkle._compiled.lanczos import Krylov
from erkle.checks import compared_by_type, shaped
from erkle.kernels import lapack
from erkle.kernels.forms import Form, form_for
from erkle.kernels.kernel import Counters
from erkle.kernels.looping import Rule, Stretch, run_loop

Projection = Literal["inverse", "eigh"]

# Default for the relative residual of an eigenpair.
DEFAULT_TOL = 1e-2
# Largest Krylov basis, in vectors. Four vectors are enough on average; LAPACK takes over where 48 are not.
_LARGEST_BASIS = 48
# Answers in a block, times n²: a block takes at most half a second, so that Ctrl-C takes effect within a second.
_BLOCK_ENTRIES = 2**28
# First value of sigma, as a share of the kernel's mean diagonal; the mean depth of projections replaces it later.
_FIRST_SIGMA = 0.03
# Least eigenvalue in the interior, as a share of the kernel's mean diagonal.
_INTERIOR = 0.01
# Least value of sigma, as a share of the largest diagonal entry: for float64 and float32.
_LEAST_SIGMA = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3}


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
        K = np.array(K, dtype=np.float64, order="C")
        memory = np.zeros(1, compiled.memory_dtype)
        memory["tol"] = tol
        if projection == "eigh":
            self._hold(K, np.zeros((0, 0)), memory, Form(0, np.float64))
            self._raise_bound()
            return
        form = form_for(len(K), tol, _mean_diagonal(K))
        self._hold(K, np.empty_like(K, form.dtype), memory, form)
        memory["sigma"] = _FIRST_SIGMA * _mean_diagonal(K)
        if form.room:
            self._enter_interior()
        else:
            self._raise_bound()
            self._build_inverse()

    def _hold(self, K: NDArray[np.float64], P: NDArray[np.floating[Any]], memory: NDArray[np.void], form: Form) -> None:
        n = len(K)
        basis = min(_LARGEST_BASIS, n) + 1
        krylov = Krylov(np.zeros((basis, n), P.dtype), np.zeros((4, basis)))
        K_stored, P_stored = (
            Buffered(A, np.zeros((form.room, len(A)), A.dtype), np.zeros(2, np.int64)) for A in (K, P)
        )
        self._state = compiled.DenseState(K_stored, P_stored, memory, np.zeros((4, n), P.dtype), krylov)
        self._projected: NDArray[np.float64] | None = None

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
        kernel._hold(shaped(arrays, "K", (n, n)), P, memory, Form(room, dtype))
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
        self._finish()
        K, P, memory = self._state.K, self._state.P, self._state.memory
        tol, sigma = memory["tol"][0], memory["sigma"][0]
        with lapack.one_thread(self.n_objects):
            apply(K)
            apply(P)
        memory["bound"] = min(memory["bound"][0], 1.0)
        larger = _bordered(K.lower, n_new, 1.0)
        if not len(P.lower):
            self._hold(larger, P.lower, memory, Form(0, np.float64))
            return
        form = form_for(len(larger), tol, _mean_diagonal(larger))
        if len(P.pending):
            form = form._replace(dtype=P.lower.dtype)
        diagonal = 1.0 / (1.0 + sigma) if sigma > -1.0 else 0.0
        self._hold(larger, _bordered(P.lower.astype(form.dtype, copy=False), n_new, diagonal), memory, form)
        if sigma <= -1.0:
            # The new objects are outside the interior.
            memory["bound"] = 1.0
            self._build_inverse(_FIRST_SIGMA * _mean_diagonal(larger))

    def learn(self, rule: Rule, stretch: Stretch) -> None:
        """Learn the rows in order. If a row cannot be learned, raise; its excess and all later ones stay NaN."""
        self._projected = None
        # Plain loops need no BLAS, and setting its threads takes longer than an answer.
        threads = lapack.one_thread(self.n_objects) if len(self._state.K.pending) else nullcontext()
        position = 0
        self._finish()
        while position < len(stretch.rows):
            with threads:
                position, _ = run_loop(self._state, rule, stretch, position)
            self._finish()

    def _finish(self) -> None:
        """Do what the loop has stopped for. An interruption leaves it due, and the next call does it."""
        memory = self._state.memory
        due = memory["due"][0]
        if due == moves.NEEDS_EIGENPAIR:
            self._project()
        elif due == moves.NEEDS_INVERSE:
            self._use_float64_if_needed()
            self._build_inverse()
        elif due == moves.NOT_CERTIFIED:
            self._leave_interior()
        elif due == moves.NEEDS_BOUND and len(self._state.K.pending):
            self._enter_interior()
        elif due == moves.NEEDS_BOUND:
            memory["n_eigenpairs"] += 1
            self._raise_bound()
        memory["due"] = moves.DONE

    def _project(self) -> None:
        K, P, memory = self._state.K, self._state.P, self._state.memory
        with lapack.one_thread(self.n_objects):
            apply(K)
            value, vector = lapack.smallest_eigenpair(K.lower)
        if value < 0.0:
            memory["n_projections"] += 1
            symmetric.add_outer(K.lower, -value, vector)
        memory["bound"] = max(0.0, value)
        if len(P.lower):
            memory["due"] = moves.NEEDS_INVERSE
            self._build_inverse()

    def _raise_bound(self) -> None:
        memory = self._state.memory
        memory["bound"] = max(0.0, _smallest_eigenvalue(self._state.K.lower))
        memory["quiet"] = 0

    def _enter_interior(self) -> None:
        """Certify moves without eigenpairs from now on, if all eigenvalues of K are large enough for it."""
        self._state.memory["quiet"] = 0
        if not self._invert(-_INTERIOR * _mean_diagonal(self._state.K.lower)):
            self._build_inverse()

    def _leave_interior(self) -> None:
        memory = self._state.memory
        memory["quiet"] = 0
        memory["bound"] = -memory["sigma"][0]
        self._build_inverse(_FIRST_SIGMA * _mean_diagonal(self._state.K.lower))

    def _use_float64_if_needed(self) -> None:
        """Store P in float64 from now on if float32 has failed the first check after P was built."""
        K, P, memory = self._state.K, self._state.P, self._state.memory
        if P.lower.dtype == np.float32 and memory["updates"][0] <= compiled.CHECK_EVERY:
            with lapack.one_thread(self.n_objects):
                apply(K)
            self._hold(K.lower, np.empty_like(K.lower), memory, Form(len(K.pending), np.float64))

    def _build_inverse(self, sigma: float | None = None) -> None:
        """Build P with this sigma; None is the current one, or the mean depth of projections after many of them."""
        K, memory = self._state.K, self._state.memory
        if sigma is None:
            sigma = memory["sigma"][0]
            if memory["projections"] > len(K.lower) // 2:
                sigma = max(memory["least_sigma"][0], memory["depth"][0] / memory["projections"][0])
        if self._invert(sigma):
            return
        if sigma < 0.0:
            # Rounding has hidden that K left the interior.
            memory["bound"] = memory["quiet"] = 0
            sigma = _FIRST_SIGMA * _mean_diagonal(K.lower)
            if self._invert(sigma):
                return
        warnings.warn(
            "The kernel left the positive semidefinite cone by more than its tolerance and was projected back; "
            "if you see this again, pass a smaller tol to Dense.",
            RuntimeWarning,
            stacklevel=6,
        )
        with lapack.one_thread(self.n_objects):
            K.lower[:] = lapack.projected(lapack.symmetric(K.lower))
        self._invert(sigma)

    def _invert(self, sigma: float) -> bool:
        """Build P = (K + sigma I)^-1; return False if K + sigma I is not positive definite."""
        K, P, memory = self._state.K, self._state.P, self._state.memory
        with lapack.one_thread(self.n_objects):
            if K.counts.any():
                apply(K)
            if not lapack.invert_shifted(K.lower, sigma, P.lower):
                return False
        P.counts[:] = 0
        memory["least_sigma"] = _LEAST_SIGMA[P.lower.dtype] * max(np.diag(K.lower).max(), 1e-200)
        memory["sigma"] = sigma
        memory["updates"] = memory["projections"] = 0
        memory["depth"] = 0.0
        return True


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
    if lapack.is_diagonal(K):
        return float(np.diag(K).min())
    with lapack.one_thread(len(K)):
        return lapack.smallest_eigenpair(K)[0]


def _mean_diagonal(K: NDArray[np.float64]) -> float:
    return float(np.mean(np.diag(K))) or 1.0


def _bordered(A: NDArray[Any], n_new: int, diagonal: float) -> NDArray[Any]:
    n = len(A)
    larger = np.zeros((n + n_new, n + n_new), A.dtype)
    larger[:n, :n] = A
    larger.flat[n * (n + n_new + 1) :: n + n_new + 1] = diagonal
    return larger

"""What the compiled loop leaves to Python: eigenpairs from LAPACK, new inverses, entering and leaving the interior.

The loop stops when it needs one of them, and the state says what is due until it is done. An interruption
therefore changes nothing but P, which the next call computes again.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle._compiled import dense as compiled
from erkle._compiled import moves, symmetric
from erkle._compiled.buffered import Buffered, apply
from erkle._compiled.dense import DenseState
from erkle._compiled.lanczos import Krylov
from erkle.kernels import lapack
from erkle.kernels.forms import Form, form_for
from erkle.kernels.initial import smallest_eigenvalue
from erkle.kernels.inversion import invert_shifted

Matrix = NDArray[np.float64]

# Largest Krylov basis, in vectors. Four vectors are enough on average; LAPACK takes over where 48 are not.
_LARGEST_BASIS = 48
# First value of sigma, as a share of the kernel's mean diagonal; the mean depth of projections replaces it later.
_FIRST_SIGMA = 0.03
# Least eigenvalue in the interior, as a share of the kernel's mean diagonal.
_INTERIOR = 0.01
# Least value of sigma, as a share of the largest diagonal entry: for float64 and float32.
_LEAST_SIGMA = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3}


def new_state(K: Matrix, tol: float, by_lapack: bool) -> DenseState:
    """The state of a kernel that starts from K and owns it; with ``by_lapack``, LAPACK computes every eigenpair."""
    memory = np.zeros(1, compiled.memory_dtype)
    memory["tol"] = tol
    if by_lapack:
        state = state_of(K, np.zeros((0, 0)), memory, Form(0, np.float64))
        _raise_bound(state)
        return state
    form = form_for(len(K), tol, _mean_diagonal(K))
    memory["sigma"] = _FIRST_SIGMA * _mean_diagonal(K)
    state = state_of(K, np.empty_like(K, form.dtype), memory, form)
    if form.room:
        _enter_interior(state)
    else:
        _raise_bound(state)
        _build_inverse(state)
    return state


def state_of(K: Matrix, P: NDArray[np.floating[Any]], memory: NDArray[np.void], form: Form) -> DenseState:
    """K, P and memory with workspace, and with room for pending terms."""
    n = len(K)
    basis = min(_LARGEST_BASIS, n) + 1
    krylov = Krylov(np.zeros((basis, n), P.dtype), np.zeros((4, basis)))
    K_stored, P_stored = (Buffered(A, np.zeros((form.room, len(A)), A.dtype), np.zeros(2, np.int64)) for A in (K, P))
    return DenseState(K_stored, P_stored, memory, np.zeros((4, n), P.dtype), krylov)


def grown(state: DenseState, n_new: int) -> DenseState:
    """The state with objects that are similar to no other object; nothing may be due."""
    K, P, memory = state.K, state.P, state.memory
    with lapack.one_thread(len(K.lower)):
        apply(K)
        apply(P)
    memory["bound"] = min(memory["bound"][0], 1.0)
    larger = _bordered(K.lower, n_new, 1.0)
    if not len(P.lower):
        return state_of(larger, P.lower, memory, Form(0, np.float64))
    form = form_for(len(larger), memory["tol"][0], _mean_diagonal(larger))
    if len(P.pending):
        form = form._replace(dtype=P.lower.dtype)
    sigma = memory["sigma"][0]
    if sigma <= -1.0:
        # The new objects, whose eigenvalue is 1, are outside the interior.
        memory["sigma"], memory["due"] = -1.0, moves.NOT_CERTIFIED
    larger_P = _bordered(P.lower.astype(form.dtype, copy=False), n_new, 1.0 / (1.0 + sigma) if sigma > -1.0 else 0.0)
    return state_of(larger, larger_P, memory, form)


def finish(state: DenseState) -> DenseState:
    """Do what the loop has stopped for. Return the state, which is another one if the type of P has changed."""
    memory = state.memory
    due = memory["due"][0]
    if due == moves.NEEDS_EIGENPAIR:
        _project(state)
    elif due == moves.NEEDS_INVERSE:
        state = _in_float64_if_needed(state)
        _build_inverse(state)
    elif due == moves.NOT_CERTIFIED:
        _leave_interior(state)
    elif due == moves.NEEDS_BOUND and len(state.K.pending):
        _enter_interior(state)
    elif due == moves.NEEDS_BOUND:
        _raise_bound(state)
        memory["n_eigenpairs"] += 1
    memory["due"] = moves.DONE
    return state


def _project(state: DenseState) -> None:
    K, P, memory = state.K, state.P, state.memory
    with lapack.one_thread(len(K.lower)):
        apply(K)
        value, vector = lapack.smallest_eigenpair(K.lower)
    if value < 0.0:
        memory["n_projections"] += 1
        symmetric.add_outer(K.lower, -value, vector)
    memory["bound"] = max(0.0, value)
    if len(P.lower):
        # K is projected, so only the inverse is still due. It did not drift, and keeps its type.
        memory["due"], memory["updates"] = moves.NEEDS_INVERSE, compiled.CHECK_EVERY + 1
        _build_inverse(state)


def _raise_bound(state: DenseState) -> None:
    state.memory["bound"] = max(0.0, smallest_eigenvalue(state.K.lower))
    state.memory["quiet"] = 0


def _enter_interior(state: DenseState) -> None:
    """Certify moves without eigenpairs from now on, if all eigenvalues of K are large enough for it."""
    state.memory["quiet"] = 0
    if not _invert(state, -_INTERIOR * _mean_diagonal(state.K.lower)):
        _build_inverse(state)


def _leave_interior(state: DenseState) -> None:
    memory = state.memory
    memory["quiet"] = 0
    memory["bound"] = -memory["sigma"][0]
    _build_inverse(state, _FIRST_SIGMA * _mean_diagonal(state.K.lower))


def _in_float64_if_needed(state: DenseState) -> DenseState:
    """The state with P in float64 from now on, if float32 has failed the first check after P was built."""
    K, P, memory = state.K, state.P, state.memory
    if P.lower.dtype == np.float64 or memory["updates"][0] > compiled.CHECK_EVERY:
        return state
    with lapack.one_thread(len(K.lower)):
        apply(K)
    return state_of(K.lower, np.empty_like(K.lower), memory, Form(len(K.pending), np.float64))


def _build_inverse(state: DenseState, sigma: float | None = None) -> None:
    """Build P with this sigma; None is the current one, or the mean depth of projections after many of them."""
    K, memory = state.K, state.memory
    if sigma is None:
        sigma = memory["sigma"][0]
        if memory["projections"] > len(K.lower) // 2:
            sigma = max(memory["least_sigma"][0], memory["depth"][0] / memory["projections"][0])
    if _invert(state, sigma):
        return
    if sigma < 0.0:
        # Rounding has hidden that K left the interior.
        memory["bound"] = memory["quiet"] = 0
        sigma = _FIRST_SIGMA * _mean_diagonal(K.lower)
        if _invert(state, sigma):
            return
    warnings.warn(
        "The kernel left the positive semidefinite cone by more than its tolerance and was projected back; "
        "if you see this again, pass a smaller tol to Dense.",
        RuntimeWarning,
        stacklevel=6,
    )
    with lapack.one_thread(len(K.lower)):
        K.lower[:] = lapack.projected(lapack.symmetric(K.lower))
    _invert(state, sigma)


def _invert(state: DenseState, sigma: float) -> bool:
    """Build P = (K + sigma I)^-1; return False if K + sigma I is not positive definite."""
    K, P, memory = state.K, state.P, state.memory
    with lapack.one_thread(len(K.lower)):
        if K.counts.any():
            apply(K)
        if not invert_shifted(K.lower, sigma, P.lower):
            return False
    P.counts[:] = 0
    memory["least_sigma"] = _LEAST_SIGMA[P.lower.dtype] * max(np.diag(K.lower).max(), 1e-200)
    memory["sigma"] = sigma
    memory["updates"] = memory["projections"] = 0
    memory["depth"] = 0.0
    return True


def _mean_diagonal(K: Matrix) -> float:
    return float(np.mean(np.diag(K))) or 1.0


def _bordered(A: NDArray[Any], n_new: int, diagonal: float) -> NDArray[Any]:
    n = len(A)
    larger = np.zeros((n + n_new, n + n_new), A.dtype)
    larger[:n, :n] = A
    larger.flat[n * (n + n_new + 1) :: n + n_new + 1] = diagonal
    return larger

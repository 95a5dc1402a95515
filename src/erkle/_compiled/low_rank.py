"""How one answer moves the low-rank kernel K = Q diag(values) Q', in O(r³) for any number of objects.

Q has at most r orthonormal columns. The kernel also has a diagonal of shifts: what is added to the squared distance
between an object and every other object. Answers may move the shifts.

A move lies in the span of Q and of two sparse vectors F on the three objects. Write F = QG + NL', where N is
orthonormal and orthogonal to Q. In the basis (Q, N) the moved kernel is a core matrix of size r + 2. The eigenpairs of
the core give the projection onto the cone, the truncation to rank r and the reduction of the trace at once. The new
basis is Q M + F Y. Q is stored as B R: the rotation M changes only R, and F Y changes only three rows of B. When R
becomes ill-conditioned, it is multiplied into B.

A new direction is F - QG, scaled to unit length. If little of F lies outside Q, the scaling also magnifies the error
of Q, and orthogonality would be lost within a dozen moves. The kernel therefore maintains B'B, which gives Q'Q, and
corrects R after every move.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from erkle._compiled.compiling import compiled
from erkle._compiled.moves import DONE, Move
from erkle._compiled.small_eigen import eigenpairs

Array = Any

# Smallest squared length of the part of a unit vector outside the span of Q; below it there is only rounding.
_LEAST_RESIDUAL = 1e-11
# Smallest pivot of R; below it digits are lost, and R is multiplied into B.
_LEAST_PIVOT = 1e-2
# Largest entry of R; above it digits are lost, and R is multiplied into B.
_LARGEST_ENTRY = 10.0
# Smallest pivot of a rotation that keeps all old directions; below it the rotation replaces an old direction.
_LEAST_ROTATION_PIVOT = 1e-3
# Rows of B that can be multiplied by R in the time of one move; it limits how often a direction is replaced.
_ROWS_PER_MOVE = 500

memory_dtype = np.dtype(
    [
        ("trace", np.float64),  # weight of the trace
        ("size", np.int64),  # columns of Q in use; the others are zero
        ("n_active", np.int64),
        ("n_projections", np.int64),
        ("n_multiplied", np.int64),  # how often R was multiplied into B
        ("credit", np.int64),  # moves since R was last multiplied into B
        ("shift_rate", np.float64),  # how far shifts move when the diagonal moves by 1
    ]
)


class LowRankState(NamedTuple):
    """B (n, r), R (r, r), B'B, decreasing eigenvalues (r,), shifts (n,), scalars, and workspace for three rows of Q."""

    B: Array
    R: Array
    gram: Array
    values: Array
    shifts: Array
    memory: Array
    rows: Array


@compiled
def coordinates(state: LowRankState, i: int, row: Array) -> None:
    """Write row i of Q to ``row``."""
    B, R, size = state.B, state.R, state.memory[0].size
    row[:] = 0.0
    for k in range(size):
        weight = B[i, k]
        if weight != 0.0:
            for j in range(size):
                row[j] += weight * R[k, j]


@compiled
def distances(state: LowRankState, a: int, b: int, c: int) -> tuple[float, float, float]:
    """d²(a, b), d²(a, c) and their difference; this also writes the three rows of Q to ``state.rows``."""
    rows, values = state.rows, state.values
    coordinates(state, a, rows[0])
    coordinates(state, b, rows[1])
    coordinates(state, c, rows[2])
    near, far = state.shifts[b], state.shifts[c]
    for k in range(state.memory[0].size):
        near += values[k] * (rows[0, k] - rows[1, k]) ** 2
        far += values[k] * (rows[0, k] - rows[2, k]) ** 2
    return state.shifts[a] + near, state.shifts[a] + far, near - far


@compiled
def move(state: LowRankState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move K, project, truncate and reduce the trace; call ``distances`` for the same three objects first."""
    memory = state.memory[0]
    memory.n_active += 1
    memory.credit += 1
    size = memory.size
    U, D = _sparse_basis(change)
    G = np.ascontiguousarray(state.rows[:, :size].T) @ U
    if np.sum(G[:, 0] ** 2) > np.sum(G[:, 1] ** 2):
        # The vector with the longer part outside Q comes first; otherwise the other part would be lost in rounding.
        U, D, G = U[:, ::-1].copy(), D[::-1, ::-1].copy(), G[:, ::-1].copy()
    L = _residual_factor(G)
    new = (L[0, 0] > 0.0) + (L[1, 1] > 0.0)
    core = _core(state.values, G, L, D)
    spectrum, vectors = eigenpairs(core.copy())
    if spectrum[size + new - 1] < 0.0:
        memory.n_projections += 1
    kept = min(state.values.size, size + new)
    V = np.ascontiguousarray(vectors[:kept].T)
    Y = _solve_upper(L, V[size:])
    M = V[:size] - G @ Y
    rows = U @ Y
    if kept == size and _rotate_basis(state, triplet, M, rows):
        _set_values(state, spectrum, kept, change.rate)
    elif kept > size or not _loses_direction(M) or _new_direction_pays(state, spectrum, core):
        _set_values(state, spectrum, kept, change.rate)
        _replace_basis(state, triplet, M, rows)
    else:
        _move_within(state, core[:size, :size].copy(), change.rate)
    _orthonormalise(state)
    _move_shifts(state, triplet, change)
    return DONE


@compiled
def _move_shifts(state: LowRankState, triplet: tuple[int, int, int], change: Move) -> None:
    """Move the shifts of near and far with the diagonal; none becomes negative."""
    if state.memory[0].shift_rate > 0.0:
        for i in range(1, 3):
            rise = change.a1 * change.w1[i] ** 2 - change.a2 * change.w2[i] ** 2
            state.shifts[triplet[i]] = max(0.0, state.shifts[triplet[i]] + state.memory[0].shift_rate * rise)


@compiled
def _set_values(state: LowRankState, spectrum: Array, kept: int, rate: float) -> None:
    """Keep the largest eigenvalues, reduced by the rate times the weight of the trace; none becomes negative."""
    for k in range(kept):
        state.values[k] = max(0.0, spectrum[k] - rate * state.memory[0].trace)


@compiled
def _new_direction_pays(state: LowRankState, spectrum: Array, core: Array) -> bool:
    """Whether replacing an old direction improves the kernel, and enough moves have passed to pay for it."""
    memory = state.memory[0]
    inside = total = 0.0
    for k in range(memory.size):
        inside += core[k, k]
        total += max(0.0, spectrum[k])
    return total > (1.0 + 1e-9) * inside and memory.credit * _ROWS_PER_MOVE >= state.B.shape[0]


@compiled
def _move_within(state: LowRankState, core: Array, rate: float) -> None:
    """Make only the part of the move within the span of Q; it rotates the basis and changes no row of B."""
    spectrum, vectors = eigenpairs(core)
    size = core.shape[0]
    _set_values(state, spectrum, size, rate)
    state.R[:size, :size] = _rotation(state, size) @ np.ascontiguousarray(vectors.T)


@compiled
def _sparse_basis(change: Move) -> tuple[Array, Array]:
    """An orthonormal basis U of the span of w1 and w2, and the move D in that basis."""
    U, D = np.zeros((3, 2)), np.zeros((2, 2))
    norm = math.sqrt(change.w1[0] ** 2 + change.w1[1] ** 2 + change.w1[2] ** 2)
    along = 0.0
    for i in range(3):
        U[i, 0] = change.w1[i] / norm
        along += U[i, 0] * change.w2[i]
    square = 0.0
    for i in range(3):
        U[i, 1] = change.w2[i] - along * U[i, 0]
        square += U[i, 1] ** 2
    across = math.sqrt(square)
    for i in range(3):
        U[i, 1] /= across
    D[0, 0] = change.a1 * norm * norm - change.a2 * along * along
    D[0, 1] = D[1, 0] = -change.a2 * along * across
    D[1, 1] = -change.a2 * across * across
    return U, D


@compiled
def _residual_factor(G: Array) -> Array:
    """The lower triangular L with LL' = I - G'G; a diagonal entry is zero if nothing is left outside Q."""
    L = np.zeros((2, 2))
    g11 = g12 = g22 = 0.0
    for k in range(G.shape[0]):
        g11 += G[k, 0] * G[k, 0]
        g12 += G[k, 0] * G[k, 1]
        g22 += G[k, 1] * G[k, 1]
    if 1.0 - g11 > _LEAST_RESIDUAL:
        L[0, 0] = math.sqrt(1.0 - g11)
        L[1, 0] = -g12 / L[0, 0]
    residual = 1.0 - g22 - L[1, 0] ** 2
    if residual > _LEAST_RESIDUAL:
        L[1, 1] = math.sqrt(residual)
    return L


@compiled
def _core(values: Array, G: Array, L: Array, D: Array) -> Array:
    """diag(values, 0) + W D W', where W stacks G and L'; directions that do not exist get the lowest eigenvalues."""
    size = G.shape[0]
    W = np.zeros((size + 2, 2))
    W[:size] = G
    W[size] = L[:, 0]
    W[size + 1, 1] = L[1, 1]
    core = (W @ D) @ W.T
    for k in range(size):
        core[k, k] += values[k]
    # Lower than any real eigenvalue, but not so large that the other entries are lost in rounding.
    lowest = -max(1e-290, values[0] + 2.0 * (abs(D[0, 0]) + abs(D[1, 1]) + abs(D[0, 1])))
    for i in range(2):
        if L[i, i] == 0.0:
            core[size + i, size + i] = lowest
    return core


@compiled
def _solve_upper(L: Array, V: Array) -> Array:
    """L'^-1 V, with zeros for directions that do not exist."""
    Y = np.zeros((2, V.shape[1]))
    for k in range(V.shape[1]):
        if L[1, 1] > 0.0:
            Y[1, k] = V[1, k] / L[1, 1]
        if L[0, 0] > 0.0:
            Y[0, k] = (V[0, k] - L[1, 0] * Y[1, k]) / L[0, 0]
    return Y


@compiled
def _rotate_basis(state: LowRankState, triplet: tuple[int, int, int], M: Array, rows: Array) -> bool:
    """Q <- Q M plus three rows, by changing R and three rows of B. If R is too ill-conditioned: do nothing, False."""
    size = M.shape[0]
    R = _rotation(state, size) @ M
    of_B = np.ascontiguousarray(rows.T)
    if np.abs(R).max() > _LARGEST_ENTRY or not _solve(R.T.copy(), of_B, _LEAST_PIVOT):
        return False
    state.R[:size, :size] = R
    _add_to_rows(state, triplet, np.ascontiguousarray(of_B.T))
    return True


@compiled
def _replace_basis(state: LowRankState, triplet: tuple[int, int, int], M: Array, rows: Array) -> None:
    """Q <- Q M plus three rows, by multiplying R into all rows of B."""
    size, kept = M.shape
    _multiply_out(state, _rotation(state, size) @ M)
    state.memory[0].size = kept
    for i in range(3):
        for k in range(kept):
            state.B[triplet[i], k] += rows[i, k]
    # B'B must wait for the three rows: before, columns can be so long that their products lose all digits.
    _compute_gram(state)


@compiled
def _add_to_rows(state: LowRankState, triplet: tuple[int, int, int], rows: Array) -> None:
    """Change three rows of B, and update B'B."""
    B, gram, size = state.B, state.gram, rows.shape[1]
    for i in range(3):
        row = B[triplet[i]]
        for j in range(size):
            for k in range(size):
                gram[j, k] += (row[j] + rows[i, j]) * (row[k] + rows[i, k]) - row[j] * row[k]
        for k in range(size):
            row[k] += rows[i, k]


@compiled
def _orthonormalise(state: LowRankState) -> None:
    """Square the error in the orthogonality of Q, by one Newton step towards (Q'Q)^(-1/2)."""
    size = state.memory[0].size
    R = _rotation(state, size)
    square = np.ascontiguousarray(R.T) @ (np.ascontiguousarray(state.gram[:size, :size]) @ R)
    state.R[:size, :size] = 1.5 * R - 0.5 * (R @ square)


@compiled
def _rotation(state: LowRankState, size: int) -> Array:
    """The part of R in use, as a contiguous array; Numba warns about products of other arrays."""
    return np.ascontiguousarray(state.R[:size, :size])


@compiled
def _loses_direction(M: Array) -> bool:
    """Whether the new basis loses an old direction."""
    return not _solve(M.copy(), np.zeros((M.shape[0], 0)), _LEAST_ROTATION_PIVOT)


@compiled
def _compute_gram(state: LowRankState) -> None:
    """Compute B'B from all rows."""
    B, gram, size = state.B, state.gram, state.memory[0].size
    gram[:] = 0.0
    for i in range(B.shape[0]):
        for j in range(size):
            weight = B[i, j]
            if weight != 0.0:
                for k in range(j + 1):
                    gram[j, k] += weight * B[i, k]
    for j in range(size):
        for k in range(j):
            gram[k, j] = gram[j, k]


@compiled
def _multiply_out(state: LowRankState, R: Array) -> None:
    """B <- B R, and R becomes the identity."""
    state.memory[0].n_multiplied += 1
    state.memory[0].credit = 0
    B, (size, kept) = state.B, R.shape
    row = np.zeros(kept)
    for i in range(B.shape[0]):
        row[:] = 0.0
        for k in range(size):
            weight = B[i, k]
            if weight != 0.0:
                for j in range(kept):
                    row[j] += weight * R[k, j]
        B[i, :kept] = row
    state.R[:] = 0.0
    for k in range(state.R.shape[0]):
        state.R[k, k] = 1.0


@compiled
def _solve(A: Array, rows: Array, least: float) -> bool:
    """rows <- A^-1 rows by Gaussian elimination; False if a pivot is too small, and then rows is not valid."""
    size = A.shape[0]
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if not abs(A[pivot, k]) > least:
            return False
        if pivot != k:
            for j in range(size):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            for j in range(rows.shape[1]):
                rows[k, j], rows[pivot, j] = rows[pivot, j], rows[k, j]
        for i in range(k + 1, size):
            factor = A[i, k] / A[k, k]
            for j in range(k + 1, size):
                A[i, j] -= factor * A[k, j]
            for j in range(rows.shape[1]):
                rows[i, j] -= factor * rows[k, j]
    for k in range(size - 1, -1, -1):
        for j in range(rows.shape[1]):
            total = rows[k, j]
            for i in range(k + 1, size):
                total -= A[k, i] * rows[i, j]
            rows[k, j] = total / A[k, k]
    return True

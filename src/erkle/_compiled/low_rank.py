"""The low-rank kernel: K = Q diag(values) Q' with r orthonormal columns, moved by one answer in O(r³) whatever n is.

Beside it stands a diagonal of shifts, what makes an object far from all others alike; it may move with the answers.

A move lives in the span of Q and of two sparse vectors F on the three objects. With F = QG + NL', N orthonormal and
orthogonal to Q, it is a core of size r + 2 whose eigenpairs give the projection onto the cone, the truncation to r and
the shrinking of the trace at once. The new basis is Q M + F Y: the rotation M goes to R alone, where Q = B R, and only
three rows of B change. Where R becomes ill-conditioned it is multiplied out, exactly.

A new direction is a difference F - QG made longer, and so is the error of Q in it: where little of F lies outside Q,
the basis would be lost within a dozen moves. So B'B is kept, which three changed rows change exactly, and after every
move R is put right by what it tells of Q'Q.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from erkle._compiled.compiling import compiled
from erkle._compiled.moves import DONE, Move
from erkle._compiled.small_eigen import eigenpairs

Array = Any

# What is left of a unit vector outside the span of Q, squared, that is no rounding.
_LEAST_REST = 1e-11
# R, a product of parts of rotations, is multiplied out when a pivot of its elimination falls below this, or an entry
# grows beyond that: digits are lost in both.
_LEAST_PIVOT, _LARGEST_ENTRY = 1e-2, 10.0
# A rotation with a smaller pivot gives up one of the old directions for a new one, and needs R multiplied out.
_LEAST_TURN = 1e-3
# Rows of B that can be multiplied out in the time of a move. Directions are given up no more often than that pays for.
_ROWS_PER_MOVE = 500

memory_dtype = np.dtype(
    [
        ("trace", np.float64),  # weight of the trace
        ("size", np.int64),  # columns of Q in use; those behind are zero
        ("n_active", np.int64),
        ("n_projections", np.int64),
        ("n_multiplied", np.int64),  # how often R was multiplied out
        ("credit", np.int64),  # moves since then
        ("shift_rate", np.float64),  # by how much shifts move where the diagonal does by 1
    ]
)


class LowRankState(NamedTuple):
    """B (n, r), R (r, r), B'B, eigenvalues by falling size, shifts (n,), scalars, and room for rows of Q."""

    B: Array
    R: Array
    gram: Array
    values: Array
    shifts: Array
    memory: Array
    rows: Array


@compiled
def coordinates(state: LowRankState, i: int, row: Array) -> None:
    """Row i of Q."""
    B, R, size = state.B, state.R, state.memory[0].size
    row[:] = 0.0
    for k in range(size):
        weight = B[i, k]
        if weight != 0.0:
            for j in range(size):
                row[j] += weight * R[k, j]


@compiled
def distances(state: LowRankState, a: int, b: int, c: int) -> tuple[float, float, float]:
    """d²(a, b), d²(a, c) and their difference; the three rows of Q are left in ``state.rows``."""
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
    """Move K, project, truncate and shrink; ``distances`` of the same three objects has been asked before."""
    memory = state.memory[0]
    memory.n_active += 1
    memory.credit += 1
    size = memory.size
    U, D = _sparse_basis(change)
    G = np.ascontiguousarray(state.rows[:, :size].T) @ U
    if np.sum(G[:, 0] ** 2) > np.sum(G[:, 1] ** 2):
        # The one with more outside Q first: else what is left of the other, and may be nothing, drowns in rounding.
        U, D, G = U[:, ::-1].copy(), D[::-1, ::-1].copy(), G[:, ::-1].copy()
    L = _rest(G)
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
    if kept == size and _turn_basis(state, triplet, M, rows):
        _set_values(state, spectrum, kept, change.rate)
    elif kept > size or not _is_singular(M) or _is_worth_it(state, spectrum, core):
        _set_values(state, spectrum, kept, change.rate)
        _replace_basis(state, triplet, M, rows)
    else:
        _move_within(state, core[:size, :size].copy(), change.rate)
    _straighten(state)
    _shift(state, triplet, change)
    return DONE


@compiled
def _shift(state: LowRankState, triplet: tuple[int, int, int], change: Move) -> None:
    """Move the shifts of the two candidates along with the diagonal, none below zero."""
    if state.memory[0].shift_rate > 0.0:
        for i in range(1, 3):
            rise = change.a1 * change.w1[i] ** 2 - change.a2 * change.w2[i] ** 2
            state.shifts[triplet[i]] = max(0.0, state.shifts[triplet[i]] + state.memory[0].shift_rate * rise)


@compiled
def _set_values(state: LowRankState, spectrum: Array, kept: int, rate: float) -> None:
    """The largest eigenvalues, none negative, shrunk by the weight of the trace."""
    for k in range(kept):
        state.values[k] = max(0.0, spectrum[k] - rate * state.memory[0].trace)


@compiled
def _is_worth_it(state: LowRankState, spectrum: Array, core: Array) -> bool:
    """Whether a new direction is due and carries more than the one it takes the place of; a tie is for the old one."""
    memory = state.memory[0]
    inside = total = 0.0
    for k in range(memory.size):
        inside += core[k, k]
        total += max(0.0, spectrum[k])
    return total > (1.0 + 1e-9) * inside and memory.credit * _ROWS_PER_MOVE >= state.B.shape[0]


@compiled
def _move_within(state: LowRankState, core: Array, rate: float) -> None:
    """The move as far as it lies in the span of Q: a rotation and nothing else."""
    spectrum, vectors = eigenpairs(core)
    size = core.shape[0]
    _set_values(state, spectrum, size, rate)
    state.R[:size, :size] = _turn(state, size) @ np.ascontiguousarray(vectors.T)


@compiled
def _sparse_basis(change: Move) -> tuple[Array, Array]:
    """Two orthonormal vectors on the three objects that span w1 and w2, and the move in their terms."""
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
def _rest(G: Array) -> Array:
    """The lower triangular L with LL' = I - G'G; a diagonal entry is zero where there is nothing left outside Q."""
    L = np.zeros((2, 2))
    g11 = g12 = g22 = 0.0
    for k in range(G.shape[0]):
        g11 += G[k, 0] * G[k, 0]
        g12 += G[k, 0] * G[k, 1]
        g22 += G[k, 1] * G[k, 1]
    if 1.0 - g11 > _LEAST_REST:
        L[0, 0] = math.sqrt(1.0 - g11)
        L[1, 0] = -g12 / L[0, 0]
    rest = 1.0 - g22 - L[1, 0] ** 2
    if rest > _LEAST_REST:
        L[1, 1] = math.sqrt(rest)
    return L


@compiled
def _core(values: Array, G: Array, L: Array, D: Array) -> Array:
    """diag(values, 0) + W D W' with the rows of W those of G and of L'; directions that do not exist sort last."""
    size = G.shape[0]
    W = np.zeros((size + 2, 2))
    W[:size] = G
    W[size] = L[:, 0]
    W[size + 1, 1] = L[1, 1]
    core = (W @ D) @ W.T
    for k in range(size):
        core[k, k] += values[k]
    # Of the size of the rest, beside which it must not drown, and above what eigenvalues lose.
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
def _turn_basis(state: LowRankState, triplet: tuple[int, int, int], M: Array, rows: Array) -> bool:
    """Q <- Q M + three rows, by R and three rows of B alone; False, and nothing, if R does not allow it."""
    size = M.shape[0]
    R = _turn(state, size) @ M
    of_B = np.ascontiguousarray(rows.T)
    if np.abs(R).max() > _LARGEST_ENTRY or not _eliminate(R.T.copy(), of_B, _LEAST_PIVOT):
        return False
    state.R[:size, :size] = R
    _add_to_rows(state, triplet, np.ascontiguousarray(of_B.T))
    return True


@compiled
def _replace_basis(state: LowRankState, triplet: tuple[int, int, int], M: Array, rows: Array) -> None:
    """The same with every row of B multiplied out."""
    size, kept = M.shape
    _multiply(state, _turn(state, size) @ M)
    state.memory[0].size = kept
    for i in range(3):
        for k in range(kept):
            state.B[triplet[i], k] += rows[i, k]
    # Only now: before the rows were added, columns could be long, and their products without digits.
    _measure(state)


@compiled
def _add_to_rows(state: LowRankState, triplet: tuple[int, int, int], rows: Array) -> None:
    """Change three rows of B, and B'B with them."""
    B, gram, size = state.B, state.gram, rows.shape[1]
    for i in range(3):
        row = B[triplet[i]]
        for j in range(size):
            for k in range(size):
                gram[j, k] += (row[j] + rows[i, j]) * (row[k] + rows[i, k]) - row[j] * row[k]
        for k in range(size):
            row[k] += rows[i, k]


@compiled
def _straighten(state: LowRankState) -> None:
    """Make Q orthonormal to the square of its error, by a step of Newton's towards (Q'Q)^(-1/2)."""
    size = state.memory[0].size
    R = _turn(state, size)
    square = np.ascontiguousarray(R.T) @ (np.ascontiguousarray(state.gram[:size, :size]) @ R)
    state.R[:size, :size] = 1.5 * R - 0.5 * (R @ square)


@compiled
def _turn(state: LowRankState, size: int) -> Array:
    """The part of R in use, in one piece: Numba warns where it multiplies anything else."""
    return np.ascontiguousarray(state.R[:size, :size])


@compiled
def _is_singular(M: Array) -> bool:
    """Whether an old direction is lost: something close to it is no longer in the new span."""
    return not _eliminate(M.copy(), np.zeros((M.shape[0], 0)), _LEAST_TURN)


@compiled
def _measure(state: LowRankState) -> None:
    """B'B from all rows."""
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
def _multiply(state: LowRankState, R: Array) -> None:
    """B <- B R, and the identity in the place of R."""
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
def _eliminate(A: Array, rows: Array, least: float) -> bool:
    """rows <- A^-1 rows by Gauss with pivots; False, and nonsense in rows, where a pivot is too small."""
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

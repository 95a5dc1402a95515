"""How one answer moves the dense kernel K and the maintained inverse P = (K + sigma I)^-1.

A move is K - gamma D = K + a1 w1 w1' - a2 w2 w2', where w1 and w2 are zero outside the three objects. The first term
raises eigenvalues. The second makes at most one eigenvalue negative, and the projection removes it. P is updated by
exact low-rank formulas for the vector that was actually removed, so it remains the inverse of K + sigma I up to
rounding, even if that vector is only a rough eigenvector.

A negative sigma marks the interior, where all eigenvalues of K exceed -sigma. There one number certifies that a move
stays in the interior and needs no projection. At the border sigma is positive, and Lanczos looks for the eigenvalue.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from erkle._compiled.buffered import Buffered, add_columns, add_outer, add_three_outer, entry
from erkle._compiled.compiling import compiled
from erkle._compiled.lanczos import Krylov, extreme_pair, rows_of
from erkle._compiled.moves import DONE, NEEDS_BOUND, NEEDS_EIGENPAIR, NEEDS_INVERSE, NOT_CERTIFIED, Move
from erkle._compiled.symmetric import axpy, dot

Array = Any

# Updates of P between two checks of how well it still inverts K + sigma I.
CHECK_EVERY = 16
# Error of P, in two entries of its product with K + sigma I, above which it is built again: for float64 and float32.
_LARGEST_DRIFT, _LARGEST_DRIFT_OF_FLOAT32 = 1e-10, 1e-3
# Ratio of determinants, in units of the largest drift, below which a move is not certified.
_SMALLEST_RATIO = 10.0
# Reach of a move, in units of sigma, above which P would lose digits; LAPACK then projects, and sigma grows.
_LARGEST_REACH = 1e3
# Reach of a move, in units of sigma, below which it changes no digit of P; slopes of STE can be as small as exp(-1000).
_SMALLEST_REACH = 1e-20

memory_dtype = np.dtype(
    [
        ("bound", np.float64),  # a lower bound of the smallest eigenvalue of K
        ("sigma", np.float64),
        ("least_sigma", np.float64),
        ("tol", np.float64),
        ("n_active", np.int64),
        ("n_certified", np.int64),
        ("n_eigenpairs", np.int64),
        ("n_projections", np.int64),
        ("updates", np.int64),  # updates of P since it was last built
        ("projections", np.int64),  # projections since P was last built
        ("quiet", np.int64),  # moves since the last projection, or since LAPACK last computed the bound
        ("depth", np.float64),  # sum of the absolute eigenvalues removed since P was last built
        ("due", np.int64),  # status of the last move; `DONE` again once the Python side has done what it asks for
    ]
)


class DenseState(NamedTuple):
    """K and P, scalars and workspace, of P's type. P is empty if LAPACK computes every eigenpair."""

    K: Buffered
    P: Buffered
    memory: Array
    vectors: Array
    krylov: Krylov


@compiled
def distances(state: DenseState, a: int, b: int, c: int) -> tuple[float, float, float]:
    """d²(a, b), d²(a, c) and their difference, computed without K_aa so that a tie is exactly 0."""
    K = state.K
    near = entry(K, b, b) - 2.0 * entry(K, a, b)
    far = entry(K, c, c) - 2.0 * entry(K, a, c)
    own = entry(K, a, a)
    return own + near, own + far, near - far


@compiled
def move(state: DenseState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move K, project it if it may have left the cone, and update P; return a status for the Python side."""
    memory = state.memory[0]
    if state.P.lower.shape[0] == 0:
        status = _move_by_bound(state, triplet, change)
    elif memory.sigma < 0.0:
        status = _move_in_interior(state, triplet, change)
    else:
        status = _move_at_border(state, triplet, change)
    memory.due = status
    return status


@compiled
def _move_by_bound(state: DenseState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move K; ask LAPACK for its smallest eigenpair if the bound allows a negative eigenvalue."""
    memory = state.memory[0]
    memory.n_active += 1
    _add_to_three(state.K, triplet, change)
    memory.bound -= change.reach
    if memory.bound >= 0.0:
        memory.n_certified += 1
        return DONE
    memory.n_eigenpairs += 1
    return NEEDS_EIGENPAIR


@compiled
def _move_in_interior(state: DenseState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move K if all its eigenvalues still exceed -sigma: exactly if det(K' + sigma I) stays positive."""
    memory = state.memory[0]
    negligible = change.reach < _SMALLEST_REACH * -memory.sigma
    weight, ratio = _columns_of_inverse(state, triplet, change)
    if not (negligible or ratio > _SMALLEST_RATIO * _largest_drift(state.P)):
        return NOT_CERTIFIED
    memory.n_active += 1
    memory.n_certified += 1
    _add_to_three(state.K, triplet, change)
    if negligible:
        return DONE
    _update_without_projection(state, weight, change.a2 / ratio)
    return _status_of_inverse(state, triplet[0], triplet[1])


@compiled
def _move_at_border(state: DenseState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move K, and remove an eigenvalue that has become negative."""
    memory = state.memory[0]
    memory.n_active += 1
    _add_to_three(state.K, triplet, change)
    before = memory.bound
    memory.bound -= change.reach
    if change.reach < _SMALLEST_REACH * memory.sigma:
        memory.bound = max(0.0, memory.bound)
        memory.n_certified += 1
        return DONE

    # The ratio is det(K' + sigma I) / det(K + a1 w1 w1' + sigma I), where K' is the kernel after the move.
    weight, ratio = _columns_of_inverse(state, triplet, change)
    if memory.bound >= 0.0:
        memory.n_certified += 1
        _update_without_projection(state, weight, change.a2 / ratio)
        return _status_of_inverse(state, triplet[0], triplet[1])

    memory.n_eigenpairs += 1
    if change.reach > _LARGEST_REACH * memory.sigma:
        memory.sigma = 0.1 * change.reach
        return NEEDS_EIGENPAIR
    size, mu, residual = _smallest_pair(state, weight, change.a2, ratio)
    if size == 0:
        return NEEDS_EIGENPAIR
    if 1.0 / mu >= memory.sigma:
        # Lanczos finds only eigenvalues that the move has changed; the old bound holds for the others.
        memory.bound = max(0.0, min(1.0 / (mu + residual) - memory.sigma, before))
        _update_without_projection(state, weight, change.a2 / ratio)
        # After many moves without a projection, LAPACK can raise the bound and save further searches. It costs about
        # as much as 32 + n / 4 eigenpairs.
        if memory.quiet > 32 + state.K.lower.shape[0] // 4:
            return NEEDS_BOUND
    else:
        memory.bound = 0.0
        _project(state, weight, change.a2, ratio, size, 1.0 / mu - memory.sigma)
    return _status_of_inverse(state, triplet[0], triplet[1])


@compiled
def _add_to_three(K: Buffered, triplet: tuple[int, int, int], change: Move) -> None:
    a1, w1, a2, w2, _, _ = change
    for i in range(3):
        for j in range(i + 1):
            row, column = max(triplet[i], triplet[j]), min(triplet[i], triplet[j])
            K.lower[row, column] += a1 * w1[i] * w1[j] - a2 * w2[i] * w2[j]


@compiled
def _columns_of_inverse(state: DenseState, triplet: tuple[int, int, int], change: Move) -> tuple[float, float]:
    """Write p = P w1 and u = (P + weight pp') w2 to vectors 0 and 1; return the weight and 1 - a2 w2'u."""
    a1, w1, a2, w2, _, _ = change
    p, u = state.vectors[0], state.vectors[1]
    a, b, c = triplet
    p[:] = 0.0
    add_columns(state.P, triplet, w1, p)
    weight = -a1 / (1.0 + a1 * (w1[0] * p[a] + w1[1] * p[b] + w1[2] * p[c]))
    u[:] = 0.0
    add_columns(state.P, triplet, w2, u)
    axpy(weight * (w2[0] * p[a] + w2[1] * p[b] + w2[2] * p[c]), p, u)
    return weight, 1.0 - a2 * (w2[0] * u[a] + w2[1] * u[b] + w2[2] * u[c])


@compiled
def _smallest_pair(state: DenseState, weight: float, a2: float, ratio: float) -> tuple[int, float, float]:
    p, u, first = state.vectors[0], state.vectors[1], state.krylov.Q[0]
    norm = math.sqrt(dot(u, u))
    first[:] = 0.0
    axpy(1.0 / norm, u, first)
    shift = a2 * norm * norm / _away_from_zero(ratio)
    return extreme_pair(state.P, p, weight, shift, ratio < 0.0, state.memory[0].tol, state.krylov)


@compiled
def _away_from_zero(ratio: float) -> float:
    """The ratio, at least 1e-12 in size: at an eigenvalue of exactly -sigma it is 0 and the shift would be infinite."""
    if abs(ratio) < 1e-12:
        return -1e-12 if ratio < 0.0 else 1e-12
    return ratio


@compiled
def _update_without_projection(state: DenseState, weight: float, c: float) -> None:
    """P <- P + weight pp' + c uu'."""
    add_three_outer(state.P, (weight, c, 0.0), state.vectors)
    state.memory[0].updates += 1
    state.memory[0].quiet += 1


@compiled
def _project(state: DenseState, weight: float, a2: float, ratio: float, size: int, lowest: float) -> None:
    """K <- K - lowest vv', and update P by the Woodbury formula for w2 and v together.

    The joint update is well-conditioned, because the projected K + sigma I has no eigenvalue below sigma; an update
    for w2 alone might not be.
    """
    memory = state.memory[0]
    u, z, v = state.vectors[1], state.vectors[2], state.vectors[3]
    _ritz_vector_and_image(state.krylov, size, v, z)
    add_outer(state.K, -lowest, v)

    # M = S^-1 + U'PU with U = (w2, v), S = -diag(a2, lowest); PU = (u, z); P - PU M^-1 (PU)' by the eigenpairs of M.
    m11, m12, m22 = -ratio / a2, dot(u, v), dot(v, z) - 1.0 / lowest
    mean, half = 0.5 * (m11 + m22), 0.5 * (m11 - m22)
    radius = math.sqrt(half * half + m12 * m12)
    angle = 0.5 * math.atan2(m12, half)
    cosine, sine = math.cos(angle), math.sin(angle)
    for i in range(u.size):
        ui, zi = u[i], z[i]
        u[i] = cosine * ui + sine * zi
        z[i] = cosine * zi - sine * ui
    # Close to the cone m22 is so large that mean - radius would be only rounding; the determinant gives it exactly.
    larger = mean + math.copysign(radius, mean)
    smaller = (m11 * m22 - m12 * m12) / larger
    if mean < 0.0:
        larger, smaller = smaller, larger
    add_three_outer(state.P, (weight, -1.0 / larger, -1.0 / smaller), state.vectors)
    memory.updates += 1
    memory.projections += 1
    memory.n_projections += 1
    memory.quiet = 0
    memory.depth -= lowest


@compiled
def _ritz_vector_and_image(krylov: Krylov, size: int, v: Array, image: Array) -> None:
    """Write v = Q s and its image P v = Q T s + s_last times the residual direction, which needs no product with P."""
    Q = krylov.Q
    alpha, beta, _, s = rows_of(krylov)
    v[:] = 0.0
    image[:] = 0.0
    for i in range(size):
        coefficient = alpha[i] * s[i]
        if i > 0:
            coefficient += beta[i - 1] * s[i - 1]
        if i < size - 1:
            coefficient += beta[i] * s[i + 1]
        axpy(s[i], Q[i], v)
        axpy(coefficient, Q[i], image)
    axpy(s[size - 1], Q[size], image)
    scale = 1.0 / math.sqrt(dot(v, v))
    v *= scale
    image *= scale


@compiled
def _status_of_inverse(state: DenseState, a: int, b: int) -> int:
    """Whether to build P again: after 4 n + 100 updates, at a poor sigma, or if column a of P has drifted."""
    memory, n = state.memory[0], state.K.lower.shape[0]
    if memory.updates >= 4 * n + 100 or _sigma_is_poor(memory, n):
        return NEEDS_INVERSE
    if memory.updates % CHECK_EVERY == 0 and not _drift(state, a, b) < _largest_drift(state.P):
        return NEEDS_INVERSE
    return DONE


@compiled
def _drift(state: DenseState, a: int, b: int) -> float:
    """The error of entries (a, a) and (b, a) of (K + sigma I) P."""
    p, k, sigma = state.vectors[0], state.vectors[1], state.memory[0].sigma
    p[:] = 0.0
    add_columns(state.P, (a,), (1.0,), p)
    k[:] = 0.0
    add_columns(state.K, (a,), (1.0,), k)
    drift: float = abs(dot(k, p) + sigma * p[a] - 1.0)
    k[:] = 0.0
    add_columns(state.K, (b,), (1.0,), k)
    drift += abs(dot(k, p) + sigma * p[b])
    return drift


@compiled
def _largest_drift(P: Buffered) -> float:
    return _LARGEST_DRIFT_OF_FLOAT32 if P.lower.itemsize == 4 else _LARGEST_DRIFT


@compiled
def _sigma_is_poor(memory: Any, n: int) -> bool:
    """Whether sigma is more than a factor of 4 from the mean depth of a projection, where Lanczos is fastest."""
    if memory.projections < n // 2 + 20:
        return False
    mean_depth = max(memory.least_sigma, memory.depth / memory.projections)
    return bool(memory.sigma > 4.0 * mean_depth or 4.0 * memory.sigma < mean_depth)


@compiled
def all_distances(state: DenseState, T: Array, out: Array) -> None:
    """Write d²(a, b), d²(a, c) and their difference for each row of T."""
    for i in range(T.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = distances(state, T[i, 0], T[i, 1], T[i, 2])

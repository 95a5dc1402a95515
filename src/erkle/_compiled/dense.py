"""How one answer moves the dense kernel K and the maintained inverse P = (K + sigma I)^-1.

A move is K - gamma D = K + a1 w1 w1' - a2 w2 w2', where w1 and w2 are zero outside the three objects. The first term
raises eigenvalues. The second makes at most one eigenvalue negative, and the projection removes it. P is updated by
exact low-rank formulas for the vector that was actually removed, so it remains the inverse of K + sigma I up to
rounding, even if that vector is only a rough eigenvector.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from erkle._compiled.compiling import compiled
from erkle._compiled.lanczos import Krylov, extreme_pair
from erkle._compiled.moves import DONE, NEEDS_BOUND, NEEDS_EIGENPAIR, NEEDS_INVERSE, Move
from erkle._compiled.symmetric import add_columns, add_outer, add_three_outer, axpy, dot, row_times_row

Array = Any

# Updates of P between two checks of how well it still inverts K + sigma I.
_CHECK_EVERY = 16
# Error of P, in two entries of its product with K + sigma I, above which it is built again.
_LARGEST_DRIFT = 1e-10
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
        ("n_eigenpairs", np.int64),
        ("n_projections", np.int64),
        ("updates", np.int64),  # updates of P since it was last built
        ("projections", np.int64),  # projections since P was last built
        ("quiet", np.int64),  # moves since the last projection, or since LAPACK last computed the bound
        ("depth", np.float64),  # sum of the absolute eigenvalues removed since P was last built
    ]
)


class DenseState(NamedTuple):
    """K and P (lower triangles), scalars and workspace. P is empty if LAPACK computes every eigenpair."""

    K: Array
    P: Array
    memory: Array
    vectors: Array
    weights: Array
    krylov: Krylov


@compiled
def distances(state: DenseState, a: int, b: int, c: int) -> tuple[float, float, float]:
    """d²(a, b), d²(a, c) and their difference, computed without K_aa so that a tie is exactly 0."""
    K = state.K
    near = K[b, b] - 2.0 * K[max(a, b), min(a, b)]
    far = K[c, c] - 2.0 * K[max(a, c), min(a, c)]
    return K[a, a] + near, K[a, a] + far, near - far


@compiled
def move(state: DenseState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move K, project it if it may have left the cone, and update P; return a status for the Python side."""
    memory = state.memory[0]
    memory.n_active += 1
    _add_to_three(state.K, triplet, change)
    before = memory.bound
    memory.bound -= change.reach
    if state.P.shape[0] == 0:
        if memory.bound >= 0.0:
            return DONE
        memory.n_eigenpairs += 1
        return NEEDS_EIGENPAIR

    if change.reach < _SMALLEST_REACH * memory.sigma:
        memory.bound = max(0.0, memory.bound)
        return DONE

    # The ratio is det(K' + sigma I) / det(K + a1 w1 w1' + sigma I), where K' is the kernel after the move.
    weight, ratio = _columns_of_inverse(state, triplet, change)
    if memory.bound >= 0.0:
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
        if memory.quiet > 32 + state.K.shape[0] // 4:
            return NEEDS_BOUND
    else:
        memory.bound = 0.0
        _project(state, weight, change.a2, ratio, size, 1.0 / mu - memory.sigma)
    return _status_of_inverse(state, triplet[0], triplet[1])


@compiled
def _add_to_three(K: Array, triplet: tuple[int, int, int], change: Move) -> None:
    a1, w1, a2, w2, _, _ = change
    for i in range(3):
        for j in range(i + 1):
            row, column = max(triplet[i], triplet[j]), min(triplet[i], triplet[j])
            K[row, column] += a1 * w1[i] * w1[j] - a2 * w2[i] * w2[j]


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
    state.weights[0], state.weights[1], state.weights[2] = weight, c, 0.0
    add_three_outer(state.P, state.weights, state.vectors)
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
    state.weights[0], state.weights[1], state.weights[2] = weight, -1.0 / larger, -1.0 / smaller
    add_three_outer(state.P, state.weights, state.vectors)
    memory.updates += 1
    memory.projections += 1
    memory.n_projections += 1
    memory.quiet = 0
    memory.depth -= lowest


@compiled
def _ritz_vector_and_image(krylov: Krylov, size: int, v: Array, image: Array) -> None:
    """Write v = Q s and its image P v = Q T s + s_last times the residual direction, which needs no product with P."""
    Q, alpha, beta, _, s = krylov
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
    memory = state.memory[0]
    if memory.updates >= 4 * state.K.shape[0] + 100 or _sigma_is_poor(memory, state.K.shape[0]):
        return NEEDS_INVERSE
    if memory.updates % _CHECK_EVERY == 0:
        K, P, sigma = state.K, state.P, memory.sigma
        drift = abs(row_times_row(K, a, P, a) + sigma * P[a, a] - 1.0)
        drift += abs(row_times_row(K, b, P, a) + sigma * P[max(a, b), min(a, b)])
        if not drift < _LARGEST_DRIFT:
            return NEEDS_INVERSE
    return DONE


@compiled
def _sigma_is_poor(memory: Any, n: int) -> bool:
    """Whether sigma is more than a factor of 4 from the mean depth of a projection, where Lanczos is fastest."""
    if memory.projections < n // 2 + 20:
        return False
    mean_depth = max(memory.least_sigma, memory.depth / memory.projections)
    return bool(memory.sigma > 4.0 * mean_depth or 4.0 * memory.sigma < mean_depth)

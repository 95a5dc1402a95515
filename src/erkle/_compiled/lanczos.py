"""The eigenpair that a projection needs, computed by Lanczos on a maintained inverse.

Let P = (K + sigma I)^-1, u = P w and K' = K - a w w'. Then P' = (K' + sigma I)^-1 = P + c u u' with
c = a / (1 - a w'u), and the eigenvector of the smallest eigenvalue of K' lies in the Krylov space of P that starts
at u. In the basis of that space, P' is the tridiagonal matrix of P with c |u|^2 added to its first entry. Lanczos
therefore works with the well-conditioned P, however close K' + sigma I is to singular. The Ritz value it looks for is
the largest one or, if 1 - a w'u < 0 and K' has an eigenvalue below -sigma, the only negative one.
"""

import math
from typing import Any, NamedTuple

from erkle._compiled import symmetric
from erkle._compiled.buffered import Buffered, multiply
from erkle._compiled.compiling import compiled
from erkle._compiled.symmetric import axpy, dot

Array = Any


class Krylov(NamedTuple):
    """Workspace: the basis (rows of Q), and four rows of numbers.

    The numbers are the diagonal of the tridiagonal matrix, the entries beside it, pivots, and a Ritz vector. They are
    in one array because compiled code passes the fields of every array to every function.
    """

    Q: Array
    numbers: Array


@compiled
def extreme_pair(
    P: Buffered, p: Array, weight: float, shift: float, negative: bool, tol: float, krylov: Krylov
) -> tuple[int, float, float]:
    """Return the size of the basis, the Ritz value and its residual; size 0 if Lanczos does not converge.

    The operator is P + weight pp', with ``shift`` added to the first entry of its tridiagonal form.
    ``krylov.Q[0]`` must hold the normalised start. On return, ``Q[size]`` holds the residual direction, not normalised.
    """
    Q = krylov.Q
    alpha, beta, pivots, ritz = rows_of(krylov)
    lower, plain = P.lower, P.pending.shape[0] == 0
    sign = -1.0 if negative else 1.0
    mu = 0.0
    for k in range(Q.shape[0] - 1):
        z = Q[k + 1]
        # In the cache, a product takes so little time that one more function call is a tenth of it.
        if plain:
            symmetric.multiply(lower, Q[k], z)
        else:
            multiply(P, Q[k], z)
        axpy(weight * dot(p, Q[k]), p, z)
        alpha[k] = dot(Q[k], z)
        for i in range(k, -1, -1):
            axpy(-dot(Q[i], z), Q[i], z)
        beta[k] = math.sqrt(dot(z, z))
        if k == 0:
            mu = sign * (alpha[0] + shift)
            ritz[0] = 1.0
        else:
            above = _upper_bound(mu, sign * alpha[k], beta[k - 1])
            mu = largest_eigenvalue(alpha, beta, k + 1, sign, shift, above, pivots)
            _eigenvector(beta, k + 1, sign, pivots, ritz)
        residual = beta[k] * abs(ritz[k])
        if residual <= tol * abs(mu):
            return k + 1, sign * mu, residual
        z *= 1.0 / beta[k]
    return 0, 0.0, 0.0


@compiled
def rows_of(krylov: Krylov) -> tuple[Array, Array, Array, Array]:
    """The diagonal, the entries beside it, the pivots and the Ritz vector."""
    return krylov.numbers[0], krylov.numbers[1], krylov.numbers[2], krylov.numbers[3]


@compiled
def _upper_bound(mu: float, a: float, b: float) -> float:
    """A bound on the eigenvalues of a matrix with largest eigenvalue mu, bordered by the row (b, a)."""
    half = 0.5 * (mu - a)
    return (a + half + math.sqrt(half * half + b * b)) * (1.0 + 1e-14)


@compiled
def largest_eigenvalue(
    alpha: Array, beta: Array, size: int, sign: float, shift: float, above: float, pivots: Array
) -> float:
    """Largest eigenvalue of sign * (tridiagonal + shift e_1 e_1'); Newton's method is monotone from ``above``."""
    mu = above
    for _ in range(100):
        pivot, slope, total = 1.0, 0.0, 0.0
        for i in range(size - 1, -1, -1):
            coupling = beta[i] * beta[i] / pivot if i < size - 1 else 0.0
            slope = -1.0 + coupling / pivot * slope
            pivot = sign * (alpha[i] + (shift if i == 0 else 0.0)) - mu - coupling
            pivots[i] = pivot
            total += slope / pivot
        lower = mu - 1.0 / total
        # `not lower < mu` also holds for NaN, which a zero pivot causes; mu is then exactly the eigenvalue.
        if not lower < mu or mu - lower <= 1e-15 * abs(mu):
            break
        mu = lower
    return mu


@compiled
def _eigenvector(beta: Array, size: int, sign: float, pivots: Array, vector: Array) -> None:
    """Write the eigenvector; entries are computed from the last to the first, where errors do not grow."""
    vector[size - 1] = 1.0
    total = 1.0
    for i in range(size - 2, -1, -1):
        vector[i] = -sign * pivots[i + 1] * vector[i + 1] / beta[i]
        total += vector[i] * vector[i]
    vector[:size] /= math.sqrt(total)

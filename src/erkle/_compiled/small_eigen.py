"""All eigenpairs of a small symmetric matrix: Householder reflections to tridiagonal form, then QL with shifts.

LAPACK uses the same method, but is optimised for large matrices. At our sizes these loops take half the time
(`benchmarks/speed.py`), and most of the time of an answer is spent here.
"""

import math
from typing import Any

import numpy as np

from erkle._compiled.compiling import compiled

Array = Any

_EPSILON = 2.3e-16
# Negligible next to the largest entry, which is scaled to 1; the square of a smaller number would lose digits.
_NEGLIGIBLE = 1e-140
# Most QL sweeps per eigenpair; two are typical, and twenty have never been seen.
_MAX_SWEEPS = 60


@compiled
def eigenpairs(A: Array) -> tuple[Array, Array]:
    """Eigenvalues of A, the largest first, and eigenvectors as rows; A is overwritten."""
    n = A.shape[0]
    size = np.abs(A).max()
    # Without scaling, squares of very large or small entries would overflow or underflow.
    A *= 1.0 / size if size > 1e-300 else 0.0
    values, off = np.empty(n), np.zeros(n)
    V = _tridiagonalise(A, values, off)
    _diagonalise(values, off, V)
    _sort(values, V)
    return size * values, V


@compiled
def _tridiagonalise(A: Array, values: Array, off: Array) -> Array:
    """Write the diagonal and the off-diagonal of the tridiagonal V A V'; return the orthogonal V.

    The order is reversed, the last row of A first: QL needs the fewest sweeps if the largest entries come last.
    """
    n = A.shape[0]
    products, weights = np.zeros(n), np.zeros(n)
    for k in range(n - 2):
        # The reflection I - weight vv' turns the entries right of the diagonal into (length, 0, ..., 0).
        v = A[k, k + 1 :]
        rest = _dot(v[1:], v[1:])
        off[n - 2 - k] = v[0]
        if rest < _NEGLIGIBLE**2:
            continue
        square = v[0] * v[0] + rest
        length = math.sqrt(square) if v[0] < 0.0 else -math.sqrt(square)
        off[n - 2 - k] = length
        weight = 1.0 / (square - length * v[0])
        v[0] -= length
        weights[k] = weight
        w = products[k + 1 :]
        w[:] = 0.0
        for i in range(v.size):
            factor, row = weight * v[i], A[k + 1 + i, k + 1 :]
            for j in range(v.size):
                w[j] += factor * row[j]
        half = 0.5 * weight * _dot(w, v)
        for j in range(v.size):
            w[j] -= half * v[j]
        for i in range(v.size):
            one, other, row = v[i], w[i], A[k + 1 + i, k + 1 :]
            for j in range(v.size):
                row[j] -= one * w[j] + other * v[j]
    for k in range(n):
        values[n - 1 - k] = A[k, k]
    if n > 1:
        off[0] = A[n - 2, n - 1]
    return _product_of_reflections(A, weights)


@compiled
def _product_of_reflections(A: Array, weights: Array) -> Array:
    """The product of the reflections whose vectors are stored right of the diagonal of A, with its rows reversed.

    The last reflection is applied first; each changes only a corner, which grows.
    """
    n = A.shape[0]
    V = np.zeros((n, n))
    for k in range(n):
        V[n - 1 - k, k] = 1.0
    for k in range(n - 3, -1, -1):
        v = A[k, k + 1 :]
        for i in range(n - 1 - k):
            row = V[i, k + 1 :]
            along = weights[k] * _dot(row, v)
            for j in range(v.size):
                row[j] -= along * v[j]
    return V


@compiled
def _dot(x: Array, y: Array) -> float:
    """Sum of x_i y_i in order: `symmetric.dot` may reorder the sum, and the last digits here must be reproducible."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@compiled
def _diagonalise(values: Array, off: Array, V: Array) -> None:
    """Rotate neighbouring rows, also those of V, until the matrix is diagonal."""
    n = values.size
    for first in range(n):
        for _ in range(_MAX_SWEEPS):
            last = first
            while last < n - 1:
                if abs(off[last]) <= _EPSILON * (abs(values[last]) + abs(values[last + 1])) + _NEGLIGIBLE:
                    break
                last += 1
            if last == first:
                break
            _ql_sweep(values, off, V, first, last)


@compiled
def _ql_sweep(values: Array, off: Array, V: Array, first: int, last: int) -> None:
    """One QL sweep from the last row to the first.

    The shift is the eigenvalue of the first 2 × 2 block that is closer to its first entry. Each rotation by
    (cosine, sine) acts on rows i and i + 1 and removes the entry (``bulge``) that the rotation before has left.
    """
    half = (values[first + 1] - values[first]) / (2.0 * off[first])
    root = math.sqrt(half * half + 1.0)
    bulge = values[last] - values[first] + off[first] / (half + (root if half >= 0.0 else -root))
    cosine = sine = 1.0
    moved = 0.0
    for i in range(last - 1, first - 1, -1):
        across, along = sine * off[i], cosine * off[i]
        square = across * across + bulge * bulge
        # The square root and the division run in parallel; the next rotation has to wait for both.
        length, inverse = math.sqrt(square), 1.0 / square
        if length < _NEGLIGIBLE:
            # The matrix splits into two here.
            values[i + 1] -= moved
            off[i + 1] = off[last] = 0.0
            return
        off[i + 1] = length
        sine, cosine = across * inverse * length, bulge * inverse * length
        rest = values[i + 1] - moved
        twice = (values[i] - rest) * sine + 2.0 * cosine * along
        moved = sine * twice
        values[i + 1] = rest + moved
        bulge = cosine * twice - along
        upper, lower = V[i], V[i + 1]
        for k in range(upper.size):
            one, other = upper[k], lower[k]
            upper[k] = cosine * one - sine * other
            lower[k] = sine * one + cosine * other
    values[first] -= moved
    off[first] = bulge
    off[last] = 0.0


@compiled
def _sort(values: Array, V: Array) -> None:
    """Sort by decreasing eigenvalue; QL leaves them nearly in increasing order."""
    n = values.size
    for k in range(n - 1):
        largest = n - 1
        for i in range(n - 2, k - 1, -1):
            if values[i] > values[largest]:
                largest = i
        if largest != k:
            values[k], values[largest] = values[largest], values[k]
            upper, lower = V[k], V[largest]
            for j in range(upper.size):
                upper[j], lower[j] = lower[j], upper[j]

"""All eigenpairs of a small symmetric matrix: Householder's reflections to three diagonals, then QL with shifts.

That is what LAPACK does, too, but it is made for large matrices: here these loops take about half its time
(`benchmarks/speed.py`), and that was most of the time of an answer.
"""

import math
from typing import Any

import numpy as np

from erkle._compiled.compiling import compiled

Array = Any

_EPSILON = 2.3e-16
# Nothing beside the largest entry, which is 1 here: squares of less lose their digits, and one over them is infinite.
_NOTHING = 1e-140
# A pair takes two turns as a rule, and was never seen to take twenty.
_MOST_TURNS = 60


@compiled
def eigenpairs(A: Array) -> tuple[Array, Array]:
    """Eigenvalues of A, the largest first, and eigenvectors, a row for each; A is overwritten."""
    n = A.shape[0]
    size = np.abs(A).max()
    # Squares of what is very large or very small would be infinite or nothing.
    A *= 1.0 / size if size > 1e-300 else 0.0
    values, beside = np.empty(n), np.zeros(n)
    V = _to_three_diagonals(A, values, beside)
    _to_one_diagonal(values, beside, V)
    _sort(values, V)
    return size * values, V


@compiled
def _to_three_diagonals(A: Array, values: Array, beside: Array) -> Array:
    """The diagonal and the one beside it of V A V', and the orthogonal V.

    The last row of A comes first: where the largest entries are the last, QL takes the fewest turns.
    """
    n = A.shape[0]
    products, weights = np.zeros(n), np.zeros(n)
    for k in range(n - 2):
        # The reflection I - weight vv' takes what is right of the diagonal to its first entry.
        v = A[k, k + 1 :]
        rest = _dot(v[1:], v[1:])
        beside[n - 2 - k] = v[0]
        if rest < _NOTHING**2:
            continue
        square = v[0] * v[0] + rest
        length = math.sqrt(square) if v[0] < 0.0 else -math.sqrt(square)
        beside[n - 2 - k] = length
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
        beside[0] = A[n - 2, n - 1]
    return _product_of_reflections(A, weights)


@compiled
def _product_of_reflections(A: Array, weights: Array) -> Array:
    """Those whose vectors are right of the diagonal of A, the last of them first, with the last row on top.

    It works in a growing corner only.
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
    """Sum of x_i y_i, one after the other: these are short, and their last digits must be the same everywhere."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@compiled
def _to_one_diagonal(values: Array, beside: Array, V: Array) -> None:
    """Rotate neighbours, and the rows of V with them, until nothing is left beside the diagonal."""
    n = values.size
    for first in range(n):
        for _ in range(_MOST_TURNS):
            last = first
            while last < n - 1:
                if abs(beside[last]) <= _EPSILON * (abs(values[last]) + abs(values[last + 1])) + _NOTHING:
                    break
                last += 1
            if last == first:
                break
            _turn(values, beside, V, first, last)


@compiled
def _turn(values: Array, beside: Array, V: Array, first: int, last: int) -> None:
    """One turn of QL from the last row up to the first, the shift the eigenvalue of the first two close to the first.

    A rotation by (cosine, sine) of rows i and i + 1 takes what the one before has left over beside them (``over``) to
    nothing.
    """
    half = (values[first + 1] - values[first]) / (2.0 * beside[first])
    root = math.sqrt(half * half + 1.0)
    over = values[last] - values[first] + beside[first] / (half + (root if half >= 0.0 else -root))
    cosine = sine = 1.0
    moved = 0.0
    for i in range(last - 1, first - 1, -1):
        across, along = sine * beside[i], cosine * beside[i]
        square = across * across + over * over
        # The two go on side by side; each rotation waits for the one before, and so for them.
        length, inverse = math.sqrt(square), 1.0 / square
        if length < _NOTHING:
            # The matrix falls into two here.
            values[i + 1] -= moved
            beside[i + 1] = beside[last] = 0.0
            return
        beside[i + 1] = length
        sine, cosine = across * inverse * length, over * inverse * length
        rest = values[i + 1] - moved
        twice = (values[i] - rest) * sine + 2.0 * cosine * along
        moved = sine * twice
        values[i + 1] = rest + moved
        over = cosine * twice - along
        upper, lower = V[i], V[i + 1]
        for k in range(upper.size):
            one, other = upper[k], lower[k]
            upper[k] = cosine * one - sine * other
            lower[k] = sine * one + cosine * other
    values[first] -= moved
    beside[first] = over
    beside[last] = 0.0


@compiled
def _sort(values: Array, V: Array) -> None:
    """The largest first. They come nearly sorted, the other way round."""
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

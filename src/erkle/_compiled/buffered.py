"""Symmetric matrices whose updates are buffered: A = lower triangle + sum of pending terms vv' and -vv'.

Adding a term to a matrix that does not fit in the cache takes as long as multiplying it by a vector. BLAS adds many
terms together in about the time of two. All functions here read the matrix with its pending terms, so results do not
depend on when they are applied, except for rounding. A matrix without room for terms applies each one at once, with the
loops of `symmetric.py`, which are faster in the cache.
"""

import math
from typing import Any, NamedTuple

from erkle._compiled import symmetric
from erkle._compiled.blas import symv, syrk
from erkle._compiled.compiling import compiled
from erkle._compiled.symmetric import axpy, dot

Array = Any

# Share of the largest entry of a vector below which its other entries count as 0.
_NEGLIGIBLE = 1e-16


class Buffered(NamedTuple):
    """A lower triangle, (n, n), and the vectors of pending terms, (room, n).

    Vectors of terms vv' fill ``pending`` from the first row on, those of -vv' from the last. ``counts`` is how many
    there are of each.
    """

    lower: Array
    pending: Array
    counts: Array


@compiled
def entry(A: Buffered, i: int, j: int) -> float:
    """A_ij."""
    stored: float = A.lower[max(i, j), min(i, j)]
    if A.pending.shape[0] == 0:
        return stored
    return stored + _pending_entry(A.pending, A.counts, i, j)


@compiled
def _pending_entry(V: Array, counts: Array, i: int, j: int) -> float:
    total = 0.0
    for k in range(counts[0]):
        total += V[k, i] * V[k, j]
    for k in range(V.shape[0] - counts[1], V.shape[0]):
        total -= V[k, i] * V[k, j]
    return total


@compiled
def add_columns(A: Buffered, indices: tuple[int, ...], weights: tuple[float, ...], y: Array) -> None:
    """y += sum_k weights_k A[:, indices_k]."""
    symmetric.add_columns(A.lower, indices, weights, y)
    if A.pending.shape[0] > 0:
        _add_pending_columns(A.pending, A.counts, indices, weights, y)


@compiled
def _add_pending_columns(
    V: Array, counts: Array, indices: tuple[int, ...], weights: tuple[float, ...], y: Array
) -> None:
    for k in range(V.shape[0]):
        if counts[0] <= k < V.shape[0] - counts[1]:
            continue
        factor = 0.0
        for i in range(len(indices)):
            factor += weights[i] * V[k, indices[i]]
        axpy(factor if k < counts[0] else -factor, V[k], y)


@compiled
def multiply(A: Buffered, x: Array, y: Array) -> None:
    """y = A x."""
    if A.pending.shape[0] == 0:
        symmetric.multiply(A.lower, x, y)
    else:
        symv(A.lower, x, y)
        _add_pending_product(A.pending, A.counts, x, y)


@compiled
def _add_pending_product(V: Array, counts: Array, x: Array, y: Array) -> None:
    for k in range(counts[0]):
        axpy(dot(V[k], x), V[k], y)
    for k in range(V.shape[0] - counts[1], V.shape[0]):
        axpy(-dot(V[k], x), V[k], y)


@compiled
def add_outer(A: Buffered, c: float, v: Array) -> None:
    """A += c vv'."""
    if A.pending.shape[0] == 0:
        symmetric.add_outer(A.lower, c, v)
    else:
        _append(A, c, v)


@compiled
def _append(A: Buffered, c: float, v: Array) -> None:
    room = A.pending.shape[0]
    if A.counts[0] + A.counts[1] == room:
        apply(A)
    row = A.counts[0] if c > 0.0 else room - 1 - A.counts[1]
    _write_scaled(math.sqrt(abs(c)), v, A.pending[row])
    A.counts[0 if c > 0.0 else 1] += 1


@compiled
def _write_scaled(c: float, v: Array, row: Array) -> None:
    """row = c v, without entries too small to count: products of two would be subnormal numbers, which are slow."""
    largest = 0.0
    for i in range(v.size):
        largest = max(largest, abs(v[i]))
    for i in range(v.size):
        row[i] = c * v[i] if abs(v[i]) > _NEGLIGIBLE * largest else 0.0


@compiled
def add_three_outer(A: Buffered, c: tuple[float, float, float], V: Array) -> None:
    """A += c_0 uu' + c_1 vv' + c_2 ww'; u, v and w are the first three rows of V."""
    if A.pending.shape[0] == 0:
        symmetric.add_three_outer(A.lower, c, V)
        return
    for k in range(3):
        if c[k] != 0.0:
            _append(A, c[k], V[k])


@compiled
def apply(A: Buffered) -> None:
    """Add all pending terms to the lower triangle."""
    room = A.pending.shape[0]
    if A.counts[0] > 0:
        syrk(A.lower, 1.0, A.pending[: A.counts[0]])
    if A.counts[1] > 0:
        syrk(A.lower, -1.0, A.pending[room - A.counts[1] :])
    A.counts[:] = 0

"""Symmetric matrices stored as lower triangles; the upper triangle is never read.

This halves the memory traffic, which limits the speed of these loops from a few hundred objects on.
"""

from typing import Any

from erkle._compiled.compiling import compiled_with_long_sums

Array = Any


@compiled_with_long_sums
def dot(x: Array, y: Array) -> float:
    """Sum of x_i y_i."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@compiled_with_long_sums
def axpy(a: float, x: Array, y: Array) -> None:
    """y += a x."""
    for i in range(x.size):
        y[i] += a * x[i]


@compiled_with_long_sums
def multiply(A: Array, x: Array, y: Array) -> None:
    """y = A x, four rows at a time; each entry is used for both triangles."""
    n = x.size
    y[:] = 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(i):
            xj = x[j]
            s0 += r0[j] * xj
            s1 += r1[j] * xj
            s2 += r2[j] * xj
            s3 += r3[j] * xj
            y[j] += r0[j] * x0 + r1[j] * x1 + r2[j] * x2 + r3[j] * x3
        y[i] += s0 + r0[i] * x0 + r1[i] * x1 + r2[i] * x2 + r3[i] * x3
        y[i + 1] += s1 + r1[i] * x0 + r1[i + 1] * x1 + r2[i + 1] * x2 + r3[i + 1] * x3
        y[i + 2] += s2 + r2[i] * x0 + r2[i + 1] * x1 + r2[i + 2] * x2 + r3[i + 2] * x3
        y[i + 3] += s3 + r3[i] * x0 + r3[i + 1] * x1 + r3[i + 2] * x2 + r3[i + 3] * x3
    for i in range(whole, n):
        row = A[i]
        y[i] += row[i] * x[i] + dot(row[:i], x[:i])
        axpy(x[i], row[:i], y[:i])


@compiled_with_long_sums
def add_outer(A: Array, c: float, v: Array) -> None:
    """A += c vv', four rows at a time; this also writes up to three entries right of the diagonal."""
    n = v.size
    whole = n - n % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        v0, v1, v2, v3 = c * v[i], c * v[i + 1], c * v[i + 2], c * v[i + 3]
        for j in range(i + 4):
            r0[j] += v0 * v[j]
            r1[j] += v1 * v[j]
            r2[j] += v2 * v[j]
            r3[j] += v3 * v[j]
    for i in range(whole, n):
        axpy(c * v[i], v[: i + 1], A[i, : i + 1])


@compiled_with_long_sums
def add_three_outer(A: Array, c: tuple[float, float, float], V: Array) -> None:
    """A += c_0 uu' + c_1 vv' + c_2 ww' in one sweep over A; u, v and w are the first three rows of V."""
    n = A.shape[0]
    whole = n - n % 4
    u, v, w = V[0], V[1], V[2]
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        u0, u1, u2, u3 = c[0] * u[i], c[0] * u[i + 1], c[0] * u[i + 2], c[0] * u[i + 3]
        v0, v1, v2, v3 = c[1] * v[i], c[1] * v[i + 1], c[1] * v[i + 2], c[1] * v[i + 3]
        w0, w1, w2, w3 = c[2] * w[i], c[2] * w[i + 1], c[2] * w[i + 2], c[2] * w[i + 3]
        for j in range(i + 4):
            uj, vj, wj = u[j], v[j], w[j]
            r0[j] += u0 * uj + v0 * vj + w0 * wj
            r1[j] += u1 * uj + v1 * vj + w1 * wj
            r2[j] += u2 * uj + v2 * vj + w2 * wj
            r3[j] += u3 * uj + v3 * vj + w3 * wj
    for i in range(whole, n):
        for k in range(3):
            axpy(c[k] * V[k, i], V[k, : i + 1], A[i, : i + 1])


@compiled_with_long_sums
def add_columns(A: Array, indices: tuple[int, ...], weights: tuple[float, ...], y: Array) -> None:
    """y += sum_k weights_k A[:, indices_k]."""
    for k in range(len(indices)):
        i, weight = indices[k], weights[k]
        axpy(weight, A[i, : i + 1], y[: i + 1])
        axpy(weight, A[i + 1 :, i], y[i + 1 :])

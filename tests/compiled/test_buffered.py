"""Laws of buffered matrices: every function reads the matrix with its pending terms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle._compiled import buffered
from erkle._compiled.blas import symv, syrk
from erkle._compiled.buffered import Buffered, add_columns, add_outer, add_three_outer, apply, entry, multiply

TYPES = [np.float32, np.float64]


def tolerance(dtype):
    return 1e-3 if dtype == np.float32 else 1e-10


def example(n, room, dtype, seed, n_terms):
    """A matrix with pending terms of both signs, and the same matrix as a full one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n))
    full = (X + X.T).astype(dtype).astype(float)
    lower = np.tril(full).astype(dtype)
    lower[np.triu_indices(n, 1)] = 1e6
    A = Buffered(lower, np.zeros((room, n), dtype), np.zeros(2, np.int64))
    for _ in range(n_terms):
        c, v = rng.normal(), rng.normal(size=n).astype(dtype)
        add_outer(A, c, v)
        full += c * np.outer(v, v)
    return A, full


@pytest.mark.parametrize("dtype", TYPES)
@settings(max_examples=30, deadline=None)
@given(n=st.integers(3, 20), room=st.sampled_from([0, 3, 8]), seed=st.integers(0, 10**6), n_terms=st.integers(0, 20))
def test_everything_read_includes_pending_terms(dtype, n, room, seed, n_terms):
    A, full = example(n, room, dtype, seed, n_terms)
    rng, close = np.random.default_rng(seed), {"atol": tolerance(dtype) * (1 + n_terms), "rtol": 0}
    assert A.counts.sum() <= room
    i, j, k = (int(index) for index in rng.permutation(n)[:3])
    np.testing.assert_allclose(entry(A, i, j), full[i, j], **close)
    x, y = rng.normal(size=n).astype(dtype), np.zeros(n, dtype)
    multiply(A, x, y)
    np.testing.assert_allclose(y, full @ x, **close)
    y[:] = 1.0
    add_columns(A, (i, j, k), (2.0, -1.0, 0.5), y)
    np.testing.assert_allclose(y, 1 + full[:, [i, j, k]] @ [2.0, -1.0, 0.5], **close)
    V = rng.normal(size=(4, n)).astype(dtype)
    add_three_outer(A, (0.5, 0.0, -2.0), V)
    full += 0.5 * np.outer(V[0], V[0]) - 2 * np.outer(V[2], V[2])
    apply(A)
    assert not A.counts.any()
    below = np.tril_indices(n)
    np.testing.assert_allclose(A.lower[below], full[below], **close)
    if room:
        assert (A.lower[np.triu_indices(n, 1)] == 1e6).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_compiled_and_python_write_the_same_terms(dtype):
    compiled, _ = example(9, 7, dtype, 0, 5)
    python = Buffered(*(array.copy() for array in compiled))
    v = np.random.default_rng(1).normal(size=9).astype(dtype)
    v[3] = 1e-30
    for function, A in ((add_outer, compiled), (buffered.add_outer.py_func, python)):
        for c in (0.3, -2.0, 1.0):
            function(A, c, v)
    for one, other in zip(compiled, python, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_blas_multiplies_and_updates_lower_triangles(n, dtype):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, n))
    lower = np.tril(X + X.T).astype(dtype)
    full = lower + np.tril(lower, -1).T
    x, y, V = (rng.normal(size=shape).astype(dtype) for shape in (n, n, (3, n)))
    symv(lower, x, y)
    np.testing.assert_allclose(y, full @ x, atol=n * tolerance(dtype))
    syrk(lower, -1.0, V)
    np.testing.assert_allclose(lower, np.tril(full - V.T @ V), atol=tolerance(dtype))

"""Laws of lower triangles: results equal NumPy's on the full matrix, and the upper triangle is never read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle._compiled.symmetric import add_columns, add_outer, add_three_outer, axpy, dot, multiply

# The loops take four rows at a time.
every_residue = pytest.mark.parametrize("residue", range(4), ids=lambda residue: f"4k+{residue}")


def sizes(residue, least=1):
    return [n for n in range(least, 41) if n % 4 == residue]


def both(function):
    """The compiled function and its Python source."""
    return pytest.mark.parametrize("function", [function, function.py_func], ids=["compiled", "python"])


def vectors(n, count, seed=0):
    return np.random.default_rng([seed, n]).normal(size=(count, n))


def whole_and_lower(n, seed=1):
    """A symmetric matrix, and its lower triangle with NaN above."""
    A = vectors(n, n, seed)
    A = A + A.T
    return A, hidden(A)


def hidden(A):
    lower = A.copy()
    lower[np.triu_indices(len(A), 1)] = np.nan
    return lower


def assert_same_lower(actual, expected):
    below = np.tril_indices(len(expected))
    np.testing.assert_allclose(actual[below], expected[below], rtol=1e-12, atol=1e-12)


@both(dot)
@every_residue
def test_dot_is_the_inner_product(function, residue):
    for n in sizes(residue):
        x, y = vectors(n, 2)
        assert function(x, y) == pytest.approx(x @ y, rel=1e-12, abs=1e-12)


@both(axpy)
@every_residue
def test_axpy_adds_a_multiple(function, residue):
    for n in sizes(residue):
        x, y = vectors(n, 2)
        expected = y - 2.5 * x
        function(-2.5, x, y)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)


@both(multiply)
@every_residue
def test_multiply_is_the_product_with_the_full_matrix(function, residue):
    for n in sizes(residue):
        A, lower = whole_and_lower(n)
        x, y = vectors(n, 2)
        function(lower, x, y)
        np.testing.assert_allclose(y, A @ x, rtol=1e-11, atol=1e-11)


@both(add_outer)
@every_residue
def test_add_outer_adds_a_multiple_of_vv(function, residue):
    for n in sizes(residue):
        A, lower = whole_and_lower(n)
        (v,) = vectors(n, 1)
        function(lower, -0.7, v)
        assert_same_lower(lower, A - 0.7 * np.outer(v, v))


@both(add_three_outer)
@every_residue
@pytest.mark.parametrize("c", [(0.5, -2.0, 3.0), (0.5, -2.0, 0.0)])
def test_add_three_outer_adds_three_products(function, residue, c):
    for n in sizes(residue):
        A, lower = whole_and_lower(n)
        # The kernel passes four vectors; the last one must not be read.
        V = np.vstack([vectors(n, 3), np.full((1, n), np.nan)])
        function(lower, c, V)
        assert_same_lower(lower, A + (V[:3].T * np.array(c)) @ V[:3])


@both(add_columns)
@every_residue
def test_add_columns_adds_columns_of_the_full_matrix(function, residue):
    for n in sizes(residue, least=3):
        A, lower = whole_and_lower(n)
        (y,) = vectors(n, 1)
        a, b, c = (int(i) for i in np.random.default_rng(n).permutation(n)[:3])
        expected = y + A[:, [a, b, c]] @ [2.0, -1.0, 0.5]
        function(lower, (a, b, c), (2.0, -1.0, 0.5), y)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


@given(n=st.integers(1, 40), seed=st.integers(0, 1000))
def test_entries_written_right_of_the_diagonal_are_never_read(n, seed):
    A, lower = whole_and_lower(n, seed)
    lower[np.triu_indices(n, 1)] = 1e300
    V, c = vectors(n, 3, seed), (1.0, -1.0, 2.0)
    x, y = vectors(n, 2, seed + 1)
    add_outer(lower, 0.3, x)
    add_three_outer(lower, c, V)
    whole = A + 0.3 * np.outer(x, x) + (V.T * np.array(c)) @ V
    multiply(lower, x, y)
    np.testing.assert_allclose(y, whole @ x, rtol=1e-10, atol=1e-10)
    i = seed % n
    y[:] = 0.0
    add_columns(lower, (i, i, i), (1.0, 1.0, 1.0), y)
    np.testing.assert_allclose(y, 3 * whole[i], rtol=1e-10, atol=1e-10)


@given(n=st.integers(4, 40), seed=st.integers(0, 1000))
def test_at_most_three_entries_right_of_the_diagonal_are_written(n, seed):
    _, lower = whole_and_lower(n, seed)
    lower[np.triu_indices(n, 1)] = 7.0
    add_outer(lower, 0.3, vectors(n, 1, seed)[0])
    add_three_outer(lower, (1.0, 1.0, 1.0), vectors(n, 3, seed))
    assert (lower[np.triu_indices(n, 4)] == 7.0).all()


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_nan_and_infinity_are_not_optimised_away(special):
    A, x, y = np.eye(9), np.ones(9), np.zeros(9)
    A[5, 2] = special
    multiply(A, x, y)
    assert not np.isfinite(y[[2, 5]]).any()
    assert np.isfinite(np.delete(y, [2, 5])).all()

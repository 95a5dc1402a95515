"""Laws of the small eigenproblem: eigenvalues equal NumPy's, the largest first, and the pairs reproduce the matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle._compiled.small_eigen import eigenpairs

few_examples = settings(max_examples=50)


def assert_right(A):
    size = max(np.abs(A).max(), 1e-300)
    values, V = eigenpairs(A.copy())
    exact = 1e-14 * (len(A) + 5)
    np.testing.assert_allclose(values / size, np.linalg.eigvalsh(A / size)[::-1], atol=exact)
    np.testing.assert_allclose(V @ V.T, np.eye(len(A)), atol=exact)
    np.testing.assert_allclose((V.T * (values / size)) @ V, A / size, atol=exact)
    assert (np.diff(values) <= 0.0).all()


@st.composite
def spectra(draw):
    """Eigenvalues that can be equal, zero, or of very different sizes."""
    some = st.sampled_from([0.0, 0.0, 1.0, 1.0, -1.0, 1e-9, 1e-17, 1e6]) | st.floats(-2.0, 2.0)
    return np.array(draw(st.lists(some, min_size=1, max_size=45)))


@few_examples
@given(spectra(), st.integers(0, 2**32), st.sampled_from([1.0, 1e-290, 1e150]))
def test_any_spectrum_in_any_basis_at_any_scale(spectrum, seed, size):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(spectrum), len(spectrum))))
    A = (Q * spectrum) @ Q.T
    assert_right(size * (A + A.T) / max(np.abs(A).max(), 1e-300))


@few_examples
@given(spectra(), st.integers(0, 2**32), st.sampled_from([1.0, 1e-8, 1e-16, 1e-150, 1e-155]))
def test_a_diagonal_plus_a_move(spectrum, seed, size):
    W = np.random.default_rng(seed).standard_normal((2, len(spectrum)))
    assert_right(np.diag(spectrum) + size * (np.outer(W[0], W[0]) - np.outer(W[1], W[1])))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 12, 45])
def test_diagonal_and_block_matrices(n):
    assert_right(np.zeros((n, n)))
    assert_right(np.eye(n))
    assert_right(np.diag(np.arange(n) - n / 2))
    assert_right(np.ones((n, n)))
    blocks = np.kron(np.eye(n), np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert_right(blocks)
    # With entries only in the corners, most reflections have nothing to reflect.
    corners = np.zeros((n, n))
    corners[0, -1] = corners[-1, 0] = 1.0
    assert_right(corners)


@few_examples
@given(st.integers(1, 30), st.integers(0, 2**32))
def test_entries_of_very_different_sizes(n, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-320.0, 0.0, (n, n))
    A[0, 0] = 1.0
    assert_right(np.tril(A) + np.tril(A, -1).T)


@few_examples
@given(st.integers(2, 30), st.integers(0, 2**32))
def test_tridiagonal_matrices_that_need_many_sweeps(n, seed):
    diagonal = np.random.default_rng(seed).choice([0.0, 1e-16, 1e-8, 1.0], n)
    assert_right(np.diag(diagonal) + np.eye(n, k=1) + np.eye(n, k=-1))


@few_examples
@given(st.integers(2, 12), st.integers(0, 2**32), st.sampled_from([0.0, 1e-141, 1e-30]))
def test_tridiagonal_matrices_with_couplings_of_any_size(n, seed, diagonal):
    off = 10.0 ** np.random.default_rng(seed).uniform(-145.0, 0.0, n - 1)
    off[seed % (n - 1)] = 1.0
    assert_right(np.diag(np.full(n, diagonal)) + np.diag(off, 1) + np.diag(off, -1))


def test_a_matrix_of_nan_does_not_loop_forever():
    values, _ = eigenpairs(np.full((5, 5), np.nan))
    assert np.isnan(values).any()

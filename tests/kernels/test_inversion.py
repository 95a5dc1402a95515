"""Laws of inverting a matrix in place, in one block and in many."""

import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import ERKLE, Dense
from erkle.interruption import uninterrupted
from erkle.kernels import forms, inversion, lapack
from parts import answers, state


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(inversion, "LARGEST_BLOCK", 6)
    monkeypatch.setattr(inversion, "ROWS", 4)


def definite(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, n + 3))
    return X @ X.T / n


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-10), (np.float32, 1e-3)])
@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 23), seed=st.integers(0, 10**6), shift=st.floats(0.1, 10.0))
def test_the_inverse_times_the_matrix_is_the_identity(dtype, error, n, seed, shift):
    A, out = definite(n, seed), np.full((n, n), np.nan, dtype)
    assert inversion.invert_shifted(np.tril(A), shift, out)
    product = lapack.symmetric(out).astype(float) @ (A + shift * np.eye(n))
    np.testing.assert_allclose(product, np.eye(n), atol=error)


@pytest.mark.parametrize("n", [3, 6, 7, 8, 21])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_that_is_not_positive_definite_is_refused(n, dtype):
    A = definite(n, 0)
    smallest = np.linalg.eigvalsh(A)[0]
    assert not inversion.invert_shifted(A, -1.1 * smallest, np.empty_like(A, dtype))
    assert inversion.invert_shifted(A, -0.9 * smallest, np.empty_like(A, dtype))


def test_only_the_lower_triangle_is_read():
    A, outs = definite(13, 1), [np.empty((13, 13)) for _ in range(2)]
    for matrix, out in zip((A, np.tril(A)), outs, strict=True):
        assert inversion.invert_shifted(matrix, 0.5, out)
    np.testing.assert_array_equal(np.tril(outs[0]), np.tril(outs[1]))


def test_ctrl_c_takes_effect_between_two_blocks_and_changes_nothing(monkeypatch):
    monkeypatch.setattr(forms, "BUFFERED_FROM", 3)
    T = answers(20, 300, flipped=0.2)
    reference, learner = ERKLE(20, kernel=Dense()).fit(T), ERKLE(20, kernel=Dense())
    sweep, swept = inversion._sweep, []

    def interrupted(A, k):
        swept.append(k)
        if len(swept) == 3:
            signal.raise_signal(signal.SIGINT)
        return sweep(A, k)

    with monkeypatch.context() as patch:
        patch.setattr(inversion, "_sweep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T)
    assert len(swept) == 3
    seen = learner.n_triplets_seen_
    assert 0 < seen < 300
    assert state(learner.partial_fit(T[seen:])) == state(reference)


def test_a_handler_that_raises_nothing_lets_the_work_go_on():
    A, out, noted = definite(20, 0), np.empty((20, 20)), []
    before = signal.signal(signal.SIGTERM, lambda number, frame: noted.append(number))
    try:
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            assert inversion.invert_shifted(A, 0.1, out)
            assert noted == [signal.SIGTERM]
            signal.raise_signal(signal.SIGTERM)
            assert noted == [signal.SIGTERM]
        assert noted == 2 * [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
    np.testing.assert_allclose(lapack.symmetric(out) @ (A + 0.1 * np.eye(20)), np.eye(20), atol=1e-10)

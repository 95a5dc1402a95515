"""Tests of metrics: definitions, and changes that must not affect them."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle import metrics, triplets


def random_kernel(n_objects, rank, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_objects, rank))
    return X @ X.T


def squared_distance(K, a, b):
    return K[a, a] + K[b, b] - 2 * K[a, b]


def test_decision_values_are_differences_of_squared_distances():
    K, T = random_kernel(8, 3), triplets.sample(8, 200, random_state=0)
    expected = [squared_distance(K, a, c) - squared_distance(K, a, b) for a, b, c in T]
    np.testing.assert_allclose(metrics.decision_values(K, T), expected, atol=1e-12)


def test_the_identity_satisfies_no_triplet():
    assert metrics.triplet_error(np.eye(9), triplets.sample(9, 500, random_state=0)) == 1.0


@given(seed=st.integers(0, 1000), factor=st.floats(1e-6, 1e6))
def test_the_error_follows_its_definition_at_any_scale(seed, factor):
    K, T = random_kernel(6, 2, seed), triplets.sample(6, 50, random_state=seed)
    unsatisfied = [not squared_distance(K, a, b) < squared_distance(K, a, c) for a, b, c in T]
    assert metrics.triplet_error(factor * K, T) == np.mean(unsatisfied)


@given(seed=st.integers(0, 1000))
def test_the_error_of_reversed_answers_is_one_minus_the_error(seed):
    K, T = random_kernel(6, 2, seed), triplets.sample(6, 50, random_state=seed)
    reversed_error = metrics.triplet_error(K, T[:, [0, 2, 1]])
    assert metrics.triplet_error(K, T) == pytest.approx(1 - reversed_error)


def test_the_error_of_no_answers_is_refused():
    with pytest.raises(ValueError, match="no triplets"):
        metrics.triplet_error(np.eye(3), np.empty((0, 3), dtype=int))


def test_the_decision_values_of_no_answers_are_empty():
    assert metrics.decision_values(np.eye(3), np.empty((0, 3), dtype=int)).shape == (0,)


@given(
    decisions=st.lists(st.sampled_from([-1.0, 0.0, 1.0, np.nan]), min_size=1, max_size=40),
    window=st.one_of(st.none(), st.integers(1, 50)),
)
def test_prequential_error_is_the_share_of_wrong_predictions(decisions, window):
    wrong = [not d > 0 for d in decisions]
    expected = [
        np.mean(wrong[: i + 1] if window is None else wrong[max(0, i + 1 - window) : i + 1]) for i in range(len(wrong))
    ]
    np.testing.assert_allclose(metrics.prequential_error(decisions, window), expected)


def test_prequential_error_of_no_answers_is_empty():
    assert metrics.prequential_error([]).shape == (0,)


@pytest.mark.parametrize("rank", [1, 3, 20])
@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_the_rank_is_the_number_of_columns_of_the_factor(rank, factor):
    assert metrics.rank(factor * random_kernel(20, rank)) == rank


def test_the_rank_ignores_eigenvalues_below_the_tolerance():
    K = np.diag([1.0, 0.1, 0.001])
    assert [metrics.rank(K, tol) for tol in (0, 0.01, 0.5)] == [3, 2, 1]


def test_a_zero_kernel_has_rank_zero():
    assert metrics.rank(np.zeros((4, 4))) == 0


@given(seed=st.integers(0, 1000), factor=st.floats(1e-100, 1e100), center=st.booleans())
def test_alignment_of_a_kernel_with_its_multiple_is_one(seed, factor, center):
    K = random_kernel(7, 3, seed)
    assert metrics.alignment(K, factor * K, center) == pytest.approx(1)


@given(seed=st.integers(0, 1000))
def test_alignment_is_symmetric_and_at_most_one(seed):
    K, L = random_kernel(7, 3, seed), random_kernel(7, 2, seed + 1)
    value = metrics.alignment(K, L)
    assert value == pytest.approx(metrics.alignment(L, K))
    # Centred positive semidefinite kernels have no negative inner product.
    assert 0 <= value <= 1


def test_centred_alignment_does_not_depend_on_the_origin():
    X = np.random.default_rng(0).normal(size=(7, 3))
    K, moved = X @ X.T, (X + 5) @ (X + 5).T
    assert metrics.alignment(K, moved) == pytest.approx(1)
    assert metrics.alignment(K, moved, center=False) < 0.99


@pytest.mark.parametrize("K", [np.zeros((4, 4)), np.full((4, 4), 0.1)])
def test_a_kernel_in_which_all_objects_coincide_has_no_alignment(K):
    with pytest.raises(ValueError, match="all objects coincide"):
        metrics.alignment(K, np.eye(4))


def test_disparity_ignores_rotation_reflection_position_scale_and_empty_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3))
    Q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    Y = 3 * np.pad(X, ((0, 0), (0, 1))) @ Q + 7
    assert metrics.procrustes_disparity(X, Y) == pytest.approx(0, abs=1e-12)
    assert metrics.procrustes_disparity(Y, X) == pytest.approx(0, abs=1e-12)
    assert metrics.procrustes_disparity(X, rng.normal(size=(9, 3))) > 0.1


BAD_KERNELS = {
    "shape": (np.ones((3, 2)), "shape (3, 2)"),
    "flat": (np.ones(3), "shape (3,)"),
    "empty": (np.ones((0, 0)), "shape (0, 0)"),
    "asymmetric": ([[1, 2, 0], [0, 1, 0], [0, 0, 1]], "not symmetric"),
    "nan": (np.diag([1, np.nan, 1]), "not finite numbers"),
    "text": ([["a", "b"], ["b", "a"]], "not finite numbers"),
    "complex": (1j * np.eye(3), "not finite numbers"),
}


@pytest.mark.parametrize(("K", "words"), BAD_KERNELS.values(), ids=BAD_KERNELS)
@pytest.mark.parametrize(
    "measure",
    [
        lambda K: metrics.decision_values(K, [[0, 1, 2]]),
        lambda K: metrics.triplet_error(K, [[0, 1, 2]]),
        metrics.rank,
        lambda K: metrics.alignment(np.eye(3), K),
    ],
    ids=["decision_values", "triplet_error", "rank", "alignment"],
)
def test_an_invalid_kernel_is_refused(measure, K, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        measure(K)


def test_a_kernel_in_single_precision_counts_as_symmetric():
    K = random_kernel(50, 3)
    K = (K * (1 + 1e-8 * np.random.default_rng(0).normal(size=K.shape))).astype(np.float32)
    assert metrics.rank(K, tol=1e-4) == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.decision_values(np.eye(3), [[0, 1, 3]]), "object 3"),
        (lambda: metrics.alignment(np.eye(3), np.eye(4)), "3 and 4 objects"),
        (lambda: metrics.rank(np.eye(3), tol=-1), "tol=-1"),
        (lambda: metrics.rank(np.eye(3), tol=np.nan), "tol=nan"),
        (lambda: metrics.prequential_error([1.0], window=0), "window is 0"),
        (lambda: metrics.prequential_error([[1.0]]), r"shape \(1, 1\)"),
        (lambda: metrics.procrustes_disparity(np.eye(3), np.eye(4)), "3 and 4 objects"),
        (lambda: metrics.procrustes_disparity(np.ones((3, 2)), np.eye(3)), "all objects coincide"),
        (lambda: metrics.procrustes_disparity(np.ones((3, 0)), np.eye(3)), "all objects coincide"),
        (lambda: metrics.procrustes_disparity(np.ones((0, 2)), np.eye(3)), "all objects coincide"),
        (lambda: metrics.procrustes_disparity(np.ones(3), np.eye(3)), r"shape \(3,\)"),
    ],
)
def test_invalid_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

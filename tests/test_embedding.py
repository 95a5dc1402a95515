"""Tests of embeddings: they have the distances of the kernel, and `align` keeps an earlier map in place."""

import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from erkle.embedding import align, embed

seeds = st.integers(0, 10_000)


def coordinates(seed, n_objects=8, width=3):
    return np.random.default_rng(seed).normal(size=(n_objects, width))


def rotation(seed, width=3):
    Q, _ = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(width, width)))
    return Q


@given(seed=seeds, width=st.integers(1, 12), offset=st.sampled_from([0.0, 1.0, 100.0]))
def test_the_full_embedding_has_the_distances_of_the_kernel(seed, width, offset):
    X = coordinates(seed, width=width) + offset
    K = X @ X.T
    diagonal = np.diag(K)
    expected = np.sqrt(np.maximum(0, diagonal[:, None] + diagonal - 2 * K))
    np.testing.assert_allclose(squareform(pdist(embed(K))), expected, atol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_the_full_embedding_has_as_many_columns_as_the_kernel_has_dimensions(width):
    X = coordinates(0, n_objects=30, width=width)
    assert embed(X @ X.T).shape == (30, width)


def test_columns_are_centred_orthogonal_and_sorted_by_variance():
    X = coordinates(0, width=4)
    Y = embed(X @ X.T)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    gram = Y.T @ Y
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert np.all(np.diff(np.diag(gram)) < 0)


@given(seed=seeds, n_components=st.integers(1, 12))
def test_few_components_are_the_first_columns_of_the_full_embedding(seed, n_components):
    X = coordinates(seed)
    full = embed(X @ X.T)
    some = embed(X @ X.T, n_components)
    assert some.shape == (8, n_components)
    shared = min(n_components, 3)
    np.testing.assert_allclose(some[:, :shared], full[:, :shared], atol=1e-6)
    assert not some[:, 3:].any()


@pytest.mark.parametrize("n_components", [1, 2, 10])
@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_few_components_of_many_objects_are_those_of_few(n_components, offset, monkeypatch):
    X = np.random.default_rng(0).normal(size=(80, 12)) * np.arange(1, 13) + offset
    expected = embed(X @ X.T, n_components)
    monkeypatch.setattr("erkle.embedding._ITERATIVE_FROM", 80)
    np.testing.assert_allclose(embed(X @ X.T, n_components), expected, atol=1e-8)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_many_coinciding_objects_are_at_the_origin(value, monkeypatch):
    monkeypatch.setattr("erkle.embedding._ITERATIVE_FROM", 50)
    np.testing.assert_array_equal(embed(np.full((60, 60), value), 2), np.zeros((60, 2)))


def test_where_the_iteration_does_not_converge_all_eigenvalues_are_computed(monkeypatch):
    def fail(*arguments, **options):
        raise scipy.sparse.linalg.ArpackNoConvergence("no convergence", [], [])

    K = np.diag(np.arange(1.0, 9.0))
    expected = embed(K, 2)
    monkeypatch.setattr("erkle.embedding._ITERATIVE_FROM", 8)
    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", fail)
    np.testing.assert_array_equal(embed(K, 2), expected)


def test_the_largest_entry_of_each_column_is_positive():
    X = coordinates(0, n_objects=40, width=5)
    Y = embed(X @ X.T)
    assert np.all(Y[np.argmax(np.abs(Y), axis=0), np.arange(5)] > 0)


def test_the_first_of_equal_entries_is_positive():
    for place in np.linspace(0.1, 10, 50):
        assert embed(np.outer([0, place], [0, place]))[0, 0] > 0


@pytest.mark.parametrize("K", [np.zeros((4, 4)), np.full((4, 4), 0.1), [[3.0]]])
def test_coinciding_objects_have_no_components_unless_requested(K):
    assert embed(K).shape == (len(K), 0)
    assert not embed(K, 2).any()


def test_negative_eigenvalues_count_as_zero():
    assert embed(np.diag([1.0, 1.0, -5.0]), 3).shape == (3, 3)
    assert np.isfinite(embed(np.diag([1.0, 1.0, -5.0]))).all()


@given(seed=seeds, scale=st.booleans())
def test_aligning_a_rotated_and_moved_copy_restores_the_reference(seed, scale):
    X = coordinates(seed)
    np.testing.assert_allclose(align(X @ rotation(seed) + 5, X, scale), X, atol=1e-6)


@given(seed=seeds)
def test_aligning_a_scaled_copy_restores_the_reference(seed):
    X = coordinates(seed)
    np.testing.assert_allclose(align(0.01 * X @ rotation(seed), X, scale=True), X, atol=1e-6)


shapes = st.tuples(st.integers(1, 8), st.integers(1, 5))


@given(seed=seeds, shape=shapes, scale=st.booleans())
def test_aligning_twice_equals_aligning_once_for_references_of_any_size(seed, shape, scale):
    X, reference = coordinates(seed), coordinates(seed + 7, *shape)
    once = align(X, reference, scale)
    assert once.shape == X.shape
    np.testing.assert_allclose(align(once, reference, scale), once, atol=1e-8)


@given(seed=seeds, shape=shapes)
def test_aligning_changes_no_distance(seed, shape):
    X = coordinates(seed)
    np.testing.assert_allclose(pdist(align(X, coordinates(seed + 7, *shape))), pdist(X), atol=1e-9)


def test_new_objects_move_with_the_old_ones():
    X = coordinates(0, n_objects=10)
    turned = X @ rotation(0) - 3
    np.testing.assert_allclose(align(turned, X[:6]), X, atol=1e-8)


def test_a_new_dimension_leaves_the_old_ones_in_place():
    X = coordinates(0)
    X[:, 2] = 0
    np.testing.assert_allclose(align(X[:, [1, 2, 0]], X[:, :2]), X, atol=1e-8)


def test_align_is_at_least_as_good_as_many_random_rotations():
    X, Y = coordinates(0), coordinates(1)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    best = np.linalg.norm(align(X, Y) - Y)
    assert all(best <= np.linalg.norm(X @ rotation(i) - Y) for i in range(200))


@pytest.mark.parametrize("scale", [False, True])
def test_a_reference_of_coinciding_objects_only_moves_the_map(scale):
    X = coordinates(0)
    moved = align(X, np.ones((8, 3)), scale)
    np.testing.assert_allclose(moved, X - X.mean(axis=0) + 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: embed(np.ones((3, 2))), r"shape \(3, 2\)"),
        (lambda: embed([[1, 2], [0, 1]]), "not symmetric"),
        (lambda: embed([[np.inf]]), "not finite numbers"),
        (lambda: embed(np.eye(3), 0), "n_components is 0"),
        (lambda: align(np.ones(3), np.eye(3)), r"X of shape \(3,\)"),
        (lambda: align(np.eye(3), np.ones(3)), r"reference of shape \(3,\)"),
        (lambda: align(np.eye(3), np.eye(4)), "reference of 4 objects, wanted 1 to 3"),
        (lambda: align(np.eye(3), np.ones((0, 3))), "reference of 0 objects"),
        (lambda: align([[np.nan]], [[1.0]]), "not finite numbers"),
    ],
)
def test_invalid_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

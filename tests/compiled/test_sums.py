"""Laws of the sums over all answers: they equal the naive sums, and their gradients are their derivatives."""

import numpy as np
import pytest

import naive
from erkle import GNMDS, STE
from erkle._compiled import sums
from erkle.batch.objective import ByKernel, ByMap, terms_of
from erkle.losses import RoundedHinge
from erkle.triplets import sample
from parts import LOSSES, SquaredHinge, answers, assert_is_the_derivative, named

ALL = [*LOSSES, *named([SquaredHinge(), RoundedHinge(1.0, 0.5)])]
SCALES = [1e-3, 1.0, 30.0]
DIMENSIONS = [1, 5, 50]


def points(n, dimension, scale, seed=0):
    """Random points, none close to another, where square roots of distances would be too steep to test."""
    X = np.random.default_rng(seed).standard_normal((n, dimension))
    X[:, 0] += 2.0 * np.arange(n)
    return scale * X


def away_from_kinks(T, X, loss, scale):
    """The answers for which a small change of X crosses no kink."""
    a, b, c = X[T.T]
    excess = ((a - b) ** 2).sum(1) - ((a - c) ** 2).sum(1)
    return T[np.abs(loss.margin + excess) > 1e-3 * scale] if isinstance(loss, GNMDS) else T


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("loss", ALL)
def test_the_gradient_in_coordinates_is_the_derivative(loss, scale, dimension):
    X = points(6, dimension, scale)
    T = away_from_kinks(sample(6, 200, 0), X, loss, scale)
    objective = ByMap(terms_of(T, loss), 0.3)
    _, G = objective(X)
    assert_is_the_derivative(G, lambda at: objective(at)[0], X, scale)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("loss", ALL)
def test_the_gradient_in_the_kernel_is_the_derivative(loss, scale, dimension):
    X = points(6, dimension, scale)
    T = away_from_kinks(sample(6, 200, 0), X, loss, scale)
    objective, K = ByKernel(terms_of(T, loss), 0.3), X @ X.T
    _, G = objective(K)

    def along(entries):
        # Only symmetric changes: both triangles share each off-diagonal entry.
        return objective(K + 0.5 * (entries + entries.T))[0]

    assert_is_the_derivative(G, along, np.zeros_like(K), np.abs(K).max())
    np.testing.assert_array_equal(G, G.T)


@pytest.mark.parametrize("loss", ALL)
def test_the_sum_over_a_kernel_equals_the_naive_sum(loss):
    T, X = sample(9, 300, 1), points(9, 3, 1.0)
    value, G = ByKernel(terms_of(T, loss), 0.0)(X @ X.T)
    expected, gradient = naive.total(X @ X.T, T, loss)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(G, gradient, atol=1e-11 * np.abs(gradient).max())


@pytest.mark.parametrize("loss", ALL)
def test_coordinates_and_their_kernel_have_the_same_objective(loss):
    T, X = sample(9, 300, 1), points(9, 3, 1.0)
    by_map, by_kernel = (kind(terms_of(T, loss), 0.7) for kind in (ByMap, ByKernel))
    (value, G), (expected, gradient) = by_map(X), by_kernel(X @ X.T)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(G, 2 * gradient @ X, atol=1e-11 * np.abs(G).max())
    np.testing.assert_allclose(by_map.excess(X), by_kernel.excess(X @ X.T), atol=1e-12)


@pytest.mark.parametrize("function", [sums.add_by_kernel, sums.add_by_map], ids=["kernel", "map"])
@pytest.mark.parametrize("loss", LOSSES)
def test_compiled_sums_equal_those_in_python(loss, function):
    T, offsets = sample(7, 60, 2), np.random.default_rng(3).random(60)
    X = points(7, 3, 1.0)
    at = X @ X.T if function is sums.add_by_kernel else X
    compiled, plain = np.ones_like(at), np.ones_like(at)
    value = function(T, offsets, 3.0, compiled, loss, at)
    assert value == pytest.approx(function.py_func(T, offsets, 3.0, plain, loss, at), rel=1e-12)
    np.testing.assert_allclose(compiled, plain, atol=1e-12)


@pytest.mark.parametrize("loss", ALL)
def test_an_offset_is_added_to_the_near_distance(loss):
    T, X = terms_of(sample(6, 1, 0), loss), points(6, 2, 1.0)
    a, b, c = X[T.T[0]]
    d_near, d_far = ((a - b) ** 2).sum(), ((a - c) ** 2).sum()
    moved = T.with_offsets(loss, np.array([0.4]))
    for objective, at in ((ByMap(moved, 0.0), X), (ByKernel(moved, 0.0), X @ X.T)):
        assert objective(at)[0] == pytest.approx(loss.value(d_near + 0.4, d_far), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_objects_that_coincide_or_lie_far_apart_give_finite_sums(loss):
    T = sample(6, 100, 0)
    for X in (np.zeros((6, 2)), points(6, 2, 1e-150), points(6, 2, 1e6)):
        for objective, at in ((ByMap(terms_of(T, loss), 1.0), X), (ByKernel(terms_of(T, loss), 1.0), X @ X.T)):
            value, G = objective(at)
            assert np.isfinite(value)
            assert np.isfinite(G).all()


def test_the_gradient_of_ste_is_accurate_in_many_dimensions():
    X, T = points(6, 50, 1.0), answers(6, 30)
    a, b, c = X[T.T]
    x = ((a - b) ** 2).sum(1) - ((a - c) ** 2).sum(1)
    expected = np.zeros_like(X)
    for (i, j, k), excess in zip(T, x.astype(np.longdouble), strict=True):
        wrong = float(1 / (1 + np.exp(-excess)))
        expected[i] += 2 * wrong * (X[k] - X[j])
        expected[j] -= 2 * wrong * (X[i] - X[j])
        expected[k] += 2 * wrong * (X[i] - X[k])
    np.testing.assert_allclose(ByMap(terms_of(T, STE()), 0.0)(X)[1], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_answers_only_the_trace_counts(loss):
    nothing = terms_of(np.empty((0, 3), np.int64), loss)
    assert ByKernel(nothing, 2.0)(np.eye(4))[0] == 8.0
    np.testing.assert_array_equal(ByKernel(nothing, 2.0)(np.eye(4))[1], 2.0 * np.eye(4))
    np.testing.assert_array_equal(ByMap(nothing, 2.0)(np.ones((4, 1)))[1], 4.0 * np.ones((4, 1)))

"""Laws of L-BFGS: directions are those of BFGS, and every step lowers the objective and flattens its slope enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle._compiled import lbfgs


def valley(X):
    """A function that is narrow in one direction, and its gradient."""
    scales = np.arange(1.0, X.size + 1.0).reshape(X.shape) ** 2
    return float(np.sum(scales * np.cosh(X - 1.0))), scales * np.sinh(X - 1.0)


def points(X, iterations, tol=0.0):
    """Every point at which the objective is wanted, with the descent at that time."""
    descent, going_on = lbfgs.begin(X, iterations), True
    while going_on:
        before = lbfgs.Descent(*(field.copy() for field in descent))
        value, descent.next_G[:] = valley(descent.next_at)
        going_on = lbfgs.advance(descent, value, tol)
        yield before, value, descent


@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0])
def test_each_step_lowers_the_objective_and_flattens_its_slope_enough(scale):
    """Armijo's and Wolfe's rules, also if first steps are far too short or too long."""
    taken = 0
    for before, value, after in points(scale * np.random.default_rng(0).standard_normal((6, 3)), 30):
        if after.numbers["n_done"][0] > max(0, before.numbers["n_done"][0]):
            slope, step = before.numbers["slope"][0], before.numbers["step"][0]
            assert value <= before.numbers["lowest"][0] + 1e-4 * step * slope
            assert np.vdot(valley(before.next_at)[1], before.D) >= 0.9 * slope
            taken += 1
    assert taken > 10


def test_the_lowest_point_is_kept_with_its_objective_and_its_gradient():
    for _, _, descent in points(np.ones((4, 2)) * 5.0, 12):
        value, G = valley(descent.at)
        assert value == descent.numbers["lowest"][0]
        np.testing.assert_array_equal(G, descent.G)


def test_a_long_descent_reaches_the_minimum():
    *_, (_, _, descent) = points(np.random.default_rng(1).standard_normal((6, 3)), 200)
    np.testing.assert_allclose(descent.at, 1.0, atol=1e-4)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_kept=st.integers(0, 9), size=st.integers(1, 9))
def test_the_direction_is_that_of_bfgs_with_the_remembered_iterations(seed, n_kept, size):
    rng, n_pairs = np.random.default_rng(seed), 4
    A = rng.standard_normal((size, size))
    hessian = A @ A.T + np.eye(size)
    steps = rng.standard_normal((n_kept, size))
    S, Y, g = np.zeros((n_pairs, size)), np.zeros((n_pairs, size)), rng.standard_normal(size)
    for k, step in enumerate(steps):
        S[k % n_pairs], Y[k % n_pairs] = step, step @ hessian
    curvatures, scale = np.einsum("ij,ij->i", S, Y), 0.7
    inverse = np.eye(size) * (scale if n_kept else 1.0)
    for s in steps[-n_pairs:]:
        y = hessian @ s
        off = np.eye(size) - np.outer(s, y) / (s @ y)
        inverse = off @ inverse @ off.T + np.outer(s, s) / (s @ y)
    found = lbfgs.direction(g, S, Y, curvatures, n_kept, scale)
    np.testing.assert_allclose(found, -inverse @ g, atol=1e-6 * np.abs(inverse @ g).max())


@pytest.mark.parametrize("size", range(10))
def test_the_inner_product_of_any_length_equals_numpys(size):
    x, y = np.random.default_rng(size).standard_normal((2, size))
    assert lbfgs.dot(x, y) == pytest.approx(x @ y, abs=1e-12)

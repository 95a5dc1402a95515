"""Laws of the eigenpair that a projection removes: it is the extreme one, and its residual is as reported."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from erkle._compiled.buffered import Buffered
from erkle._compiled.lanczos import Krylov, extreme_pair, largest_eigenvalue

both = pytest.mark.parametrize("function", [largest_eigenvalue, largest_eigenvalue.py_func], ids=["compiled", "python"])
seeds = st.integers(0, 10**6)
few_examples = settings(max_examples=40)


def tridiagonal(alpha, beta, sign=1.0, shift=0.0):
    T = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
    T[0, 0] += shift
    return sign * T


def gershgorin(T):
    return np.max(np.diag(T) + np.abs(T).sum(axis=1) - np.abs(np.diag(T)))


@both
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("shift", [0.0, 5.0, -5.0, 1e6])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9, 30])
def test_the_largest_eigenvalue_is_lapacks(function, size, shift, sign):
    rng = np.random.default_rng([size, int(abs(shift))])
    alpha, beta = rng.normal(size=size), rng.uniform(0.01, 1.0, size=size)
    T = tridiagonal(alpha, beta, sign, shift)
    above = gershgorin(T) + 1e-9
    with np.errstate(all="ignore"):  # compiled code also divides by zero without a warning
        found = function(alpha, beta, size, sign, shift, above, np.zeros(size))
    scale = np.abs(np.linalg.eigvalsh(T)).max()
    assert found == pytest.approx(np.linalg.eigvalsh(T)[-1], rel=1e-12, abs=1e-14 * scale)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e-9, 1e6, 1e100])
def test_tiny_and_huge_couplings_give_the_right_eigenvalue(scale):
    rng = np.random.default_rng(3)
    alpha, beta = rng.normal(size=7), scale * rng.uniform(0.1, 1.0, size=7)
    T = tridiagonal(alpha, beta)
    found = largest_eigenvalue(alpha, beta, 7, 1.0, 0.0, gershgorin(T) * (1 + 1e-12), np.zeros(7))
    assert found == pytest.approx(np.linalg.eigvalsh(T)[-1], rel=1e-12)


def test_an_upper_bound_that_is_the_eigenvalue_itself_is_kept():
    assert largest_eigenvalue(np.array([3.0]), np.array([0.0]), 1, 1.0, 0.0, 3.0, np.zeros(1)) == 3.0
    alpha, beta = np.array([3.0, 1.0]), np.zeros(2)
    assert largest_eigenvalue(alpha, beta, 2, 1.0, 0.0, 3.0, np.zeros(2)) == 3.0


def random_kernel(rng, n, rank):
    X = rng.normal(size=(n, rank))
    return X @ X.T / rank


def room(n, most=48):
    size = min(n, most) + 1
    return Krylov(np.zeros((size, n)), np.zeros((4, size)))


def solve(K, w, a, sigma, tol, krylov=None, add=None, function=extreme_pair):
    """The extreme pair of K + a1 w1 w1' - a ww', called as by the dense kernel, and the ratio of determinants."""
    n = len(K)
    P = np.linalg.inv(K + sigma * np.eye(n))
    pending, weight = np.zeros(n), 0.0
    if add is not None:
        a1, w1 = add
        pending = P @ w1
        weight = -a1 / (1.0 + a1 * w1 @ pending)
    u = P @ w + weight * (pending @ w) * pending
    ratio = 1.0 - a * w @ u
    krylov = krylov or room(n)
    krylov.Q[0] = u / np.linalg.norm(u)
    P[np.triu_indices(n, 1)] = np.nan
    size, mu, residual = function(plain(P), pending, weight, a * u @ u / ratio, ratio < 0, tol, krylov)
    v = krylov.Q[:size].T @ krylov.numbers[3, :size]
    return size, mu, residual, v, ratio


def plain(P):
    """P without room for pending terms."""
    return Buffered(P, np.zeros((0, len(P))), np.zeros(2, np.int64))


def sparse_vector(rng, n, values):
    w = np.zeros(n)
    w[rng.permutation(n)[:3]] = values
    return w


def step_to(K, w, target):
    """The a for which K - a ww' has the eigenvalue ``target`` < 0; it solves 1 = a w'(K - target I)^-1 w."""
    return 1.0 / (w @ np.linalg.solve(K - target * np.eye(len(K)), w))


def assert_is_smallest_pair(changed, sigma, mu, residual, v, tol):
    values = np.linalg.eigvalsh(changed)
    inverse = np.linalg.inv(changed + sigma * np.eye(len(changed)))
    assert np.linalg.norm(v) == pytest.approx(1.0, rel=1e-10)
    assert residual <= tol * abs(mu)
    rounding = 1e-9 * abs(mu)
    assert np.linalg.norm(inverse @ v - mu * v) == pytest.approx(residual, abs=rounding)
    # A residual of r means that an eigenvalue of the inverse is within r of the Ritz value.
    extreme = 1.0 / (values[0] + sigma)
    assert abs(extreme - mu) <= residual + rounding


@few_examples
@given(
    seed=seeds,
    n=st.integers(3, 40),
    sigma=st.sampled_from([0.01, 0.1, 1.0]),
    depth=st.sampled_from([0.1, 0.5, 0.9, 1.1, 2.0, 10.0, 100.0]),
    tol=st.sampled_from([1e-2, 1e-5, 1e-9]),
)
def test_the_pair_has_the_negative_eigenvalue(seed, n, sigma, depth, tol):
    rng = np.random.default_rng(seed)
    K = random_kernel(rng, n, rank=int(rng.integers(1, n + 3)))
    w = sparse_vector(rng, n, [2 / 3, -2 / 3, 1 / 3])
    a = step_to(K, w, -depth * sigma)
    size, mu, residual, v, ratio = solve(K, w, a, sigma, tol)
    assert size > 0
    assert (ratio < 0) == (depth > 1)
    assert (mu < 0) == (depth > 1)
    assert_is_smallest_pair(K - a * np.outer(w, w), sigma, mu, residual, v, tol)


@few_examples
@given(seed=seeds, n=st.integers(3, 20), depth=st.sampled_from([0.2, 0.8, 1.2, 20.0]))
def test_compiled_and_python_find_the_same_pair(seed, n, depth):
    rng = np.random.default_rng(seed)
    K = random_kernel(rng, n, rank=n)
    w = sparse_vector(rng, n, [2 / 3, -2 / 3, 1 / 3])
    a = step_to(K, w, -depth * 0.05)
    size, mu, residual, v, _ = solve(K, w, a, 0.05, 1e-3)
    with np.errstate(all="ignore"):
        again, mu_again, residual_again, v_again, _ = solve(K, w, a, 0.05, 1e-3, function=extreme_pair.py_func)
    assert size == again
    assert mu == pytest.approx(mu_again, rel=1e-9)
    assert residual == pytest.approx(residual_again, rel=1e-6, abs=1e-9 * abs(mu))
    np.testing.assert_allclose(v, v_again, atol=1e-7)


@few_examples
@given(seed=seeds, n=st.integers(3, 40), depth=st.sampled_from([0.2, 0.8, 1.2, 20.0]))
def test_the_rising_part_of_the_move_can_be_pending(seed, n, depth):
    rng = np.random.default_rng(seed)
    K, sigma = random_kernel(rng, n, rank=int(rng.integers(1, n + 3))), 0.05
    w1, w2 = np.zeros(n), np.zeros(n)
    three = rng.permutation(n)[:3]
    w1[three], w2[three] = [2 / 3, 1 / 3, -2 / 3], [2 / 3, -2 / 3, 1 / 3]
    a1 = rng.uniform(0.1, 3.0)
    raised = K + a1 * np.outer(w1, w1)
    a = step_to(raised, w2, -depth * sigma)
    size, mu, residual, v, _ = solve(K, w2, a, sigma, 1e-8, add=(a1, w1))
    assert size > 0
    assert_is_smallest_pair(raised - a * np.outer(w2, w2), sigma, mu, residual, v, 1e-8)


@few_examples
@given(seed=seeds, n=st.integers(3, 40), side=st.sampled_from([-1.0, 1.0]), off=st.sampled_from([1e-12, 1e-9, 1e-6]))
def test_an_eigenvalue_next_to_minus_sigma_is_found(seed, n, side, off):
    rng = np.random.default_rng(seed)
    K, sigma = random_kernel(rng, n, rank=n), 0.1
    w = sparse_vector(rng, n, [1.0, -1.0, 0.0])
    u = np.linalg.solve(K + sigma * np.eye(n), w)
    # The ratio 1 - a w'u is close to zero, on either side, and K' + sigma I is nearly singular.
    a = (1.0 - side * off) / (w @ u)
    size, mu, _, v, _ = solve(K, w, a, sigma, 1e-8)
    changed = K - a * np.outer(w, w)
    assert size > 0
    value = 1.0 / mu - sigma
    assert value == pytest.approx(-sigma, abs=1e-3 * sigma)
    assert np.linalg.norm(changed @ v - value * v) <= 1e-7 * np.linalg.norm(K)


@few_examples
@given(seed=seeds, n=st.integers(3, 30))
def test_a_kernel_inside_the_cone_is_recognised(seed, n):
    rng = np.random.default_rng(seed)
    K = random_kernel(rng, n, rank=n) + np.eye(n)
    w = sparse_vector(rng, n, [2 / 3, -2 / 3, 1 / 3])
    size, mu, residual, v, ratio = solve(K, w, 0.5, 0.05, 1e-9)
    assert size > 0
    assert ratio > 0
    assert 1.0 / mu - 0.05 > 0
    changed = K - 0.5 * np.outer(w, w)
    assert 1.0 / mu - 0.05 == pytest.approx(np.linalg.eigvalsh(changed)[0], rel=1e-6)
    assert np.linalg.norm(v) == pytest.approx(1.0)
    assert residual <= 1e-9 * mu


@few_examples
@given(seed=seeds, tol=st.sampled_from([1e-1, 1e-2, 1e-3]))
def test_a_looser_tolerance_never_needs_a_larger_basis(seed, tol):
    rng = np.random.default_rng(seed)
    K, sigma = random_kernel(rng, 40, rank=40), 0.05
    w = sparse_vector(rng, 40, [2 / 3, -2 / 3, 1 / 3])
    a = step_to(K, w, -0.5 * sigma)
    assert solve(K, w, a, sigma, tol)[0] <= solve(K, w, a, sigma, tol / 100)[0]


def test_a_start_at_an_eigenvector_needs_one_product():
    K, w = np.diag([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.0, 0.0])
    size, mu, residual, v, _ = solve(K, w, 0.05, 0.1, 1e-10)
    assert size == 1
    assert residual == 0.0
    assert 1.0 / mu - 0.1 == pytest.approx(-0.05)
    np.testing.assert_allclose(abs(v), [1, 0, 0, 0])


def test_a_basis_that_is_too_small_is_reported_as_size_zero():
    rng = np.random.default_rng(0)
    K = random_kernel(rng, 40, rank=40)
    w = sparse_vector(rng, 40, [2 / 3, -2 / 3, 1 / 3])
    a = step_to(K, w, -0.05)
    assert solve(K, w, a, 0.1, 1e-12, room(40, most=2))[0] == 0
    assert solve(K, w, a, 0.1, 1e-12, room(40))[0] > 2


@few_examples
@given(seed=seeds)
def test_an_inverse_that_is_not_finite_is_reported_as_size_zero(seed):
    rng = np.random.default_rng(seed)
    krylov = room(8)
    krylov.Q[0] = rng.normal(size=8)
    P = np.eye(8)
    P[rng.integers(8), 0] = np.nan
    assert extreme_pair(plain(P), np.zeros(8), 0.0, 1.0, False, 1e-2, krylov)[0] == 0


@few_examples
@given(seed=seeds, n=st.integers(4, 30))
def test_the_basis_is_orthonormal_and_makes_the_inverse_tridiagonal(seed, n):
    rng = np.random.default_rng(seed)
    K, sigma = random_kernel(rng, n, rank=n), 0.05
    w = sparse_vector(rng, n, [2 / 3, -2 / 3, 1 / 3])
    krylov = room(n)
    size, *_ = solve(K, w, step_to(K, w, -0.02), sigma, 1e-6, krylov)
    assume(size > 1)
    Q = krylov.Q[:size]
    np.testing.assert_allclose(Q @ Q.T, np.eye(size), atol=1e-12)
    P = np.linalg.inv(K + sigma * np.eye(n))
    expected = tridiagonal(*krylov.numbers[:2, :size])
    np.testing.assert_allclose(Q @ P @ Q.T, expected, atol=1e-10 * np.abs(P).max() * n)

"""Laws of all kernels: their methods agree with the distances of the kernel matrix."""

import numpy as np
import pytest

from erkle import STE, Constant
from erkle.kernels.dense import DenseKernel
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel, Mixture
from parts import answers

N = 9


def low_rank(rank, seed, shifts=None):
    X = np.random.default_rng(seed).standard_normal((N, rank))
    return LowRankKernel.of_map(X, rank, 0.0, shifts)


def dense():
    X = np.random.default_rng(0).standard_normal((N, N))
    return DenseKernel(X @ X.T, 1e-2, "inverse")


def mixed():
    kernels = [low_rank(3, 1, np.arange(N) / 5.0), low_rank(2, 2), low_rank(4, 3)]
    return Mixture(zip(kernels, (0.7, 0.3, 0.0), strict=True), kernels[0])


KERNELS = {
    "dense": dense,
    "low rank": lambda: low_rank(3, 1),
    "low rank with shifts": lambda: low_rank(3, 1, np.random.default_rng(4).random(N)),
    "mixture": mixed,
}
by_kernel = pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)


def squared(K):
    return np.diag(K)[:, None] + np.diag(K) - 2.0 * K


def between(X, shifts):
    """Squared distances between coordinates, plus the shifts of both objects."""
    apart = ((X[:, None] - X) ** 2).sum(axis=2) + shifts[:, None] + shifts
    np.fill_diagonal(apart, 0.0)
    return apart


@by_kernel
def test_coordinates_and_shifts_have_the_distances_of_the_matrix(make):
    kernel = make()
    assert kernel.n_objects == N
    K = kernel.matrix()
    assert np.linalg.eigvalsh(K)[0] > -1e-9
    for X in (kernel.embedding(), kernel.coordinates(np.arange(N)), kernel.coordinates(slice(None))):
        np.testing.assert_allclose(between(X, kernel.shifts), squared(K), atol=1e-8)


@by_kernel
def test_the_excess_is_the_difference_of_two_distances(make):
    kernel, T = make(), answers(N, 100)
    a, b, c = T.T
    D = squared(kernel.matrix())
    np.testing.assert_allclose(kernel.excess(T), D[a, b] - D[a, c], atol=1e-9)


@by_kernel
def test_the_distances_are_those_of_the_matrix_and_their_difference_is_the_excess(make):
    kernel, T = make(), answers(N, 100)
    a, b, c = T.T
    D = squared(kernel.matrix())
    found = kernel.distances(T)
    np.testing.assert_allclose(found, np.stack([D[a, b], D[a, c]], axis=1), atol=1e-9)
    np.testing.assert_allclose(found[:, 0] - found[:, 1], kernel.excess(T), atol=1e-9)
    assert kernel.distances(T[:0]).shape == (0, 2)


def test_no_distance_is_negative_even_if_objects_coincide():
    X = np.repeat(1e3 * np.random.default_rng(0).standard_normal((3, N)), 3, axis=0)
    for kernel in (DenseKernel(X @ X.T, 1e-2, "inverse"), LowRankKernel.of_map(X, N, 0.0)):
        assert kernel.distances(answers(N, 100)).min() >= 0.0


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "mixture"])
def test_the_stretch_holds_the_distances_just_before_each_answer(name):
    kernel, T = KERNELS[name](), answers(N, 40)
    rule = Rule(STE(), Constant(0.5), True)
    for number, row in enumerate(T, start=1):
        stretch = Stretch.of(row[None], np.array([number]), np.array([0]))
        before = kernel.distances(row[None])
        kernel.learn(rule, stretch)
        np.testing.assert_allclose(stretch.distances, before, atol=1e-8)
        np.testing.assert_allclose(stretch.excess, before[:, 0] - before[:, 1], atol=1e-8)


@by_kernel
def test_an_embedding_is_cut_or_padded_with_zeros(make):
    kernel = make()
    X = kernel.embedding()
    np.testing.assert_allclose(np.abs(kernel.embedding(2)), np.abs(X[:, :2]), atol=1e-9)
    wide = kernel.embedding(20)
    assert wide.shape == (N, 20)
    assert not wide[:, X.shape[1] :].any()


@by_kernel
def test_coordinates_of_some_objects_are_rows_of_all_coordinates(make):
    kernel, ids = make(), np.array([4, 0, 4])
    np.testing.assert_allclose(kernel.coordinates(ids), kernel.coordinates(slice(None))[ids], atol=1e-12)


@by_kernel
def test_a_file_holds_what_the_methods_return(make):
    kernel = make()
    readable = kernel.readable()
    np.testing.assert_array_equal(readable["kernel"], kernel.matrix())
    if "map" in readable:
        np.testing.assert_array_equal(readable["map"], kernel.embedding())


def test_a_mixture_leaves_out_kernels_with_a_share_of_zero():
    assert [share for _, share in mixed().parts] == [0.7, 0.3]


def test_a_matrix_of_too_many_objects_is_refused():
    with pytest.raises(ValueError, match=r"30000 objects.*7 GB"):
        LowRankKernel(30_000, 1).matrix()

"""Laws of the dense kernel: P inverts K + sigma I after every move, and K equals the naive kernel."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import erkle.kernels.dense
import erkle.kernels.looping
import naive
from erkle import (
    CKL,
    ERKLE,
    GNMDS,
    STE,
    TSTE,
    Constant,
    Dense,
    Inverse,
    InverseSqrt,
    PassiveAggressive,
    PassiveAggressiveI,
    PassiveAggressiveII,
)
from erkle._compiled import buffered, dense, lanczos, loop, moves, symmetric
from erkle.kernels import lapack, upkeep
from erkle.kernels.dense import DenseKernel
from erkle.kernels.looping import Rule, Stretch
from erkle.triplets import sample
from parts import (
    ANSWER_MODELS,
    DIRECTIONS,
    PAIRS,
    PROJECTIONS,
    Cooling,
    SquaredHinge,
    answers,
    in_python,
    precise,
    relative,
)


def memory(learner, name):
    return learner._model.kernel._state.memory[name][0]


def whole(A):
    """The full matrix with this lower triangle; nothing is pending in small kernels."""
    assert not A.counts.any()
    return lapack.symmetric(A.lower)


def inverse_error(learner):
    """Largest entry of P (K + sigma I) - I."""
    state = learner._model.kernel._state
    K, P = whole(state.K), whole(state.P)
    return np.abs(P @ (K + state.memory["sigma"][0] * np.eye(len(K))) - np.eye(len(K))).max()


@pytest.mark.parametrize(("loss", "step"), [*PAIRS, pytest.param(SquaredHinge(), Cooling(), id="user's")])
def test_after_every_move_the_kernel_is_projected_and_the_inverse_exact(loss, step):
    for n, direction in itertools.product([3, 4, 13], DIRECTIONS):
        learner = ERKLE(n, kernel=Dense(tol=1e-9), loss=loss, step=step, direction=direction)
        K = np.eye(n)
        for j, triplet in enumerate(sample(n, 100, n).tolist(), start=1):
            learner.learn_one(triplet)
            K, _ = naive.step_once(K, triplet, j, loss, step, direction)
            assert relative(learner._model.kernel.unprojected(), K) < 1e-6
            assert inverse_error(learner) < 1e-9


@pytest.mark.parametrize("model", ANSWER_MODELS)
def test_a_step_along_the_gradient_of_an_answer_model_follows_its_likelihood(model):
    X = np.random.default_rng(0).normal(size=(6, 6))
    for triplet in answers(6, 5, flipped=0.5).tolist():
        learner = ERKLE(6, kernel=precise(initial=X @ X.T), loss=model, step=Constant(0.3), direction="gradient")
        learner.learn_one(triplet)
        expected = naive.likelihood_step(X @ X.T, triplet, model, 0.3)
        np.testing.assert_allclose(learner.kernel_matrix(), expected, atol=1e-6)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 25), tol=st.sampled_from([1e-1, 1e-2, 1e-6]))
def test_the_inverse_is_exact_even_if_eigenpairs_are_rough(seed, n, tol):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, int(rng.integers(1, n + 1))))
    learner = ERKLE(n, kernel=Dense(tol=tol, initial=X @ X.T), step=PassiveAggressive())
    T = sample(n, 60, rng)
    for start in range(0, len(T), 6):
        learner.partial_fit(T[start : start + 6])
        assert inverse_error(learner) < 1e-9


@pytest.mark.parametrize("margin", [1e-6, 1e-3, 1e2, 1e4, 1e8])
def test_very_small_and_large_moves_lose_no_digits(margin):
    n, T = 8, answers(8, 400, flipped=0.2)
    learner = ERKLE(n, kernel=Dense(tol=1e-9), step=PassiveAggressive(margin))
    K = np.eye(n)
    for j, triplet in enumerate(T.tolist(), start=1):
        learner.learn_one(triplet)
        K, _ = naive.step_once(K, triplet, j, GNMDS(), PassiveAggressive(margin), "canonical")
        assert inverse_error(learner) < 1e-9
    assert relative(learner.kernel_matrix(), K) < 1e-6


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("step", [Constant(0.5), InverseSqrt(1.0)], ids=["Constant", "InverseSqrt"])
@pytest.mark.parametrize("scale", [10.0, 1e2, 1e3, 1e4])
def test_tiny_slopes_do_no_harm(scale, step, direction):
    """Far from the margin, the slope of STE can be exp(-1000), and its square underflows."""
    X = np.random.default_rng(2).normal(size=(9, 2))
    T, initial = answers(9, 300, flipped=0.3), scale * X @ X.T
    learner = ERKLE(9, kernel=Dense(tol=1e-8, initial=initial), loss=STE(), step=step, direction=direction).fit(T)
    expected, active = naive.erkle(T.tolist(), initial, STE(), step, direction)
    assert relative(learner.kernel_matrix(), expected) < 1e-6
    assert learner.counters_.n_active == active
    assert inverse_error(learner) < 1e-7


@pytest.mark.parametrize("beyond", [-1e-9, 0.0, 1e-17, 1e-15, 1e-12, 1e-9, 1e-6])
def test_a_move_that_ends_at_the_boundary_of_the_cone_keeps_the_inverse(beyond):
    """The smallest eigenvalue after the move is minus ``beyond``."""
    n, w = 7, np.array([2, -2, 1]) / 3
    X = np.random.default_rng(5).normal(size=(n, n))
    K, gamma = X @ X.T, 1.0
    start = naive.project(K - np.linalg.eigvalsh(K)[0] * np.eye(n))[0]
    start[:3, :3] += (3 * gamma - beyond) * np.outer(w, w)
    kernel = DenseKernel(start.copy(), 1e-8, "inverse")
    kernel._state.memory["bound"] = 0.0
    status = dense.move(
        kernel._state, (0, 1, 2), moves.Move(0.0, (0.0, 0.0, 0.0), 3 * gamma, tuple(w), 3 * gamma, gamma)
    )
    assert status == moves.DONE
    expected = start.copy()
    expected[:3, :3] -= 3 * gamma * np.outer(w, w)
    np.testing.assert_allclose(kernel.unprojected(), naive.project(expected)[0], atol=1e-7)
    P = whole(kernel._state.P)
    shifted = kernel.unprojected() + kernel._state.memory["sigma"][0] * np.eye(n)
    np.testing.assert_allclose(P @ shifted, np.eye(n), atol=1e-10)


def test_a_move_is_minus_gamma_times_the_direction():
    for canonical, name in ((True, "canonical"), (False, "gradient")):
        for near, far in ((1.0, -1.0), (0.3, -2.0), (1.0, 0.0), (0.0, -1.0), (0.0, 0.0), (1e-310, -1e-310)):
            for function in (loop.move_along, loop.move_along.py_func):
                a1, w1, a2, w2, reach, rate = function(0.7, near, far, canonical)
                D = (a1 * np.outer(w1, w1) - a2 * np.outer(w2, w2)) / -0.7
                np.testing.assert_allclose(D, naive.direction(3, 0, 1, 2, near, far, name), atol=1e-14)
                assert a1 >= 0
                assert a2 >= 0
                assert reach == pytest.approx(0.7 * np.linalg.eigvalsh(D)[-1])
                # The rate is the magnitude divided by the slope.
                assert rate == pytest.approx(1.4 / (near - far) if near - far > 1e-300 else 0.7)


@pytest.mark.parametrize("canonical", [True, False], ids=DIRECTIONS)
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_compiled_and_python_learn_the_same_kernel(canonical, projection, monkeypatch):
    n, T = 6, answers(6, 250, flipped=0.3)
    rule, numbers = Rule(CKL(), Constant(0.5), canonical), np.arange(1, len(T) + 1)
    compiled, python = (DenseKernel(np.eye(n), 1e-2, projection) for _ in range(2))
    first, second = (Stretch.of(T, numbers, np.arange(len(T))) for _ in range(2))
    compiled.learn(rule, first)
    in_python(monkeypatch, symmetric, buffered, lanczos, dense, loop, erkle.kernels.looping)
    monkeypatch.setattr(loop, "_distances", dense.distances)
    monkeypatch.setattr(loop, "_move", dense.move)
    # Compiled code reads the fields of a record as attributes; Python needs a recarray for that.
    python._state = python._state._replace(memory=python._state.memory.view(np.recarray))
    with np.errstate(all="ignore"):
        python.learn(rule, second)
    np.testing.assert_allclose(first.excess, second.excess, atol=1e-9)
    np.testing.assert_allclose(compiled.unprojected(), python.unprojected(), atol=1e-9)
    assert compiled.counters == python.counters
    assert min(compiled.counters) > 0


@pytest.mark.parametrize("entry", [(3, 3), (7, 2)])
def test_an_inverse_that_drifts_is_repaired_within_a_hundred_answers(entry):
    T = answers(10, 3000, flipped=0.3)
    learner, untouched = ERKLE(10, kernel=Dense()).fit(T[:2000]), ERKLE(10, kernel=Dense()).fit(T[:2000])
    learner._model.kernel._state.P.lower[entry] += 1e-6
    assert inverse_error(learner) > 1e-7
    learner.partial_fit(T[2000:2100])
    assert inverse_error(learner) < 1e-9
    untouched.partial_fit(T[2000:2100])
    assert relative(learner.kernel_matrix(), untouched.kernel_matrix()) < 1e-4


def test_a_kernel_forced_out_of_the_cone_warns_and_recovers():
    T = answers(10, 3000, flipped=0.3)
    learner = ERKLE(10, kernel=Dense()).fit(T[:1000])
    learner._model.kernel._state.K.lower[4, 4] -= 10.0
    with pytest.warns(RuntimeWarning, match="tol"):
        learner.partial_fit(T[1000:1200])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.partial_fit(T[1200:])
    assert inverse_error(learner) < 1e-9
    assert np.linalg.eigvalsh(learner._model.kernel.unprojected())[0] > -1e-3
    assert learner.score(T[2000:]) > 0.5


@pytest.mark.parametrize("most", [1, 2])
def test_lapack_takes_over_if_the_basis_is_too_small(most, monkeypatch):
    monkeypatch.setattr(upkeep, "_LARGEST_BASIS", most)
    asked = []
    smallest = lapack.smallest_eigenpair
    monkeypatch.setattr(lapack, "smallest_eigenpair", lambda K: asked.append(1) or smallest(K))
    T = answers(12, 400, flipped=0.3)
    learner = ERKLE(12, kernel=Dense(tol=1e-8)).fit(T)
    expected, active = naive.erkle(T.tolist(), np.eye(12), GNMDS(), PassiveAggressive())
    assert len(asked) > 100
    assert relative(learner.kernel_matrix(), expected) < 1e-6
    assert learner.counters_.n_active == active
    assert inverse_error(learner) < 1e-9


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_growing_borders_the_kernel_with_the_identity_and_keeps_the_inverse(projection):
    learner = ERKLE(10, kernel=precise(projection)).fit(answers(10, 300))
    before = learner._model.kernel.unprojected()
    learner.add_objects(0)
    np.testing.assert_array_equal(learner._model.kernel.unprojected(), before)
    learner.add_objects(3)
    expected = np.eye(13)
    expected[:10, :10] = before
    np.testing.assert_array_equal(learner._model.kernel.unprojected(), expected)
    if projection == "inverse":
        assert inverse_error(learner) < 1e-9
    T = answers(13, 300, flipped=0.2)
    learner.partial_fit(T)
    for j, triplet in enumerate(T.tolist(), start=301):
        expected, _ = naive.step_once(expected, triplet, j, GNMDS(), PassiveAggressive(), "canonical")
    assert relative(learner.kernel_matrix(), expected) < 1e-6


@pytest.mark.parametrize("scale", [1e-90, 1e-4, 1e4, 1e90])
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_a_scaled_kernel_and_margin_give_the_scaled_kernel(scale, projection):
    T = answers(15, 1500, flipped=0.1)
    X = np.random.default_rng(0).normal(size=(15, 15))
    K = X @ X.T
    plain = ERKLE(15, kernel=precise(projection, K), step=PassiveAggressive()).fit(T)
    scaled = ERKLE(15, kernel=precise(projection, scale * K), step=PassiveAggressive(scale)).fit(T)
    assert relative(scaled.kernel_matrix() / scale, plain.kernel_matrix()) < 1e-6
    # A repeated answer lies exactly at its margin, where rounding decides whether it moves the kernel.
    assert abs(scaled.counters_.n_active - plain.counters_.n_active) <= 5
    if projection == "inverse":
        assert memory(scaled, "sigma") / scale == pytest.approx(memory(plain, "sigma"), rel=1e-3)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_sigma_approaches_the_mean_depth_of_projections(factor):
    T = answers(20, 3000, flipped=0.3)
    learner = ERKLE(20, kernel=Dense(tol=1e-8)).fit(T[:10])
    state = learner._model.kernel._state
    state.memory["sigma"] *= factor
    upkeep._build_inverse(state)
    learner.partial_fit(T[10:])
    reference = ERKLE(20, kernel=Dense(tol=1e-8)).fit(T)
    assert memory(reference, "sigma") / 4 < memory(learner, "sigma") < memory(reference, "sigma") * 4
    assert relative(learner.kernel_matrix(), reference.kernel_matrix()) < 1e-6
    assert inverse_error(learner) < 1e-9


@pytest.mark.parametrize(
    ("loss", "step", "direction"),
    [
        (TSTE(), Inverse(1.0), "gradient"),
        (TSTE(), Inverse(1.0), "canonical"),
        (CKL(), Constant(1e-4), "gradient"),
        (STE(), Constant(1e-4), "canonical"),
    ],
)
def test_a_stream_of_small_moves_computes_few_eigenpairs(loss, step, direction):
    T = answers(30, 4000)
    learner = ERKLE(30, kernel=Dense(), loss=loss, step=step, direction=direction).fit(T)
    assert learner.counters_.n_active == 4000
    assert learner.counters_.n_eigenpairs < 400
    literal = ERKLE(30, kernel=Dense(projection="eigh"), loss=loss, step=step, direction=direction).fit(T)
    assert relative(learner.kernel_matrix(), literal.kernel_matrix()) < 1e-3


@pytest.mark.parametrize(
    ("loss", "step"),
    [
        (GNMDS(), PassiveAggressive()),
        (GNMDS(), PassiveAggressiveI(C=0.02)),
        (GNMDS(), PassiveAggressiveII(C=0.02)),
        (STE(), Constant(0.05)),
        (STE(), InverseSqrt(1.0)),
        (TSTE(), Inverse(1.0)),
        (CKL(), Constant(0.02)),
    ],
)
def test_the_literal_projection_counts_like_the_papers_skip_rule(loss, step):
    T = answers(20, 800, flipped=0.1)
    learner = ERKLE(20, kernel=Dense(projection="eigh"), loss=loss, step=step).fit(T)
    eigenpairs, projections = naive.skip_rule(T.tolist(), np.eye(20), loss, step)
    assert learner.counters_.n_eigenpairs == eigenpairs
    # Rounding decides whether an eigenvalue of nearly zero counts as negative.
    assert learner.counters_.n_projections == pytest.approx(projections, abs=2)
    assert learner.counters_.n_eigenpairs < learner.counters_.n_active


@pytest.mark.parametrize("kernel", [Dense(), precise(), Dense(projection="eigh")], ids=str)
@pytest.mark.parametrize("rank", [2, 20])
def test_the_bound_never_exceeds_the_smallest_eigenvalue(kernel, rank):
    X = np.random.default_rng(0).normal(size=(20, rank))
    T = answers(20, 1000, flipped=0.1)
    initial = X @ X.T / 4
    learner = ERKLE(20, kernel=kernel._replace(initial=initial), loss=STE(), step=Constant(0.02))
    for start in range(0, len(T), 10):
        learner.partial_fit(T[start : start + 10])
        smallest = np.linalg.eigvalsh(learner._model.kernel.unprojected())[0]
        assert 0.0 <= memory(learner, "bound") <= max(0.0, smallest) + kernel.tol


@pytest.mark.parametrize("initial", [np.zeros((8, 8)), np.ones((8, 8)), np.diag([1.0, 0, 0, 0, 0, 0, 0, 0])])
def test_a_kernel_that_starts_on_the_boundary_learns_like_the_naive_one(initial):
    T = answers(8, 400, flipped=0.1)
    learner = ERKLE(8, kernel=Dense(tol=1e-8, initial=initial)).fit(T)
    expected, _ = naive.erkle(T.tolist(), initial, GNMDS(), PassiveAggressive())
    assert relative(learner.kernel_matrix(), expected) < 1e-6
    assert inverse_error(learner) < 1e-9


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_a_projection_that_was_interrupted_is_done_with_the_next_answers(projection, monkeypatch):
    """Ctrl-C arrives after the compiled loop has asked for an eigenpair."""
    monkeypatch.setattr(upkeep, "_LARGEST_BASIS", 1)
    T = answers(12, 600, flipped=0.3)
    learner, reference = (ERKLE(12, kernel=precise(projection)) for _ in range(2))
    learner.partial_fit(T[:300])
    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "_project", interrupt)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[300:])
    seen = learner.n_triplets_seen_
    assert 300 < seen < 600
    learner.partial_fit(T[seen:])
    reference.partial_fit(T)
    np.testing.assert_array_equal(learner.kernel_matrix(), reference.kernel_matrix())
    assert learner.counters_.n_projections == reference.counters_.n_projections


def test_interrupting_the_computation_of_the_inverse_leaves_the_old_one(monkeypatch):
    T = answers(12, 600, flipped=0.3)
    learner = ERKLE(12, kernel=Dense(tol=1e-8)).fit(T[:100])
    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "invert_shifted", interrupt)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[100:])
    seen = learner.n_triplets_seen_
    assert 100 < seen < 600
    assert inverse_error(learner) < 1e-9
    learner.partial_fit(T[seen:])
    assert inverse_error(learner) < 1e-9
    assert relative(learner.kernel_matrix(), ERKLE(12, kernel=Dense(tol=1e-8)).fit(T).kernel_matrix()) < 1e-6


def interrupt(*arguments):
    raise KeyboardInterrupt


def test_no_memory_layout_of_the_rows_is_compiled_again():
    T = answers(5, 20)
    ERKLE(5, kernel=Dense()).fit(T).learn_one(T[0])
    compiled = len(loop.learn.signatures)
    read_only, unaligned = T.copy(), np.zeros(T.nbytes + 1, np.uint8)[1:].view(T.dtype).reshape(T.shape)
    read_only.flags.writeable = False
    unaligned[:] = T
    for form in (read_only, unaligned, np.asfortranarray(T), T[::2], T[:, ::-1], T[:1]):
        ERKLE(5, kernel=Dense()).fit(form)
        ERKLE(5, kernel=Dense(), passes=2).fit(form)
    assert len(loop.learn.signatures) == compiled


@settings(max_examples=40)
@given(seed=st.integers(0, 1000), n=st.integers(1, 20))
def test_lapack_projects_lower_triangles(seed, n):
    X = np.random.default_rng(seed).normal(size=(n, n))
    K, A = X @ X.T, X + X.T
    value, vector = lapack.smallest_eigenpair(lower(A))
    assert value == pytest.approx(np.linalg.eigvalsh(A)[0], abs=1e-12 * np.abs(A).max() * n)
    np.testing.assert_allclose(A @ vector, value * vector, atol=1e-9)
    np.testing.assert_allclose(lapack.projected(A), naive.project(A)[0], atol=1e-9)
    assert lapack.projected(K) is K


def lower(A):
    """The lower triangle of A; the upper one is filled with arbitrary numbers."""
    return np.tril(A) + np.triu(np.full_like(A, 1e3), 1)

"""Laws of large dense kernels, tried at small sizes: they learn what small ones learn, and what `naive.py` learns."""

import math
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from erkle import ERKLE, GNMDS, STE, Constant, Dense, PassiveAggressive
from erkle._compiled import dense
from erkle._compiled.moves import NEEDS_INVERSE, NOT_CERTIFIED, Move
from erkle.kernels import dense as dense_kernel
from erkle.kernels import forms, inversion, lapack, upkeep
from erkle.kernels.dense import DenseKernel
from parts import DIRECTIONS, OTHER_PAIRS, PAIRS, answers, directions_of, loop_in_python, precise, relative, state

ROOMS = [3, 7, 64]


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Store every kernel in the form for large ones, with few pending terms."""
    monkeypatch.setattr(forms, "BUFFERED_FROM", 3)
    monkeypatch.setattr(forms, "ROOM", 7)


def of_kernel(learner):
    return learner._model.kernel


def whole(A):
    plus, minus = A.pending[: A.counts[0]], A.pending[len(A.pending) - A.counts[1] :]
    return lapack.symmetric(A.lower).astype(float) + plus.T @ plus - minus.T @ minus


def inverse_error(kernel):
    """Largest entry of P (K + sigma I) - I."""
    K, P, sigma = whole(kernel._state.K), whole(kernel._state.P), kernel._state.memory["sigma"][0]
    return np.abs(P @ (K + sigma * np.eye(len(K))) - np.eye(len(K))).max()


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("n", [3, 4, 13, 30])
def test_at_every_moment_the_kernel_is_the_naive_one_and_the_inverse_exact(n, direction, room, monkeypatch):
    monkeypatch.setattr(forms, "ROOM", room)
    learner, K = ERKLE(n, kernel=Dense(tol=1e-8), direction=direction), np.eye(n)
    for j, triplet in enumerate(answers(n, 150, flipped=0.2).tolist(), start=1):
        learner.learn_one(triplet)
        K, _ = naive.step_once(K, triplet, j, GNMDS(), PassiveAggressive(), direction)
        assert relative(of_kernel(learner).unprojected(), K) < 1e-6
        assert inverse_error(of_kernel(learner)) < 1e-8


@pytest.mark.parametrize(("loss", "step"), PAIRS + OTHER_PAIRS)
def test_every_loss_and_step_gives_the_naive_kernel(loss, step, monkeypatch):
    loop_in_python(monkeypatch, "dense")
    T = answers(12, 200, flipped=0.2)
    for direction in directions_of(loss, step):
        learner = ERKLE(12, kernel=precise(), loss=loss, step=step, direction=direction).fit(T)
        expected, active = naive.erkle(T.tolist(), np.eye(12), loss, step, direction)
        assert relative(learner.kernel_matrix(), expected) < 1e-6
        assert abs(learner.counters_.n_active - active) <= 1


@pytest.mark.parametrize("n", [12, 60])
def test_float32_is_precise_enough_for_the_default_tolerance(n, monkeypatch):
    T = answers(n, 2000, flipped=0.2)
    large = ERKLE(n, kernel=Dense()).fit(T)
    monkeypatch.setattr(forms, "BUFFERED_FROM", 10**6)
    small, exact = ERKLE(n, kernel=Dense()).fit(T), ERKLE(n, kernel=Dense(projection="eigh")).fit(T).kernel_matrix()
    assert of_kernel(large)._state.P.lower.dtype == np.float32
    assert of_kernel(small)._state.P.lower.dtype == np.float64
    assert relative(large.kernel_matrix(), exact) < 2 * relative(small.kernel_matrix(), exact) + 1e-5
    assert abs(large.counters_.n_projections - small.counters_.n_projections) < 0.02 * len(T)
    assert np.linalg.eigvalsh(of_kernel(large).unprojected())[0] > -1e-3
    assert inverse_error(of_kernel(large)) < 1e-2


def test_float32_is_used_only_where_it_suffices():
    assert forms.form_for(10, 1e-2).dtype == np.float32
    assert forms.form_for(10, 1e-8).dtype == np.float64
    assert forms.form_for(10, 1e-2, 1e50).dtype == np.float64


@pytest.mark.parametrize("tol", [1e-2, 1e-8])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_split_and_saving_in_between_give_the_same_bits(tol, data, tmp_path_factory):
    T = answers(11, 150, flipped=0.2)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(T) - 1), max_size=8)))
    whole = ERKLE(11, kernel=Dense(tol=tol)).fit(T)
    learner = ERKLE(11, kernel=Dense(tol=tol))
    path = tmp_path_factory.mktemp("split") / "kernel.npz"
    for piece in np.split(T, cuts):
        learner.partial_fit(piece)
        # Looking at the kernel must not change it.
        learner.kernel_matrix(), learner.decision_function(T)
        learner.save(path)
        learner = ERKLE.load(path)
    assert state(learner) == state(whole)


def test_short_calls_of_the_loop_give_the_same_bits(monkeypatch):
    T = answers(20, 300, flipped=0.2)
    expected = state(ERKLE(20, kernel=Dense()).fit(T))
    monkeypatch.setattr(dense_kernel, "_BLOCK_ENTRIES", 1)
    assert state(ERKLE(20, kernel=Dense()).fit(T)) == expected


@pytest.mark.parametrize("projection", ["inverse", "eigh"])
def test_an_interruption_keeps_what_was_learned(projection, monkeypatch):
    monkeypatch.setattr(dense_kernel, "_BLOCK_ENTRIES", 1.0)
    T = answers(20, 300, flipped=0.2)
    reference = ERKLE(20, kernel=Dense(projection=projection)).fit(T)
    learner, run_loop, calls = ERKLE(20, kernel=Dense(projection=projection)), dense_kernel.run_loop, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return run_loop(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(dense_kernel, "run_loop", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T)
    seen = learner.n_triplets_seen_
    assert 50 < seen < 100
    assert state(learner.partial_fit(T[seen:])) == state(reference)


@pytest.mark.parametrize("method", ["factorise", "invert"])
def test_an_interruption_while_the_inverse_is_built_changes_nothing(method, monkeypatch):
    T = answers(20, 300, flipped=0.2)
    reference, learner = ERKLE(20, kernel=Dense()).fit(T), ERKLE(20, kernel=Dense())
    routine = {"factorise": "spotrf", "invert": "spotri"}[method]

    def interrupt(*arguments, **options):
        arguments[0][:] = np.nan
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(inversion.lapack, routine, interrupt)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T)
    seen = learner.n_triplets_seen_
    assert 0 < seen < 300
    assert state(learner.partial_fit(T[seen:])) == state(reference)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 25), single=st.booleans())
def test_the_interior_certifies_what_an_eigendecomposition_says(seed, n, single):
    """A move is certified exactly if all eigenvalues stay above the least one of the interior."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n + 5))
    kernel = DenseKernel(X @ X.T / n + 0.05 * np.eye(n), 1e-2 if single else 1e-8, "inverse")
    for _ in range(20):
        sigma = kernel._state.memory["sigma"][0]
        if sigma > 0.0:
            break
        a, b, c = (int(i) for i in rng.permutation(n)[:3])
        gamma = float(rng.exponential(0.2))
        G = naive.direction(n, a, b, c, 1.0, -1.0, "canonical")
        moved = kernel.unprojected() - gamma * G
        smallest = np.linalg.eigvalsh(moved)[0]
        w1, w2 = (2 / 3, 1 / 3, -2 / 3), (2 / 3, -2 / 3, 1 / 3)
        before, active = kernel.unprojected(), kernel.counters.n_active
        status = dense.move(kernel._state, (a, b, c), Move(3 * gamma, w1, 3 * gamma, w2, 3 * gamma, gamma))
        if status == NOT_CERTIFIED:
            # Close to the edge, rounding in P may refuse a move that would stay inside.
            assert smallest < -sigma + 0.1 * abs(smallest) + 0.05
            np.testing.assert_array_equal(kernel.unprojected(), before)
            assert kernel.counters.n_active == active
            break
        assert smallest > -sigma - 1e-6
        np.testing.assert_allclose(kernel.unprojected(), moved, atol=1e-12)
        assert kernel.counters.n_certified == kernel.counters.n_active == active + 1
        kernel._state = upkeep.finish(kernel._state)


def test_from_the_identity_no_eigenpair_is_computed_before_the_first_is_needed():
    n = 60
    T, learner, K = answers(n, 600), ERKLE(n, kernel=precise()), np.eye(n)
    for j, triplet in enumerate(T.tolist(), start=1):
        learner.learn_one(triplet)
        K, _ = naive.step_once(K, triplet, j, GNMDS(), PassiveAggressive(), "canonical")
        if learner.counters_.n_eigenpairs == 1:
            break
    assert learner.counters_.n_certified == learner.counters_.n_active - 1 > n / 3
    # The interior ends where an eigenvalue gets close to its edge.
    assert np.linalg.eigvalsh(K)[0] < 0.1
    learner.partial_fit(T[j:])
    counters = learner.counters_
    assert counters.n_active == counters.n_certified + counters.n_eigenpairs
    assert counters.n_projections <= counters.n_eigenpairs


def test_a_kernel_far_inside_the_cone_returns_to_the_interior():
    T = answers(20, 2000)
    X = np.random.default_rng(0).normal(size=(20, 30))
    learner = ERKLE(20, kernel=Dense(initial=X @ X.T), loss=STE(), step=Constant(1e-4))
    learner.partial_fit([])
    kernel = of_kernel(learner)
    upkeep._leave_interior(kernel._state)
    kernel._state.memory["bound"] = 0.0
    learner.partial_fit(T)
    assert kernel._state.memory["sigma"][0] < 0.0
    assert 30 < learner.counters_.n_eigenpairs < 50
    assert inverse_error(kernel) < 1e-2


@pytest.mark.parametrize("initial", [np.zeros((8, 8)), np.ones((8, 8)), np.diag([1.0, 0, 0, 0, 0, 0, 0, 0])])
def test_a_kernel_on_the_boundary_starts_at_the_border(initial):
    T = answers(8, 300, flipped=0.1)
    learner = ERKLE(8, kernel=precise(initial=initial)).fit(T)
    expected, _ = naive.erkle(T.tolist(), initial, GNMDS(), PassiveAggressive())
    assert relative(learner.kernel_matrix(), expected) < 1e-6


@pytest.mark.parametrize("scale", [1e-90, 1e-4, 1e4, 1e90])
@pytest.mark.parametrize("tol", [1e-2, 1e-8])
def test_a_scaled_kernel_and_margin_give_the_scaled_kernel(scale, tol):
    T, X = answers(15, 800, flipped=0.1), np.random.default_rng(0).normal(size=(15, 15))
    plain = ERKLE(15, kernel=Dense(tol=tol, initial=X @ X.T)).fit(T)
    scaled = ERKLE(15, kernel=Dense(tol=tol, initial=scale * X @ X.T), step=PassiveAggressive(scale)).fit(T)
    assert relative(scaled.kernel_matrix() / scale, plain.kernel_matrix()) < max(1e-6, 0.1 * tol)


@pytest.mark.parametrize("margin", [1e-6, 1e-3, 1e2, 1e4, 1e8])
@pytest.mark.parametrize("tol", [1e-2, 1e-8])
def test_very_small_and_large_moves_lose_no_digits(margin, tol):
    T = answers(8, 400, flipped=0.2)
    learner = ERKLE(8, kernel=Dense(tol=tol), step=PassiveAggressive(margin)).fit(T)
    expected, _ = naive.erkle(T.tolist(), np.eye(8), GNMDS(), PassiveAggressive(margin))
    assert relative(learner.kernel_matrix(), expected) < max(1e-6, tol)


@pytest.mark.parametrize("entry", [(3, 3), (7, 2)])
@pytest.mark.parametrize("tol", [1e-2, 1e-8])
def test_an_inverse_that_drifts_is_built_again(entry, tol):
    T = answers(10, 1000, flipped=0.3)
    learner = ERKLE(10, kernel=Dense(tol=tol)).fit(T[:800])
    of_kernel(learner)._state.P.lower[entry] += 0.1
    assert inverse_error(of_kernel(learner)) > 1e-3
    learner.partial_fit(T[800:])
    assert inverse_error(of_kernel(learner)) < 10 * (1e-3 if tol == 1e-2 else 1e-10)


def test_an_inverse_that_float32_cannot_hold_becomes_float64():
    T = answers(12, 600, flipped=0.3)
    learner = ERKLE(12, kernel=Dense()).fit(T[:300])
    memory = of_kernel(learner)._state.memory
    memory["updates"], memory["due"] = dense.CHECK_EVERY, NEEDS_INVERSE
    learner.partial_fit(T[300:])
    assert of_kernel(learner)._state.P.lower.dtype == np.float64
    assert inverse_error(of_kernel(learner)) < 1e-8
    assert relative(learner.kernel_matrix(), ERKLE(12, kernel=Dense()).fit(T).kernel_matrix()) < 1e-3


@pytest.mark.parametrize("n_before", [5, 300])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_growing_keeps_kernel_and_inverse(n_before, scale):
    T, more = answers(10, n_before, flipped=0.2), answers(13, 300, flipped=0.2)
    learner = ERKLE(10, kernel=precise(initial=scale * np.eye(10))).fit(T)
    expected = np.eye(13)
    expected[:10, :10] = of_kernel(learner).unprojected()
    learner.add_objects(3)
    np.testing.assert_array_equal(of_kernel(learner).unprojected(), expected)
    learner.partial_fit([more[0]])
    assert inverse_error(of_kernel(learner)) < 1e-8
    learner.partial_fit(more[1:])
    for j, triplet in enumerate(more.tolist(), start=1):
        expected, _ = naive.step_once(expected, triplet, j, GNMDS(), PassiveAggressive(), "canonical")
    assert relative(learner.kernel_matrix(), expected) < 1e-6


def test_a_kernel_that_grows_large_changes_its_form(monkeypatch):
    monkeypatch.setattr(forms, "BUFFERED_FROM", 12)
    T, more = answers(10, 200, flipped=0.2), answers(13, 300, flipped=0.2)
    learner = ERKLE(10, kernel=Dense()).fit(T)
    assert not len(of_kernel(learner)._state.K.pending)
    before = of_kernel(learner).unprojected()
    learner.add_objects(3)
    assert len(of_kernel(learner)._state.K.pending)
    np.testing.assert_array_equal(of_kernel(learner).unprojected()[:10, :10], before)
    learner.partial_fit(more)
    assert inverse_error(of_kernel(learner)) < 1e-2


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 120))
def test_what_is_read_includes_pending_terms(seed, size):
    learner = ERKLE(9, kernel=Dense()).fit(answers(9, size, seed, flipped=0.3))
    kernel, T = of_kernel(learner), answers(9, 50, seed)
    K = whole(kernel._state.K)
    np.testing.assert_allclose(kernel.unprojected(), K, atol=1e-12)
    expected = np.array([[naive.distance(K, a, b), naive.distance(K, a, c)] for a, b, c in T])
    np.testing.assert_allclose(kernel.distances(T), np.maximum(expected, 0.0), atol=1e-12)
    np.testing.assert_allclose(kernel.excess(T), expected[:, 0] - expected[:, 1], atol=1e-12)


def test_a_kernel_that_does_not_fit_into_memory_is_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(forms, "machine_memory", lambda: 1e9)
    monkeypatch.setattr(np, "eye", None)
    with pytest.raises(ValueError, match="8,660") as caught:
        ERKLE(10_000, kernel=Dense()).partial_fit([(0, 1, 2)])
    assert "low-rank" in str(caught.value)
    with pytest.raises(ValueError, match="7,500"):
        ERKLE(10_000, kernel=Dense(tol=1e-8)).partial_fit([(0, 1, 2)])


def test_the_memory_of_this_machine_is_known():
    assert 1e8 < forms.machine_memory() <= math.inf


def test_reading_that_does_not_fit_into_memory_is_refused_before_anything_is_computed(monkeypatch):
    learner = ERKLE(30, kernel=Dense()).fit(answers(30, 200))
    monkeypatch.setattr(forms, "machine_memory", lambda: 30_000.0)
    monkeypatch.setattr(DenseKernel, "unprojected", None)
    for read in (learner.kernel_matrix, learner.embedding):
        with pytest.raises(ValueError, match=r"embedding\(2\)"):
            read()


def test_beyond_the_largest_saved_matrix_nothing_is_projected_but_the_map_is_the_same(monkeypatch, tmp_path):
    learner = ERKLE(30, kernel=Dense()).fit(answers(30, 2000, flipped=0.1))
    X = learner.embedding(2)
    monkeypatch.setattr(dense_kernel, "LARGEST_MATRIX_SAVED", 29)
    monkeypatch.setattr(lapack, "projected", None)
    learner._model.kernel._projected = None
    np.testing.assert_allclose(learner.embedding(2), X, atol=1e-3)
    learner.save(tmp_path / "kernel.npz")
    assert "kernel" not in np.load(tmp_path / "kernel.npz")
    assert state(ERKLE.load(tmp_path / "kernel.npz")) == state(learner)


@pytest.mark.parametrize("passes", [1, 3])
def test_an_interruption_divides_no_answer_from_those_replayed_after_it(passes, monkeypatch):
    monkeypatch.setattr(inversion, "LARGEST_BLOCK", 4)
    monkeypatch.setattr(inversion, "ROWS", 4)
    T, settings = answers(20, 300, flipped=0.2), {"kernel": Dense(), "passes": passes, "random_state": 0}
    expected = state(ERKLE(20, **settings).fit(T))
    sweep = inversion._sweep

    def interrupted(A, k):
        signal.raise_signal(signal.SIGINT)
        return sweep(A, k)

    learner = ERKLE(20, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(inversion, "_sweep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T)
    assert state(learner.partial_fit(T[learner.n_triplets_seen_ :])) == expected

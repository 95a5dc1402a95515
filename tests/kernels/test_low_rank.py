"""Laws of the low-rank kernel: it equals a full eigendecomposition cut to rank r, and stays sound."""

import copy
import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import erkle.kernels.looping
import naive
from erkle import ERKLE, GNMDS, STE, Constant, LowRank, PassiveAggressive
from erkle._compiled import loop, low_rank
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from parts import (
    ANSWER_MODELS,
    DIRECTIONS,
    OTHER_PAIRS,
    PAIRS,
    Cooling,
    SquaredHinge,
    answers,
    directions_of,
    in_python,
    loop_in_python,
)

PA = Rule(GNMDS(), PassiveAggressive(), True)
# Numba takes five seconds for each pair with a low-rank kernel. Other tests compile the first five pairs anyway; the
# tests of the dense kernel compile all of them.
COMPILED = PAIRS[:5]
IN_PYTHON = [*PAIRS[5:], *OTHER_PAIRS, pytest.param(SquaredHinge(), Cooling(), id="user's")]
RULES = [PA, Rule(STE(), Constant(0.3), False), Rule(STE(), Constant(1.0), True)]


def learn(kernel, T, rule=PA, first=1):
    """Learn T; return the excess of each answer just before it was learned."""
    T = np.asarray(T, np.int64).reshape(-1, 3)
    stretch = Stretch.of(T, np.arange(first, first + len(T)), np.arange(len(T)))
    kernel.learn(rule, stretch)
    return stretch.excess


def basis(kernel):
    state = kernel._state
    size = state.memory["size"][0]
    return state.B[:, :size] @ state.R[:size, :size]


def assert_sound(kernel, tol=1e-9):
    values, size = kernel._state.values, kernel._state.memory["size"][0]
    assert (values >= 0.0).all()
    assert (np.diff(values[:size]) <= 0.0).all()
    assert not values[size:].any()
    Q = basis(kernel)
    np.testing.assert_allclose(Q.T @ Q, np.eye(size), atol=tol)
    if len(Q) > 100:
        return
    K = kernel.matrix()
    np.testing.assert_allclose(K, (Q * values[:size]) @ Q.T, atol=1e-12 * max(1.0, values[0]))
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * max(1.0, values[0])


def reversed_answers(T):
    return T[:, [0, 2, 1]]


def contradictory_answers(n, size, seed=0):
    """Answers with repetitions and contradictions, some in a row and some much later."""
    T = answers(n, size, seed, flipped=0.2)
    return np.concatenate(
        [T, T[:5], T[-3:], reversed_answers(T[-3:]), reversed_answers(T[:5]), np.repeat(T[7:9], 3, axis=0)]
    )


def random_kernel(n, rank, seed, trace=0.0):
    """A kernel without equal eigenvalues."""
    return LowRankKernel.of_map(np.random.default_rng(seed).normal(size=(n, rank)), rank, trace)


# Comparison with the naive algorithm.


@pytest.mark.parametrize(("loss", "step"), COMPILED)
def test_at_full_rank_it_learns_like_the_naive_kernel_from_zero(loss, step):
    assert_learns_like_the_naive_kernel(loss, step)


@pytest.mark.parametrize(("loss", "step"), IN_PYTHON)
def test_at_full_rank_the_loop_in_python_learns_like_the_naive_kernel_from_zero(loss, step, monkeypatch):
    loop_in_python(monkeypatch, "low rank")
    assert_learns_like_the_naive_kernel(loss, step)


def assert_learns_like_the_naive_kernel(loss, step):
    n, T = 7, contradictory_answers(7, 60)
    for direction in directions_of(loss, step):
        parameters = {"loss": loss, "step": step, "direction": direction, "kernel": LowRank(n)}
        learner, K = ERKLE(n, **parameters), np.zeros((n, n))
        for j, triplet in enumerate(T.tolist(), start=1):
            learner.learn_one(triplet)
            K, _ = naive.step_once(K, triplet, j, loss, step, direction)
            np.testing.assert_allclose(learner.kernel_matrix(), K, atol=1e-8 * max(1.0, np.abs(K).max()))
        replayed = ERKLE(n, **parameters, passes=3, random_state=3).fit(T)
        K, active = naive.erkle(T.tolist(), np.zeros((n, n)), loss, step, direction, passes=3, seed=3)
        np.testing.assert_allclose(replayed.kernel_matrix(), K, atol=1e-8 * np.abs(K).max())
        # A replayed answer may lie exactly at its margin, where rounding decides whether it moves the kernel.
        assert abs(replayed.counters_.n_active - active) <= 0.05 * active


@pytest.mark.parametrize("model", ANSWER_MODELS)
def test_a_step_along_the_gradient_of_an_answer_model_follows_its_likelihood(model):
    rule, X = Rule(model, Constant(0.3), False), np.random.default_rng(0).normal(size=(6, 6))
    for triplet in answers(6, 5, flipped=0.5).tolist():
        kernel = LowRankKernel.of_map(X, 6, 0.0)
        learn(kernel, triplet, rule)
        np.testing.assert_allclose(kernel.matrix(), naive.likelihood_step(X @ X.T, triplet, model, 0.3), atol=1e-6)


@pytest.mark.parametrize("trace", [0.0, 0.05])
def test_at_low_rank_every_compiled_move_keeps_the_largest_eigenvalues_and_reduces_them(trace):
    assert_keeps_the_largest_eigenvalues(STE(), Constant(0.5), trace)


@pytest.mark.parametrize("trace", [0.0, 0.05])
@pytest.mark.parametrize(("loss", "step"), [*PAIRS, *OTHER_PAIRS])
def test_at_low_rank_every_move_keeps_the_largest_eigenvalues_and_reduces_them(loss, step, trace, monkeypatch):
    loop_in_python(monkeypatch, "low rank")
    assert_keeps_the_largest_eigenvalues(loss, step, trace)


def assert_keeps_the_largest_eigenvalues(loss, step, trace):
    n, T = 8, contradictory_answers(8, 60)
    for rank, direction in itertools.product([2, 5], DIRECTIONS):
        kernel = random_kernel(n, rank, seed=1, trace=trace)
        K = kernel.matrix()
        for j, triplet in enumerate(T.tolist(), start=1):
            learn(kernel, triplet, Rule(loss, step, direction == "canonical"), j)
            K, _ = naive.step_once(K, triplet, j, loss, step, direction, rank, trace)
            np.testing.assert_allclose(kernel.matrix(), K, atol=1e-8 * max(1.0, np.abs(K).max()))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 12),
    rank=st.integers(1, 12),
    trace=st.sampled_from([0.0, 1e-3, 0.3]),
    rule=st.sampled_from(RULES),
)
def test_no_kernel_of_the_same_rank_is_nearer_to_the_moved_kernel(seed, n, rank, trace, rule):
    """The kernel starts at zero, where eigenvalues are equal and either may be kept."""
    kernel = LowRankKernel(n, min(n, rank), trace)
    for j, triplet in enumerate(contradictory_answers(n, 40, seed).tolist(), start=1):
        before = kernel.matrix()
        learn(kernel, triplet, rule, j)
        name = DIRECTIONS[not rule.canonical]
        best, _ = naive.step_once(before, triplet, j, rule.loss, rule.step, name, kernel.rank, trace)
        scale = max(1.0, np.abs(best).max())
        np.testing.assert_allclose(
            np.linalg.eigvalsh(kernel.matrix()), np.linalg.eigvalsh(best), atol=1e-8 * scale, err_msg=f"answer {j}"
        )
    assert_sound(kernel)


def test_with_more_objects_directions_are_replaced_less_often():
    counts = []
    for n in (400, 1500, 6000):
        kernel = LowRankKernel(n, 3, 0.02)
        learn(kernel, answers(n, 3000, flipped=0.3), Rule(STE(), Constant(1.0), True))
        assert_sound(kernel)
        counts.append(kernel._state.memory[0]["n_multiplied"])
    # Multiplying all rows costs O(n), so it may happen only every few moves if there are many objects.
    assert counts[0] > counts[1] > counts[2] > 3
    assert counts[2] < 0.1 * 3000 + 50


# Soundness after every answer.


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("n", "rank", "trace"),
    [(40, 5, 0.0), (40, 5, 0.01), (12, 12, 0.0), (12, 11, 0.0), (12, 10, 0.0), (3, 2, 0.0), (1200, 4, 0.002)],
)
def test_the_basis_is_orthonormal_after_thousands_of_answers(n, rank, trace, rule):
    kernel = LowRankKernel(n, rank, trace)
    learn(kernel, answers(n, 4000, flipped=0.3), rule)
    assert kernel.counters.n_active > 1000
    assert_sound(kernel)
    state = kernel._state
    np.testing.assert_allclose(state.B.T @ state.B, state.gram, atol=1e-12 * np.abs(state.gram).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("asked", "rank"), [(8, 7), (8, 6), (12, 10)])
def test_the_basis_stays_orthonormal_if_it_holds_nearly_all_objects_asked_about(asked, rank, rule):
    """Little of a move then lies outside the basis, which magnifies its errors."""
    kernel = LowRankKernel(1000, rank, 0.0)
    T = answers(asked, 2000, flipped=0.2)
    for start in range(0, len(T), 100):
        learn(kernel, T[start : start + 100], rule, start + 1)
        Q = basis(kernel)
        np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-8)


@pytest.mark.parametrize("rule", RULES)
def test_a_delayed_rotation_equals_one_that_is_multiplied_out_at_once(rule):
    delayed, eager = (LowRankKernel(30, 4, 1e-3) for _ in range(2))
    T = answers(30, 600, flipped=0.2)
    for j, triplet in enumerate(T, start=1):
        learn(eager, triplet, rule, j)
        size = eager._state.memory["size"][0]
        low_rank._multiply_out(eager._state, eager._state.R[:size, :size].copy())
        low_rank._compute_gram(eager._state)
        np.testing.assert_array_equal(eager._state.R, np.eye(4))
    learn(delayed, T, rule)
    assert delayed._state.memory["n_multiplied"] < 100
    np.testing.assert_allclose(delayed.matrix(), eager.matrix(), atol=1e-9)
    np.testing.assert_allclose(delayed._state.values, eager._state.values, atol=1e-9)


@pytest.mark.parametrize("canonical", [True, False], ids=DIRECTIONS)
@pytest.mark.parametrize("trace", [0.0, 0.1])
def test_compiled_and_python_learn_the_same_kernel(canonical, trace, monkeypatch):
    T, rule = contradictory_answers(8, 150), Rule(STE(), Constant(0.5), canonical)
    compiled, python = (LowRankKernel(8, 3, trace) for _ in range(2))
    first = learn(compiled, T, rule)
    in_python(monkeypatch, low_rank, loop, erkle.kernels.looping)
    monkeypatch.setattr(loop, "_distances", low_rank.distances)
    monkeypatch.setattr(loop, "_move", low_rank.move)
    # Compiled code reads the fields of a record as attributes; in Python, some of these names are array methods.
    record = SimpleNamespace(**dict(zip(low_rank.memory_dtype.names, python._state.memory[0].item(), strict=True)))
    state = python._state
    python._state = state._replace(memory=[record])
    second = learn(python, T, rule)
    state.memory[0] = tuple(vars(record).values())
    python._state = state
    np.testing.assert_allclose(first, second, atol=1e-9)
    np.testing.assert_allclose(compiled.matrix(), python.matrix(), atol=1e-9)
    np.testing.assert_allclose(np.diag(compiled._state.gram), np.diag(python._state.gram), atol=1e-9)
    assert compiled.counters.n_active == python.counters.n_active > 3
    assert compiled._state.memory[0]["n_multiplied"] == python._state.memory[0]["n_multiplied"] > 3


# Edge cases.


@pytest.mark.parametrize("rule", RULES)
def test_equal_or_contradictory_answers_do_no_harm(rule):
    for T in (np.tile([(0, 1, 2)], (1000, 1)), np.tile([(0, 1, 2), (0, 2, 1)], (500, 1))):
        kernel = LowRankKernel(6, 3, 0.0)
        excess = learn(kernel, T, rule)
        assert np.isfinite(excess).all()
        assert_sound(kernel)
        assert np.linalg.matrix_rank(kernel.matrix()) <= 2
        # No answer names the other objects.
        assert not kernel.map()[3:].any()


def test_a_large_trace_leaves_a_zero_kernel():
    learner = ERKLE(8, loss=STE(), step=Constant(0.5), kernel=LowRank(3, trace=100.0)).fit(answers(8, 300))
    np.testing.assert_array_equal(learner.kernel_matrix(), np.zeros((8, 8)))
    assert not learner.predict(answers(8, 20)).any()
    assert_sound(learner._model.kernel)


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), width=st.integers(1, 3), rank=st.integers(1, 9))
def test_the_kernel_of_a_map_is_cut_to_its_rank(seed, width, rank):
    X = np.random.default_rng(seed).normal(size=(8, width))
    kernel = LowRankKernel.of_map(X, rank, 0.0)
    best, _ = naive.project(X @ X.T, min(rank, 8))
    np.testing.assert_allclose(kernel.matrix(), best, atol=1e-9)
    learn(kernel, answers(8, 100, seed))
    assert_sound(kernel)
    assert not LowRankKernel.of_map(np.zeros((8, width)), rank, 0.0).matrix().any()


# Growing.


@settings(max_examples=20)
@given(positions=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 4)), max_size=5), rule=st.sampled_from(RULES))
def test_adding_objects_later_equals_having_them_from_the_start(positions, rule):
    T, total = answers(6, 200, flipped=0.2), 6 + sum(n_new for _, n_new in positions)
    grown, full, start = LowRankKernel(6, 3, 1e-3), LowRankKernel(total, 3, 1e-3), 0
    for position, n_new in sorted(positions):
        learn(grown, T[start:position], rule, start + 1)
        before, n = grown.matrix(), grown.n_objects
        grown.grow(n_new)
        np.testing.assert_array_equal(grown.matrix()[:n, :n], before)
        assert not grown.matrix()[n:].any()
        start = position
    learn(grown, T[start:], rule, start + 1)
    learn(full, T, rule)
    rest = answers(total, 100, flipped=0.2)
    learn(grown, rest, rule, 201)
    learn(full, rest, rule, 201)
    for name, array in full.arrays().items():
        np.testing.assert_array_equal(grown.arrays()[name], array)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))])
def test_a_copy_grows_independently(copied):
    kernel = LowRankKernel(6, 3)
    kernel.grow(1)
    other = copied(kernel)
    learn(other, answers(7, 100))
    assert not kernel.matrix().any()
    before = other.matrix()
    other.grow(1)
    np.testing.assert_array_equal(other.matrix()[:7, :7], before)


def test_adding_objects_rarely_copies_the_others():
    kernel = LowRankKernel(10, 3)
    rooms = []
    for _ in range(1000):
        kernel.grow(1)
        if not (rooms and kernel._room is rooms[-1]):
            rooms.append(kernel._room)
    assert kernel.n_objects == 1010
    assert len(rooms) < 15


# Shifts.


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), shift_rate=st.floats(0.0, 5.0), rule=st.sampled_from(RULES[1:]))
def test_shifts_follow_the_diagonal_of_each_move_and_are_never_negative(seed, shift_rate, rule):
    rng, T = np.random.default_rng(seed), contradictory_answers(6, 30, seed)
    X, shifts = rng.standard_normal((6, 2)), rng.random(6)
    kernel = LowRankKernel.of_map(X, 3, 0.0, shifts, shift_rate)
    expected = shifts.copy()
    for a, near, far in T.tolist():
        [excess] = learn(kernel, [(a, near, far)], rule)
        gamma = rule.step.rate * scipy.special.expit(excess)
        # In both directions, the diagonal of a move with STE is (0, 1, -1).
        expected[near] = max(0.0, expected[near] - shift_rate * gamma)
        expected[far] = max(0.0, expected[far] + shift_rate * gamma)
        np.testing.assert_allclose(kernel.shifts, expected, atol=1e-9)
    K = kernel.matrix()
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * max(1.0, np.abs(K).max())


@pytest.mark.parametrize("rank", [2, 6])
def test_tiny_steps_scale_the_kernel(rank):
    # Near zero, all answers have the same slope.
    T = answers(6, 120)
    small, *smaller = (
        ERKLE(6, loss=STE(), step=Constant(rate), kernel=LowRank(rank)).fit(T).kernel_matrix() / rate
        for rate in (1e-50, 1e-150, 1e-280)
    )
    for K in smaller:
        np.testing.assert_allclose(K, small, atol=1e-9 * np.abs(small).max())


@pytest.mark.parametrize(("n", "rank"), [(3, 2), (3, 3), (6, 6), (30, 10)])
@pytest.mark.parametrize("rate", [1e-280, 1e-300, 1e-305, 1e-320])
def test_negligible_steps_leave_a_sound_basis(n, rank, rate):
    kernel = LowRankKernel(n, rank)
    learn(kernel, answers(n, 200), Rule(STE(), Constant(rate), True))
    assert_sound(kernel)
    learn(kernel, answers(n, 200, 1), Rule(STE(), Constant(0.5), True))
    assert_sound(kernel)


def test_a_move_within_the_cone_is_not_projected():
    kernel = LowRankKernel.of_map(10.0 * np.eye(6), 6, 0.0)
    learn(kernel, answers(6, 100), Rule(STE(), Constant(1e-3), True))
    assert kernel.counters.n_active == 100
    assert kernel.counters.n_projections == 0
    learn(kernel, answers(6, 20), Rule(STE(), Constant(500.0), True))
    assert kernel.counters.n_projections > 0

"""Laws of whole fits: the objective equals the naive one, its gradient is its derivative, and fits reach a minimum."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from erkle import AnswerModel
from erkle._compiled import fitting, lbfgs
from erkle._compiled.fitting import NO_PRIOR, Penalty
from erkle.answer_models import RATIO
from erkle.triplets import sample
from parts import ANSWER_MODELS, answers, assert_is_the_derivative, in_python

MODEL = AnswerModel(2.0, 0.5, 0.05)
PENALTIES = {"no shifts": Penalty(0.3, 0.0), "shifts": Penalty(0.3, 0.2)}
PENALTY = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
GO_ON = np.zeros(1, np.bool_)


def points(n, rank, seed=0):
    """Coordinates, and logarithms of shifts in the last column."""
    return np.random.default_rng(seed).standard_normal((n, rank + 1))


def objective(model, T, lapses, penalty, X):
    """The objective and its gradient."""
    G = np.empty_like(X)
    return fitting.objective(model, T, lapses, penalty, NO_PRIOR, X, G), G


def problem(model=MODEL, penalty=PENALTIES["shifts"], n=10, size=300):
    """The terms of a fit: answers about points in the plane, some of them wrong, from people who differ."""
    lapses = np.random.default_rng(1).uniform(0.0, 0.2, size)
    return model, answers(n, size, flipped=0.1).astype(np.int32), lapses, penalty


def start(n=10, rank=3, seed=0):
    return 0.1 * points(n, rank, seed)


# The objective.


@PENALTY
@pytest.mark.parametrize("model", ANSWER_MODELS)
def test_the_gradient_is_the_derivative_of_the_objective(model, penalty):
    X, T = points(6, 3), sample(6, 100, 1)
    lapses = np.full(100, model.lapse)
    _, G = objective(model, T, lapses, penalty, X)
    assert_is_the_derivative(G, lambda at: objective(model, T, lapses, penalty, at)[0], X, 1.0)


@PENALTY
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_with_a_lapse_for_each_answer_the_gradient_is_the_derivative_at_all_scales(scale, penalty):
    X, (_, T, lapses, _) = points(6, 2), problem(n=6, size=100)
    X[:, :-1] *= scale
    _, G = objective(MODEL, T, lapses, penalty, X)
    assert_is_the_derivative(G, lambda at: objective(MODEL, T, lapses, penalty, at)[0], X, min(1.0, scale))


@PENALTY
@pytest.mark.parametrize("model", ANSWER_MODELS)
def test_the_objective_equals_the_naive_sum(model, penalty):
    X, T = points(9, 3), sample(9, 200, 2)
    lapses = np.random.default_rng(3).choice([0.0, 0.1, 0.45], 200)
    found, _ = objective(model, T, lapses, penalty, X)
    assert found == pytest.approx(naive.fit_objective(model, T, lapses, *penalty, X), rel=1e-9)


@PENALTY
def test_compiled_and_python_give_the_same_objective(penalty):
    _, T, lapses, _ = problem(n=7, size=60)
    X, compiled, plain = points(7, 3), np.empty((7, 4)), np.empty((7, 4))
    value = fitting.objective(MODEL, T, lapses, penalty, NO_PRIOR, X, compiled)
    assert value == pytest.approx(fitting.objective.py_func(MODEL, T, lapses, penalty, NO_PRIOR, X, plain), rel=1e-12)
    np.testing.assert_allclose(compiled, plain, atol=1e-12)


def test_without_shifts_the_last_column_has_no_effect():
    X, (_, T, lapses, _) = points(10, 3), problem()
    other = X.copy()
    other[:, -1] = 5.0
    (value, G), (same, H) = (objective(MODEL, T, lapses, PENALTIES["no shifts"], at) for at in (X, other))
    assert value == same
    np.testing.assert_array_equal(G, H)
    assert not G[:, -1].any()


def test_the_lapse_of_an_answer_replaces_that_of_the_model():
    _, T, lapses, penalty = problem()
    first, second = (objective(MODEL._replace(lapse=lapse), T, lapses, penalty, points(10, 3)) for lapse in (0.0, 0.4))
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])


@PENALTY
def test_without_answers_only_the_ridges_count(penalty):
    X, nothing = points(6, 2), (np.empty((0, 3), np.int32), np.empty(0))
    value, G = objective(MODEL, *nothing, penalty, X)
    assert value == pytest.approx(0.3 * np.sum(X[:, :-1] ** 2) + penalty.shift * np.sum(X[:, -1] ** 2))
    np.testing.assert_allclose(G, 2.0 * X * [0.3, 0.3, penalty.shift])


@PENALTY
@pytest.mark.parametrize("model", ANSWER_MODELS)
def test_objects_that_coincide_or_lie_far_apart_give_finite_numbers(model, penalty):
    _, T, lapses, _ = problem()
    for X in (np.zeros((10, 3)), 1e-150 * points(10, 2), 1e60 * points(10, 2) * [1.0, 1.0, 0.0]):
        value, G = objective(model, T, lapses, penalty, X)
        assert math.isfinite(value)
        assert np.isfinite(G).all()


# Minimising.


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    iterations=st.integers(0, 40),
    tol=st.sampled_from([0.0, 1e-4, 10.0]),
    penalty=st.sampled_from(list(PENALTIES.values())),
    scale=st.sampled_from([1e-3, 1.0, 100.0]),
)
def test_a_fit_never_raises_the_objective_and_returns_the_objective_it_reaches(seed, iterations, tol, penalty, scale):
    _, T, lapses, _ = problem()
    X = points(10, 2, seed) * [scale, scale, 1.0]
    before, _ = objective(MODEL, T, lapses, penalty, X)
    reached = fitting.minimise(MODEL, T, lapses, penalty, NO_PRIOR, X, iterations, tol, GO_ON)
    after, _ = objective(MODEL, T, lapses, penalty, X)
    assert reached == after <= before
    if iterations > 5:
        assert after < before


@PENALTY
@pytest.mark.parametrize("model", [MODEL, RATIO, AnswerModel(1.0, 1.0, 0.0), AnswerModel(0.7, 0.3, 0.2)], ids=repr)
def test_a_long_fit_reaches_what_scipys_solver_reaches(model, penalty):
    terms, X = problem(model, penalty), start()

    def flat(x):
        value, G = objective(*terms, x.reshape(X.shape))
        return value, G.ravel()

    options = {"maxiter": 2000, "ftol": 1e-12, "gtol": 1e-8}
    expected = scipy.optimize.minimize(flat, X.ravel(), jac=True, method="L-BFGS-B", options=options)
    reached = fitting.minimise(*terms, NO_PRIOR, X, 500, 1e-9, GO_ON)
    assert reached == pytest.approx(expected.fun, rel=1e-4)
    _, G = objective(*terms, X)
    assert np.abs(G).max() < 1e-2


@pytest.mark.parametrize(("iterations", "tol", "expected"), [(25, 0.0, 25), (25, 1e9, 10), (7, 1e9, 7), (0, 0.0, 0)])
def test_a_fit_ends_when_ten_iterations_have_lowered_the_objective_by_less_than_the_tolerance(
    iterations, tol, expected, monkeypatch
):
    in_python(monkeypatch, fitting, lbfgs)
    taken, take_step = [], lbfgs._take_step
    monkeypatch.setattr(lbfgs, "_take_step", lambda *arguments: taken.append(1) or take_step(*arguments))
    fitting.minimise(*problem(n=6, size=40), NO_PRIOR, start(6, 2), iterations, tol, GO_ON)
    assert len(taken) == expected


def test_a_fit_that_is_told_to_stop_stops_at_once():
    X = start()
    fitting.minimise(*problem(), NO_PRIOR, X, 100, 0.0, np.ones(1, np.bool_))
    np.testing.assert_array_equal(X, start())


def test_a_fit_stops_if_another_thread_tells_it_to():
    """The answers would keep it busy for many minutes."""
    model, T, lapses, penalty = problem(n=200, size=100_000)
    stop, X = np.zeros(1, np.bool_), start(200, 20)
    thread = threading.Thread(
        target=fitting.minimise, args=(model, T, lapses, penalty, NO_PRIOR, X, 100_000, -1.0, stop)
    )
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive()
    stop[0] = True
    thread.join(60)
    assert not thread.is_alive()


def test_fits_in_threads_give_the_same_bits():
    def fit(seed):
        X = start(seed=seed)
        return fitting.minimise(*problem(), NO_PRIOR, X, 50, 0.0, GO_ON), X.tobytes()

    seeds = list(range(4)) * 3
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fit, seeds)) == [fit(seed) for seed in seeds]


@PENALTY
def test_compiled_and_python_fits_take_the_same_path(penalty, monkeypatch):
    terms, compiled, plain = problem(MODEL, penalty, n=6, size=40), start(6, 2), start(6, 2)
    reached = fitting.minimise(*terms, NO_PRIOR, compiled, 6, 0.0, GO_ON)
    in_python(monkeypatch, fitting, lbfgs)
    assert fitting.minimise(*terms, NO_PRIOR, plain, 6, 0.0, GO_ON) == pytest.approx(reached, rel=1e-9)
    np.testing.assert_allclose(plain, compiled, atol=1e-8)

"""Laws of the batch kernel learner: it reaches the optimum from any start, and the objective never rises."""

import math
import pickle
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

import naive
from erkle import CKL, GNMDS, RCKL, SOE, STE, TSTE, metrics
from erkle.triplets import sample
from parts import LOSSES, SquaredHinge, answers, named, relative

CONVEX = named([STE(), GNMDS()])
# Without SOE: the optimum of a kernel can have distances of 0, where square roots have no derivative.
KERNEL_LOSSES = [*named([STE(), GNMDS(), CKL(), TSTE(), SquaredHinge()])]


def optimum_by_cvxpy(T, n, loss, trace):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cvxpy = pytest.importorskip("cvxpy")
        K = cvxpy.Variable((n, n), PSD=True)
        excess = cvxpy.hstack([K[b, b] - 2 * K[a, b] - K[c, c] + 2 * K[a, c] for a, b, c in T])
        terms = cvxpy.logistic(excess) if isinstance(loss, STE) else cvxpy.pos(loss.margin + excess)
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(terms) + trace * cvxpy.trace(K)))
        problem.solve(solver="CLARABEL")
        return problem.value, K.value


@pytest.mark.parametrize("trace", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("loss", [*CONVEX, *named([GNMDS(margin=3.0)])])
def test_the_optimum_is_that_of_an_independent_solver(loss, trace):
    T = answers(8, 80, flipped=0.1)
    value, K = optimum_by_cvxpy(T.tolist(), 8, loss, trace)
    learner = RCKL(8, loss, trace, max_iter=20_000, tol=1e-10).fit(T)
    assert learner.objective_ == pytest.approx(value, rel=1e-6)
    assert relative(learner.kernel_, K) < 1e-2
    # The default settings come close.
    assert RCKL(8, loss, trace).fit(T).objective_ == pytest.approx(value, rel=2e-4)


@pytest.mark.parametrize("loss", [*KERNEL_LOSSES, *named([SOE()])])
def test_the_objective_never_rises_and_equals_the_naive_sum(loss):
    T = answers(12, 300, flipped=0.2)
    learner = RCKL(12, loss, trace=0.7).fit(T)
    assert np.all(np.diff(learner.objectives_) <= 0.0)
    assert len(learner.objectives_) == learner.n_iter_ + 1
    assert learner.objectives_[-1] == learner.objective_
    value, _ = naive.total(learner.kernel_, T, loss)
    assert learner.objective_ == pytest.approx(value + 0.7 * np.trace(learner.kernel_), rel=1e-10)
    start, _ = naive.total(np.eye(12), T, loss)
    assert learner.objectives_[0] == pytest.approx(start + 0.7 * 11, rel=1e-12)  # centred, the identity has trace 11


@pytest.mark.parametrize("loss", [*LOSSES, *named([SquaredHinge()])])
def test_the_kernel_is_centred_and_positive_semidefinite(loss):
    K = RCKL(10, loss).fit(answers(10, 200, flipped=0.1)).kernel_
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K)
    np.testing.assert_allclose(K.sum(axis=0), 0.0, atol=1e-10 * np.trace(K))


@pytest.mark.parametrize("loss", named([STE(), CKL(), TSTE(), SquaredHinge()]))
def test_the_optimality_conditions_hold(loss):
    """Karush, Kuhn and Tucker: the gradient G is positive semidefinite and orthogonal to K."""
    T = answers(20, 600, flipped=0.1)
    learner = RCKL(20, loss, trace=2.0, tol=1e-12, max_iter=20_000).fit(T)
    _, G = naive.total(learner.kernel_, T, loss)
    G += 2.0 * np.eye(20)
    assert np.linalg.eigvalsh(G)[0] > -1e-3 * np.linalg.norm(G, 2)
    assert abs(np.vdot(G, learner.kernel_)) < 1e-4 * learner.objective_


@pytest.mark.parametrize("loss", named([STE(), GNMDS(), CKL(), TSTE()]))
def test_a_large_trace_gives_a_zero_kernel(loss):
    """K = 0 is optimal if the weight of the trace exceeds the steepest slope."""
    T = answers(9, 200, flipped=0.1)
    steepest = -np.linalg.eigvalsh(naive.total(np.zeros((9, 9)), T, loss)[1])[0]
    if isinstance(loss, CKL | TSTE):  # not convex: a kernel far from 0 may be better
        steepest *= 10.0
    nothing = RCKL(9, loss, trace=1.01 * steepest, tol=1e-12).fit(T)
    assert np.trace(nothing.kernel_) < 1e-6
    something = RCKL(9, loss, trace=0.5 * steepest / (10.0 if isinstance(loss, CKL | TSTE) else 1.0)).fit(T)
    assert np.trace(something.kernel_) > 1e-3


def test_a_larger_weight_of_the_trace_gives_a_smaller_trace_and_rank():
    T = answers(15, 400, flipped=0.2)
    path = RCKL(15, tol=1e-10, max_iter=10_000).fit_path(T, [0.1, 1.0, 4.0, 15.0, 40.0])
    traces = [np.trace(learner.kernel_) for learner in path]
    assert traces == sorted(traces, reverse=True)
    assert metrics.rank(path[3].kernel_, 1e-6) < metrics.rank(path[0].kernel_, 1e-6)


@pytest.mark.parametrize("loss", CONVEX)
def test_every_start_reaches_the_same_optimum(loss):
    T = answers(10, 200, flipped=0.1)
    settings = {"loss": loss, "tol": 1e-10, "max_iter": 20_000}
    cold = RCKL(10, **settings).fit(T)
    X = np.random.default_rng(0).standard_normal((10, 3))
    for start in (np.zeros((10, 10)), 100.0 * X @ X.T, np.ones((10, 10))):
        other = RCKL(10, initial_kernel=start, **settings).fit(T)
        assert other.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    warm = RCKL(10, trace=5.0, warm_start=True, **settings).fit(T[:50]).set_params(trace=1.0).fit(T)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)


def test_a_warm_start_begins_at_the_kernel_of_the_last_fit():
    T = answers(20, 500, flipped=0.1)
    learner = RCKL(20, warm_start=True).fit(T)
    reached, n_iter = learner.objective_, learner.n_iter_
    learner.fit(T)
    assert learner.objectives_[0] == pytest.approx(reached, rel=1e-12)
    assert learner.n_iter_ < n_iter / 2
    learner.set_params(warm_start=False).fit(T)
    assert learner.n_iter_ == n_iter


@pytest.mark.parametrize("loss", CONVEX)
def test_a_path_equals_separate_fits_in_the_order_given(loss):
    T, traces = answers(10, 200, flipped=0.1), [1.0, 0.2, 5.0]
    learner = RCKL(10, loss, tol=1e-9, max_iter=20_000)
    path = learner.fit_path(T, traces)
    assert [fit.trace for fit in path] == traces
    for fit in path:
        alone = clone(learner).set_params(trace=fit.trace).fit(T)
        assert fit.objective_ == pytest.approx(alone.objective_, rel=1e-5)
    assert not learner.__sklearn_is_fitted__()
    assert not path[0].warm_start
    with pytest.raises(ValueError, match=r"^trace is -1;"):
        learner.fit_path(T, [1.0, -1])


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_the_answers_does_not_matter_to_the_last_bit(loss):
    T = answers(10, 200, flipped=0.1)
    shuffled = np.random.default_rng(0).permutation(T)
    np.testing.assert_array_equal(RCKL(10, loss).fit(T).kernel_, RCKL(10, loss).fit(shuffled).kernel_)


def test_renaming_the_objects_permutes_the_kernel():
    T = answers(10, 200, flipped=0.1)
    names = np.random.default_rng(0).permutation(10)
    K = RCKL(10, tol=1e-12, max_iter=5000).fit(T).kernel_
    renamed = RCKL(10, tol=1e-12, max_iter=5000).fit(names[T]).kernel_
    assert relative(renamed[np.ix_(names, names)], K) < 1e-4


def test_a_scaled_margin_scales_the_kernel_of_the_hinge():
    T = answers(10, 200, flipped=0.1)
    one, three = (RCKL(10, GNMDS(margin), tol=1e-10, max_iter=20_000).fit(T) for margin in (1.0, 3.0))
    assert three.objective_ == pytest.approx(3 * one.objective_, rel=1e-6)


def test_questions_with_answers_equal_oriented_triplets():
    T = answers(8, 100)
    yes = np.random.default_rng(0).random(100) < 0.5
    questions = np.where(yes[:, None], T, T[:, [0, 2, 1]])
    plain, asked = RCKL(8).fit(T), RCKL(8).fit(questions, yes)
    np.testing.assert_array_equal(asked.kernel_, plain.kernel_)
    assert asked.score(questions, yes) == plain.score(T)
    np.testing.assert_array_equal(plain.decision_function(T), metrics.decision_values(plain.kernel_, T))
    assert plain.score(T) == 1.0 - metrics.triplet_error(plain.kernel_, T)


def test_the_embedding_reproduces_the_kernel():
    learner = RCKL(8).fit(answers(8, 100))
    X = learner.embedding()
    np.testing.assert_allclose(X @ X.T, learner.kernel_, atol=1e-8)
    np.testing.assert_allclose(learner.embedding(1), X[:, :1])
    assert learner.n_objects_ == 8


def test_it_predicts_new_answers():
    T = answers(30, 6000)
    assert RCKL(30).fit(T[:3000]).score(T[3000:]) > 0.93


def test_scikit_learn_can_clone_pickle_and_search():
    T = answers(10, 300, flipped=0.1)
    learner = RCKL(10, GNMDS(2.0), trace=3.0, initial_kernel=np.eye(10)).fit(T)
    copy = clone(learner)
    assert copy.get_params().keys() == learner.get_params().keys()
    assert not copy.__sklearn_is_fitted__()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).kernel_, learner.kernel_)
    search = GridSearchCV(RCKL(10, tol=1e-5), {"trace": [0.3, 300.0], "loss": [STE(), CKL()]}, cv=3).fit(T)
    assert search.best_params_["trace"] == 0.3
    assert search.best_estimator_.score(T) > 0.7


def test_without_answers_the_trace_alone_decides():
    learner = RCKL(4).fit([])
    np.testing.assert_allclose(learner.kernel_, 0.0, atol=1e-12)
    assert learner.objective_ == pytest.approx(0.0, abs=1e-12)
    free = RCKL(4, trace=0.0).fit(np.empty((0, 3), int))
    np.testing.assert_allclose(free.kernel_, np.eye(4) - 0.25)
    assert free.converged_


def test_without_a_trace_term_separable_answers_are_learned():
    T = answers(6, 60)
    with pytest.warns(ConvergenceWarning, match="max_iter=200"):
        learner = RCKL(6, trace=0.0, max_iter=200).fit(T)
    assert learner.score(T) == 1.0
    assert learner.n_iter_ == 200
    assert not learner.converged_
    assert np.isfinite(learner.kernel_).all()


@pytest.mark.parametrize("loss", CONVEX)
def test_the_callback_is_called_after_every_iteration(loss):
    calls = []
    learner = RCKL(10, loss, callback=lambda i, objective: calls.append((i, objective))).fit(answers(10, 200))
    assert [i for i, _ in calls] == list(range(1, learner.n_iter_ + 1))
    assert [objective for _, objective in calls] == learner.objectives_[1:].tolist()


def test_an_interruption_leaves_the_learner_as_it_was():
    T = answers(10, 200)
    learner = RCKL(10).fit(T[:50])
    K = learner.kernel_.copy()
    with pytest.raises(KeyboardInterrupt):
        learner.set_params(callback=interrupt).fit(T)
    np.testing.assert_array_equal(learner.kernel_, K)
    assert RCKL(10).fit(T).n_iter_ > 3


def interrupt(i, objective):
    if i == 3:
        raise KeyboardInterrupt


def test_reading_an_unfitted_learner_is_an_error():
    for act in ("decision_function", "predict", "score"):
        with pytest.raises(NotFittedError, match=r"RCKL.*fit"):
            getattr(RCKL(4), act)([(0, 1, 2)])
    with pytest.raises(NotFittedError, match=r"RCKL.*fit"):
        _ = RCKL(4).n_objects_


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_objects", [0, 2, 2.5, "5", None, True, math.nan]),
        ("trace", [-1.0, math.nan, math.inf, "1", None, True, 1j]),
        ("max_iter", [0, -1, 10.0, "10", None, True]),
        ("tol", [-1e-3, math.nan, math.inf, "1e-2", None, True]),
        ("callback", [1, "print"]),
    ],
)
def test_an_error_names_the_bad_parameter(parameter, values):
    for value in values:
        learner = RCKL(**{"n_objects": 5, parameter: value})  # __init__ checks nothing
        with pytest.raises(ValueError, match=rf"^{parameter} is .*; pass [^\n]*\.$"):
            learner.fit([(0, 1, 2)])
        assert not learner.__sklearn_is_fitted__()


def test_bad_answers_losses_and_kernels_are_refused():
    with pytest.raises(ValueError, match="object 5"):
        RCKL(5).fit([(0, 1, 5)])
    with pytest.raises(TypeError, match=r"STE\(\)"):
        RCKL(5, STE).fit([(0, 1, 2)])
    with pytest.raises(ValueError, match=r"\(4, 4\).*\(5, 5\)"):
        RCKL(5, initial_kernel=np.eye(4)).fit([(0, 1, 2)])
    with pytest.raises(ValueError, match=r"5 objects.*6.*warm_start"):
        RCKL(5, warm_start=True).fit([(0, 1, 2)]).set_params(n_objects=6).fit([(0, 1, 2)])
    with pytest.raises(ValueError, match="at least one"):
        RCKL(5).fit([(0, 1, 2)]).score([])


class Uncompilable(NamedTuple):
    def value(self, d_near, d_far):
        return eval("0.0")

    def slopes(self, d_near, d_far):
        return 1.0, -1.0


class Infinite(NamedTuple):
    def value(self, d_near, d_far):
        return math.inf

    def slopes(self, d_near, d_far):
        return 1.0, -1.0


def test_an_error_names_a_loss_that_cannot_be_compiled_or_is_infinite():
    with pytest.raises(TypeError, match=r"^Uncompilable\.value or Uncompilable\.slopes"):
        RCKL(5, Uncompilable()).fit([(0, 1, 2)])
    with pytest.raises(FloatingPointError, match="Infinite is inf"):
        RCKL(5, Infinite()).fit([(0, 1, 2)])


@pytest.mark.parametrize("loss", KERNEL_LOSSES)
def test_repeated_and_contradictory_answers_do_no_harm(loss):
    T = np.concatenate([sample(6, 50, 0), sample(6, 50, 0)[:, [0, 2, 1]]])
    learner = RCKL(6, loss).fit(np.concatenate([T, T]))
    assert np.isfinite(learner.objective_)
    if loss in (STE(), GNMDS()):
        # Every answer is contradicted, so a zero kernel is optimal.
        assert np.trace(learner.kernel_) < 1e-3


def test_the_kernel_given_out_is_a_copy():
    learner = RCKL(5).fit(answers(5, 40))
    learner.kernel_matrix()[:] = 0.0
    assert learner.kernel_matrix().any()

"""Laws of the embedding fit: downhill to coordinates that answer the questions, the same ones every time."""

import math
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

import naive
from erkle import GNMDS, RCKL, STE, TripletEmbedding, embedding, metrics
from erkle.triplets import orient, sample
from parts import LOSSES, SquaredHinge, answers, named

ALL = [*LOSSES, *named([SquaredHinge()])]


@pytest.mark.parametrize("loss", ALL)
def test_the_objective_never_rises_and_is_what_it_says(loss):
    T = answers(12, 300, flipped=0.2)
    learner = TripletEmbedding(12, loss=loss, ridge=0.7, random_state=0).fit(T)
    assert np.all(np.diff(learner.objectives_) <= 0.0)
    assert len(learner.objectives_) == learner.n_iter_ + 1
    value, _ = naive.total(learner.kernel_matrix(), T, loss)
    assert learner.objective_ == pytest.approx(value + 0.7 * np.sum(learner.embedding_**2), rel=1e-10)
    assert learner.objective_ == pytest.approx(learner.objectives_[-1], rel=1e-5)
    assert learner.objective_ < 0.999 * learner.objectives_[0]


@pytest.mark.parametrize("loss", named([STE(), GNMDS()]))
def test_with_all_components_it_is_the_optimal_kernel(loss):
    """Of as many columns as objects the factor has no optimum that the convex problem does not have."""
    T = answers(10, 200, flipped=0.1)
    convex = RCKL(10, loss, trace=1.5, tol=1e-10, max_iter=20_000).fit(T)
    factor = TripletEmbedding(10, 10, loss, ridge=1.5, tol=1e-9, max_iter=20_000, random_state=0).fit(T)
    assert factor.objective_ == pytest.approx(convex.objective_, rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_enough_answers_give_the_map_back(loss):
    X = np.random.default_rng(0).standard_normal((30, 2))
    T = sample(30, 8000, 0)
    a, b, c = X[T.T]
    T = orient(T, ((a - b) ** 2).sum(1) < ((a - c) ** 2).sum(1))
    learner = TripletEmbedding(30, 2, loss, ridge=0.1, random_state=0).fit(T[:4000])
    assert learner.score(T[4000:]) > 0.93
    assert metrics.procrustes_disparity(learner.embedding_, X) < 0.05


@pytest.mark.parametrize("loss", LOSSES)
def test_a_seed_makes_it_repeatable_and_the_order_of_answers_does_not_matter(loss):
    T = answers(10, 200, flipped=0.1)
    shuffled = np.random.default_rng(0).permutation(T)
    fits = [TripletEmbedding(10, loss=loss, random_state=4).fit(given).embedding_ for given in (T, T, shuffled)]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])


def test_of_several_starts_the_best_is_kept():
    T, settings = answers(25, 300, flipped=0.2), {"n_objects": 25, "n_components": 2, "ridge": 0.01}
    rng = np.random.default_rng(0)
    starts = [TripletEmbedding(**settings, random_state=rng).fit(T).objective_ for _ in range(5)]
    assert max(starts) > min(starts) + 1e-3
    assert TripletEmbedding(**settings, n_init=5, random_state=0).fit(T).objective_ == min(starts)


def test_coordinates_are_centred_and_ordered_by_variance():
    learner = TripletEmbedding(20, 3, random_state=0).fit(answers(20, 400))
    X = learner.embedding_
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-10)
    variances = X.var(axis=0)
    assert variances.tolist() == sorted(variances, reverse=True)
    np.testing.assert_allclose(X, embedding.embed(learner.kernel_matrix(), 3), atol=1e-6)
    np.testing.assert_array_equal(learner.embedding(2), X[:, :2])
    np.testing.assert_array_equal(learner.embedding(5)[:, 3:], 0.0)


def test_more_components_than_objects_are_possible():
    learner = TripletEmbedding(4, 6, random_state=0).fit([(0, 1, 2), (3, 2, 1)])
    assert learner.embedding_.shape == (4, 6)
    assert learner.score([(0, 1, 2), (3, 2, 1)]) == 1.0


def test_predictions_follow_from_the_kernel():
    T = answers(10, 300, flipped=0.1)
    learner = TripletEmbedding(10, random_state=0).fit(T[:200])
    np.testing.assert_allclose(
        learner.decision_function(T), metrics.decision_values(learner.kernel_matrix(), T), rtol=1e-9, atol=1e-9
    )
    assert learner.score(T) == 1.0 - metrics.triplet_error(learner.kernel_matrix(), T)
    yes = np.random.default_rng(0).random(300) < 0.5
    questions = np.where(yes[:, None], T, T[:, [0, 2, 1]])
    assert learner.score(questions, yes) == learner.score(T)
    asked = TripletEmbedding(10, random_state=0).fit(questions[:200], yes[:200])
    np.testing.assert_array_equal(asked.embedding_, learner.embedding_)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_goes_on_from_where_it_was(loss):
    T = answers(20, 500, flipped=0.1)
    learner = TripletEmbedding(20, loss=loss, warm_start=True, random_state=0).fit(T[:450])
    before = learner.objective_
    learner.fit(T[:450])
    assert learner.objective_ <= before * (1 + 1e-9)
    assert learner.objectives_[0] == pytest.approx(before, rel=1e-9)
    assert learner.fit(T).score(T) > 0.8


def test_a_start_may_be_given():
    T, X = answers(12, 300), np.random.default_rng(0).standard_normal((12, 2))
    given = TripletEmbedding(12, initial_embedding=X).fit(T)
    np.testing.assert_array_equal(
        given.embedding_, TripletEmbedding(12, initial_embedding=X.tolist()).fit(T).embedding_
    )
    for wrong in (X[:5], X[:, :1]):
        with pytest.raises(ValueError, match=rf"{re.escape(str(wrong.shape))}.*\(12, 2\)"):
            TripletEmbedding(12, initial_embedding=wrong).fit(T)


def test_more_ridge_gives_smaller_maps_and_at_last_nothing():
    T = answers(15, 400, flipped=0.1)
    sizes = [
        np.sum(TripletEmbedding(15, ridge=r, random_state=0).fit(T).embedding_ ** 2) for r in (0.01, 1.0, 5.0, 500.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-6


def test_scikit_learn_can_clone_pickle_and_search():
    T = answers(10, 300, flipped=0.1)
    learner = TripletEmbedding(10, loss=GNMDS(2.0), random_state=0).fit(T)
    assert not clone(learner).__sklearn_is_fitted__()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).embedding_, learner.embedding_)
    search = GridSearchCV(TripletEmbedding(10, random_state=0), {"ridge": [0.3, 300.0], "n_components": [1, 2]}, cv=3)
    assert search.fit(T).best_params_["ridge"] == 0.3


def test_iterations_that_run_out_are_a_warning_with_a_remedy():
    with pytest.warns(ConvergenceWarning, match=r"still falling after max_iter=3 iterations; pass a larger max_iter"):
        learner = TripletEmbedding(12, max_iter=3, random_state=0).fit(answers(12, 300))
    assert learner.n_iter_ == 3
    assert not learner.converged_


@pytest.mark.parametrize("loss", named([STE(), GNMDS()]))
def test_a_callback_hears_of_every_iteration(loss):
    heard = []
    learner = TripletEmbedding(10, loss=loss, callback=lambda *said: heard.append(said), random_state=0)
    learner.fit(answers(10, 200))
    assert [i for i, _ in heard] == list(range(1, learner.n_iter_ + 1))
    assert [objective for _, objective in heard] == learner.objectives_[1:].tolist()


def test_nothing_to_learn_leaves_nothing():
    learner = TripletEmbedding(4, random_state=0).fit([])
    assert learner.objective_ < 1e-6
    assert TripletEmbedding(4, ridge=0.0, random_state=0).fit([]).converged_


def test_what_has_learned_nothing_says_so():
    for act in ("decision_function", "predict", "score"):
        with pytest.raises(NotFittedError, match=r"^This TripletEmbedding has learned nothing yet; call fit first\.$"):
            getattr(TripletEmbedding(4), act)([(0, 1, 2)])
    for look in ("n_objects_",):
        with pytest.raises(NotFittedError, match="has learned nothing yet"):
            getattr(TripletEmbedding(4), look)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_objects", [0, 2, 2.5, "5", None, True]),
        ("n_components", [0, -1, 2.0, "2", None, True]),
        ("ridge", [-1.0, math.nan, math.inf, "1", None, True]),
        ("max_iter", [0, 10.0, None]),
        ("tol", [-1e-3, math.nan, "1e-2", None]),
        ("n_init", [0, 1.0, None]),
        ("callback", [1, "print"]),
    ],
)
def test_a_parameter_that_is_none_is_named(parameter, values):
    for value in values:
        learner = TripletEmbedding(**{"n_objects": 5, parameter: value})
        with pytest.raises(ValueError, match=rf"^{parameter} is .*; pass [^\n]*\.$"):
            learner.fit([(0, 1, 2)])
        assert not learner.__sklearn_is_fitted__()

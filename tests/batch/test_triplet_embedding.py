"""Laws of the embedding fit: the objective never rises, and the coordinates predict and are reproducible."""

import math
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

import naive
from erkle import CKL, GNMDS, RCKL, STE, TSTE, TripletEmbedding, embedding, metrics
from erkle.triplets import orient, sample
from made_up_features import answers as made_up_answers
from made_up_features import points, vectors
from parts import LOSSES, SquaredHinge, answers, named

ALL = [*LOSSES, *named([SquaredHinge()])]


@pytest.mark.parametrize("loss", ALL)
def test_the_objective_never_rises_and_equals_the_naive_sum(loss):
    T = answers(12, 300, flipped=0.2)
    learner = TripletEmbedding(12, loss=loss, ridge=0.7, random_state=0).fit(T)
    assert np.all(np.diff(learner.objectives_) <= 0.0)
    assert len(learner.objectives_) == learner.n_iter_ + 1
    value, _ = naive.total(learner.kernel_matrix(), T, loss)
    assert learner.objective_ == pytest.approx(value + 0.7 * np.sum(learner.embedding_**2), rel=1e-10)
    assert learner.objective_ == pytest.approx(learner.objectives_[-1], rel=1e-5)
    assert learner.objective_ < 0.999 * learner.objectives_[0]


@pytest.mark.parametrize("loss", named([STE(), GNMDS()]))
def test_with_all_components_it_reaches_the_optimal_kernel(loss):
    """With as many components as objects, every local optimum is an optimum of the convex problem."""
    T = answers(10, 200, flipped=0.1)
    convex = RCKL(10, loss, trace=1.5, tol=1e-10, max_iter=20_000).fit(T)
    factor = TripletEmbedding(10, 10, loss, ridge=1.5, tol=1e-9, max_iter=20_000, random_state=0).fit(T)
    assert factor.objective_ == pytest.approx(convex.objective_, rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_enough_answers_recover_the_coordinates(loss):
    X = np.random.default_rng(0).standard_normal((30, 2))
    T = sample(30, 8000, 0)
    a, b, c = X[T.T]
    T = orient(T, ((a - b) ** 2).sum(1) < ((a - c) ** 2).sum(1))
    learner = TripletEmbedding(30, 2, loss, ridge=0.1, random_state=0).fit(T[:4000])
    assert learner.score(T[4000:]) > 0.93
    assert metrics.procrustes_disparity(learner.embedding_, X) < 0.05


@pytest.mark.parametrize("loss", LOSSES)
def test_a_random_state_makes_it_repeatable_and_the_order_of_answers_does_not_matter(loss):
    T = answers(10, 200, flipped=0.1)
    shuffled = np.random.default_rng(0).permutation(T)
    fits = [TripletEmbedding(10, loss=loss, random_state=4).fit(given).embedding_ for given in (T, T, shuffled)]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])


def test_the_best_of_several_starts_is_kept():
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
def test_a_warm_start_begins_at_the_coordinates_of_the_last_fit(loss):
    T = answers(20, 500, flipped=0.1)
    learner = TripletEmbedding(20, loss=loss, warm_start=True, random_state=0).fit(T[:450])
    before = learner.objective_
    learner.fit(T[:450])
    assert learner.objective_ <= before * (1 + 1e-9)
    assert learner.objectives_[0] == pytest.approx(before, rel=1e-9)
    assert learner.fit(T).score(T) > 0.8


def test_a_start_can_be_given():
    T, X = answers(12, 300), np.random.default_rng(0).standard_normal((12, 2))
    given = TripletEmbedding(12, initial_embedding=X).fit(T)
    np.testing.assert_array_equal(
        given.embedding_, TripletEmbedding(12, initial_embedding=X.tolist()).fit(T).embedding_
    )
    for wrong in (X[:5], X[:, :1]):
        with pytest.raises(ValueError, match=rf"{re.escape(str(wrong.shape))}.*\(12, 2\)"):
            TripletEmbedding(12, initial_embedding=wrong).fit(T)


def test_a_larger_ridge_gives_smaller_coordinates_down_to_zero():
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


def test_running_out_of_iterations_is_a_warning():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        learner = TripletEmbedding(12, max_iter=3, random_state=0).fit(answers(12, 300))
    assert learner.n_iter_ == 3
    assert not learner.converged_


@pytest.mark.parametrize("loss", named([STE(), GNMDS()]))
def test_the_callback_is_called_after_every_iteration(loss):
    calls = []
    learner = TripletEmbedding(10, loss=loss, callback=lambda *call: calls.append(call), random_state=0)
    learner.fit(answers(10, 200))
    assert [i for i, _ in calls] == list(range(1, learner.n_iter_ + 1))
    assert [objective for _, objective in calls] == learner.objectives_[1:].tolist()


def test_without_answers_the_ridge_alone_decides():
    learner = TripletEmbedding(4, random_state=0).fit([])
    assert learner.objective_ < 1e-6
    assert TripletEmbedding(4, ridge=0.0, random_state=0).fit([]).converged_


def test_reading_an_unfitted_learner_is_an_error():
    for act in ("decision_function", "predict", "score"):
        with pytest.raises(NotFittedError, match=r"TripletEmbedding.*fit"):
            getattr(TripletEmbedding(4), act)([(0, 1, 2)])
    with pytest.raises(NotFittedError, match=r"TripletEmbedding.*fit"):
        _ = TripletEmbedding(4).n_objects_


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
def test_an_error_names_the_bad_parameter(parameter, values):
    for value in values:
        learner = TripletEmbedding(**{"n_objects": 5, parameter: value})
        with pytest.raises(ValueError, match=rf"^{parameter} is .*; pass [^\n]*\.$"):
            learner.fit([(0, 1, 2)])
        assert not learner.__sklearn_is_fitted__()


def test_the_coordinates_given_out_are_a_copy():
    learner = TripletEmbedding(5, random_state=0).fit(answers(5, 40))
    learner.embedding()[:] = 0.0
    assert learner.embedding().any()


def test_several_starts_and_a_given_start_are_refused():
    with pytest.raises(ValueError, match="n_init is 3"):
        TripletEmbedding(5, n_init=3, initial_embedding=np.eye(5)[:, :2]).fit(answers(5, 40))


# Features.


def test_features_make_an_embedding_of_few_answers_better():
    X = points(30, 2)
    T, test, F = made_up_answers(X, 60), made_up_answers(X, 2000, seed=9), vectors(X)
    plain = TripletEmbedding(30, 2, random_state=0).fit(T)
    helped = TripletEmbedding(30, 2, random_state=0, features=F).fit(T)
    assert 1.0 - helped.score(test) < 0.6 * (1.0 - plain.score(test))
    assert helped.embedding_.shape == (30, 2)


@pytest.mark.parametrize("loss", [STE(), GNMDS(), CKL(), TSTE()], ids=repr)
def test_a_fit_with_features_never_raises_its_objective(loss):
    X = points(12, 2)
    fit = TripletEmbedding(12, 2, loss=loss, random_state=0, features=vectors(X), max_iter=300, tol=1e-4)
    fit.fit(made_up_answers(X, 100))
    assert (np.diff(fit.objectives_) <= 0.0).all()
    assert fit.objectives_[-1] < fit.objectives_[0]


def test_without_answers_an_embedding_is_that_of_the_features():
    X = points(12, 2)
    F = vectors(X, noise=0.0)
    fit = TripletEmbedding(12, 2, random_state=0, features=F).fit([(0, 1, 2)])
    assert fit.score(made_up_answers(X, 500)) > 0.7
    placed = fit.place(F)
    assert np.linalg.norm(placed - fit.embedding_) < 0.2 * np.linalg.norm(fit.embedding_)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ridge": 0.0},
        {"feature_share": 1.0},
        {"feature_share": 0.0},
        {"feature_share": {"colour": 0.5}},
        {"feature_share": "half"},
        {"feature_share": None},
        {"feature_share": np.nan},
        {"feature_share": {}},
        {"feature_share": {"features": "half"}},
    ],
    ids=str,
)
def test_settings_of_features_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"ridge|feature_share"):
        TripletEmbedding(12, 2, features=vectors(points(12)), **wrong).fit([(0, 1, 2)])


def test_an_embedding_without_features_places_nothing():
    with pytest.raises(ValueError, match="needs a fit with features"):
        TripletEmbedding(12, 2, random_state=0).fit([(0, 1, 2)]).place(np.zeros((1, 3)))


def test_what_is_placed_depends_on_the_last_fit_and_not_on_later_parameters():
    F = vectors(points(12))
    fit = TripletEmbedding(12, 2, random_state=0, features=F).fit([(0, 1, 2)])
    placed = fit.place(F)
    np.testing.assert_array_equal(fit.set_params(features=None).place(F), placed)
    fit.fit([(0, 1, 2)]).set_params(features=F)
    with pytest.raises(ValueError, match="needs a fit with features"):
        fit.place(F)

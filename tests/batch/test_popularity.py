"""Laws of popularity: it ignores the anchor, and any split of the answers gives the same counts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from erkle import Popularity
from erkle.triplets import sample
from parts import answers


def test_scores_equal_those_computed_by_hand():
    learner = Popularity(5).fit([(0, 1, 2), (3, 1, 2), (2, 1, 0), (0, 2, 1)])
    np.testing.assert_array_equal(learner.n_near_, [0, 3, 1, 0, 0])
    np.testing.assert_array_equal(learner.n_far_, [1, 1, 2, 0, 0])
    np.testing.assert_allclose(learner.scores_, [-1 / 3, 2 / 6, -1 / 5, 0.0, 0.0])
    np.testing.assert_allclose(learner.decision_function([(4, 1, 2), (0, 3, 4)]), [1 / 3 + 1 / 5, 0.0])
    np.testing.assert_array_equal(learner.predict([(4, 1, 2), (4, 2, 1), (0, 3, 4)]), [True, False, False])
    assert learner.score([(4, 1, 2), (0, 3, 4)]) == 0.5
    assert learner.score([(4, 1, 2), (4, 2, 1)], [True, False]) == 1.0


def test_the_anchor_does_not_matter():
    T = answers(10, 300)
    learner = Popularity(10).fit(T)
    other = Popularity(10).fit([(next(a for a in range(10) if a not in (b, c)), b, c) for _, b, c in T.tolist()])
    np.testing.assert_array_equal(learner.scores_, other.scores_)


@pytest.mark.parametrize("seed", range(3))
def test_any_split_and_any_order_give_the_same_counts(seed):
    rng = np.random.default_rng(seed)
    T = answers(10, 300)
    whole, pieces = Popularity(10).fit(T), Popularity(10)
    for piece in np.array_split(rng.permutation(T), 7):
        pieces.partial_fit(piece)
    np.testing.assert_array_equal(whole.scores_, pieces.scores_)
    pieces.fit(T)
    np.testing.assert_array_equal(whole.scores_, pieces.scores_)


def test_it_predicts_that_objects_in_the_middle_are_near():
    T = answers(40, 6000)
    assert Popularity(40).fit(T[:3000]).score(T[3000:]) > 0.6


def test_scikit_learn_can_clone_pickle_and_validate():
    T = answers(10, 300)
    learner = Popularity(10).fit(T)
    assert not clone(learner).__sklearn_is_fitted__()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).scores_, learner.scores_)
    assert cross_val_score(Popularity(10), T, cv=3).min() > 0.5


def test_bad_parameters_and_answers_are_refused():
    for n in (2, 2.5, "5", None, True):
        with pytest.raises(ValueError, match=rf"^n_objects is {n!r};"):
            Popularity(n).fit([(0, 1, 2)])
    learner = Popularity(5).fit(sample(5, 10, 0))
    before = learner.scores_
    for act in (learner.fit, learner.partial_fit, learner.predict, learner.score):
        with pytest.raises(ValueError, match="object 5"):
            act([(0, 1, 5)])
    np.testing.assert_array_equal(learner.scores_, before)
    with pytest.raises(ValueError, match="at least one"):
        learner.score([])


def test_reading_an_unfitted_learner_is_an_error():
    for act in ("decision_function", "predict", "score"):
        with pytest.raises(NotFittedError, match=r"Popularity.*fit or partial_fit"):
            getattr(Popularity(4), act)([(0, 1, 2)])
    np.testing.assert_array_equal(Popularity(4).fit([]).scores_, 0.0)

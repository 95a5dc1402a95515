"""Strategies read a learner without changing it, and can also choose when nothing is known."""

import numpy as np
import pytest

from erkle import ERKLE, AnswerModel, Dense
from erkle.active import STRATEGIES, Adaptive, InformationGain, Random
from erkle.active.knowledge import NothingKnown
from parts import KERNELS, answers, named, state

N = 8
LEARNERS = [pytest.param(Dense(), id="dense"), *KERNELS]
ALL = named(STRATEGIES.values())


@pytest.mark.parametrize("kernel", LEARNERS)
def test_predicting_and_choosing_do_not_change_a_new_learner(kernel):
    learner = ERKLE(N, kernel=kernel, random_state=np.random.default_rng(0))
    before = vars(learner).copy()
    for strategy in (Adaptive(), Random()):
        assert strategy.choose(learner, 3, 0).shape == (3, 3)
    assert learner.predict_one((0, 1, 2)) is False
    assert vars(learner) == before
    untouched = ERKLE(N, kernel=kernel, random_state=np.random.default_rng(0))
    assert state(learner.fit(answers(N, 60))) == state(untouched.fit(answers(N, 60)))


def test_a_new_learner_predicts_from_its_initial_kernel():
    places = np.array([0.0, 1.0, 5.0, 6.0])
    learner = ERKLE(4, kernel=Dense(initial=np.outer(places, places)))
    assert learner.predict_one((0, 1, 3))
    assert not learner.predict_one((0, 3, 1))


@pytest.mark.parametrize("strategy", ALL)
def test_every_strategy_can_choose_when_nothing_is_known(strategy):
    found = strategy.choose(NothingKnown(N), 5, 0)
    assert found.shape == (5, 3)
    assert len(set(found[:, 0].tolist())) == 5 or isinstance(strategy, Random)


def test_no_knowledge_has_the_same_shapes_as_the_knowledge_of_a_learner():
    nothing, something = NothingKnown(N), ERKLE(N).fit(answers(N, 40))
    ids, Q = np.arange(3), answers(N, 7)
    assert len(nothing.coordinates(ids)) == len(something.coordinates(ids))
    assert nothing.decision_function(Q).shape == something.decision_function(Q).shape
    assert nothing.distances(Q).shape == something.distances(Q).shape
    assert isinstance(nothing.answer_model_, AnswerModel)
    assert isinstance(something.answer_model_, AnswerModel)
    assert nothing.n_anchored_.shape == something.n_anchored_.shape
    assert nothing.n_appearances_.shape == something.n_appearances_.shape
    assert nothing.history_.dtype == something.history_.dtype


def test_information_gain_refuses_a_learner_that_keeps_no_answers():
    learner = ERKLE(N, kernel=Dense()).fit(answers(N, 20))
    assert learner.history_ is None
    with pytest.raises(ValueError, match=r"InformationGain.*LowRank\(\)"):
        InformationGain().choose(learner, 1)

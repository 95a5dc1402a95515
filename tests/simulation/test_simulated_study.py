"""A simulated study is repeatable, and ends when there is nothing left to ask."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from erkle import AnswerModel, triplets
from erkle.active import STRATEGIES, Adaptive, Random
from erkle.simulation.study import simulate
from erkle.simulation.worlds import People, Points

incomplete = pytest.mark.filterwarnings("ignore:zappos85")


@pytest.mark.parametrize(("name", "in_flight"), [("adaptive", 4), ("random", 1)])
def test_the_same_seed_gives_the_same_run(name, in_flight):
    one, again, other = (
        simulate(Points(8, answer_model=AnswerModel(2.0, 0.5, 0.05)), STRATEGIES[name], [20, 40], seed, in_flight)
        for seed in (0, 0, 1)
    )
    assert one.errors == again.errors
    assert one.estimates == pytest.approx(again.estimates, nan_ok=True)
    assert one.errors != other.errors
    assert len(one.waits) == 40
    assert min(one.waits) > 0.0


def test_the_error_falls():
    errors = simulate(Points(10), Adaptive(), [10, 150]).errors
    assert errors[1] < 0.1 < errors[0]


def test_a_run_ends_when_nothing_is_left_to_ask():
    counts = []
    run = simulate(Points(4), Adaptive(), [5, 10, 15, 20], on_answer=counts.append)
    assert run.n_answers == [5, 10]  # four objects have twelve questions
    assert counts == list(range(1, 13))


@incomplete
def test_there_may_be_more_participants_than_questions(shoes, to_learn):
    T = to_learn(0)
    n, n_questions = len(T), len(np.unique(triplets.question_keys(T)))
    run = simulate(People("zappos85", shoes), Adaptive(), [7, n, n + 1], in_flight=n_questions + 3, holdout=0.0)
    assert run.n_answers == [7, n]


@incomplete
def test_a_repeated_question_goes_to_different_participants(shoes, to_learn):
    T = to_learn(0)
    times = np.unique(triplets.question_keys(T), return_counts=True)[1]
    for in_flight, n in ((1, len(times)), (max(times), len(T))):
        counts = []
        simulate(
            People("zappos85", shoes), Adaptive(), [len(T)], in_flight=in_flight, holdout=0.0, on_answer=counts.append
        )
        assert counts[-1] == n


def test_only_random_questions_give_an_estimate_of_the_error():
    assert not np.isnan(simulate(Points(6), Random(), list(range(1, 30)), holdout=0.0).estimates).any()
    assert np.isnan(simulate(Points(6), Adaptive(), [10, 20], holdout=0.0).estimates).all()


@pytest.mark.parametrize(("options", "name"), [({"rate": 0.0}, "rate"), ({"in_flight": 0}, "in_flight")])
def test_a_study_without_participants_is_refused(options, name):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        simulate(Points(6), Random(), [5], **options)


class PointsWithFeatures(NamedTuple):
    """Points, with features for the learner: a function of the points' own seed."""

    points: Points
    features: Callable[[int], np.ndarray]
    title: str = "points with features"

    def record(self):
        return self.points.record()

    def instance(self, seed):
        return self.points.instance(seed)._replace(features={"vectors": self.features(seed)})


def coordinates(seed):
    return np.random.default_rng([seed, 2026]).spawn(3)[0].standard_normal((20, 2))


def test_a_learner_that_knows_the_points_is_right_before_many_answers():
    known, unknown = (
        simulate(world, Random(), [20, 60], seed=1).errors
        for world in (PointsWithFeatures(Points(20), coordinates), Points(20))
    )
    assert known[0] < 0.6 * unknown[0]
    assert known[1] < unknown[1]

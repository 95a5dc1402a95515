"""Worlds answer as their answer model or their data set says, and the same way again for the same seed."""

import json
import math
import shutil
from collections import Counter

import numpy as np
import pytest

from erkle import ERKLE, AnswerModel, triplets
from erkle.active import Adaptive, Asker, Random
from erkle.simulation.worlds import People, Points

# The data set of these tests has fewer answers than the published one, and the loader warns of it.
incomplete = pytest.mark.filterwarnings("ignore:zappos85")


def positions(n_objects, n_components, seed):
    """The points of an instance."""
    return np.random.default_rng([seed, 2026]).spawn(3)[0].standard_normal((n_objects, n_components))


def distances(X, anchor, *others):
    return [float(np.linalg.norm(X[anchor] - X[i])) for i in others]


@pytest.mark.parametrize(
    ("model", "query"),
    [(AnswerModel(0.1), (0, 1, 2)), (AnswerModel(1.0, 0.0), (3, 4, 5)), (AnswerModel(2.0, 0.5, 0.1), (0, 1, 2))],
    ids=repr,
)
def test_points_answer_with_the_probability_of_the_answer_model(model, query):
    instance = Points(6, answer_model=model).instance(1)
    first, second = distances(positions(6, 2, 1), *query)
    share = np.mean([instance.answer(query) for _ in range(2000)])
    assert share == pytest.approx(float(model.probability(first**2, second**2)), abs=0.045)


def test_points_are_always_right_by_default():
    instance, X = Points(8, n_components=3).instance(0), positions(8, 3, 0)
    for query in triplets.sample(8, 200, 0).tolist():
        near, far = distances(X, *query)
        assert instance.answer(tuple(query)) == (near < far)
    assert all(near < far for near, far in (distances(X, *row) for row in instance.test[:500].tolist()))


def test_the_share_of_slips_is_the_one_asked_for():
    noisy, right = Points(8, answer_model=AnswerModel(math.inf, lapse=0.2)).instance(0), Points(8).instance(0)
    queries = [tuple(query) for query in triplets.sample(8, 168, 0).tolist()] * 12
    assert np.mean([noisy.answer(query) != right.answer(query) for query in queries]) == pytest.approx(0.2, abs=0.035)


def test_a_seed_always_draws_the_same_instance():
    one, again, other = (Points(6, answer_model=AnswerModel()).instance(seed) for seed in (0, 0, 1))
    assert np.array_equal(one.test, again.test)
    assert not np.array_equal(one.test, other.test)
    assert [one.answer((0, 1, 2)) for _ in range(50)] == [again.answer((0, 1, 2)) for _ in range(50)]


def test_unsure_people_are_wrong_as_often_as_the_command_line_page_says():
    noisy, right = Points(answer_model=AnswerModel(2.0, 0.5)).instance(0), Points().instance(0)
    queries = [tuple(query) for query in triplets.sample(90, 2000, 0).tolist()]
    assert np.mean([noisy.answer(query) != right.answer(query) for query in queries]) == pytest.approx(1 / 7, abs=0.025)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (AnswerModel(math.inf), "90 points, d = 2"),
        (AnswerModel(math.inf, lapse=0.05), "90 points, d = 2, 5 % slips"),
        (AnswerModel(2.0, 0.5), "90 points, d = 2, sensitivity 2, power 0.5"),
        (AnswerModel(2.0, 0.0, 0.025), "90 points, d = 2, sensitivity 2, power 0, 2.5 % slips"),
    ],
)
def test_the_title_and_the_record_have_the_answer_model(model, words):
    world = Points(answer_model=model)
    assert world.title == words
    numbers = {name: "inf" if value == math.inf else value for name, value in model._asdict().items()}
    assert world.record() == {"name": "points", "n_objects": 90, "n_components": 2, **numbers}
    assert json.loads(json.dumps(world.record(), allow_nan=False)) == world.record()


@pytest.mark.parametrize(
    ("model", "words"),
    [(AnswerModel(0.0), "sensitivity"), (AnswerModel(1.0, 1.1), "power"), (AnswerModel(1.0, 1.0, 0.5), "lapse")],
)
def test_an_impossible_answer_model_is_refused(model, words):
    with pytest.raises(ValueError, match=words):
        Points(answer_model=model).instance(0)


def test_points_that_need_too_much_memory_are_refused_before_they_are_drawn():
    with pytest.raises(ValueError, match=r"90 points.* 10,000,000 dimensions.* 4,807 GB.* 8 GB"):
        Points(90, 10**7).instance(0)


@incomplete
@pytest.mark.parametrize("strategy", [Adaptive(), Random()], ids=str)
def test_people_give_each_of_their_answers_once_and_are_asked_nothing_else(shoes, to_learn, strategy):
    instance = People("zappos85", shoes).instance(3)
    learner = ERKLE(7, random_state=0)
    asker = Asker(instance.questions, strategy, random_state=0)
    given = []
    while found := asker.ask(learner):
        anchor, first, second = found[0].query
        nearer = instance.answer(found[0].query)
        asker.answer(learner, found[0], nearer)
        given.append((anchor, first, second) if nearer else (anchor, second, first))
    assert Counter(given) == Counter(map(tuple, to_learn(3).tolist()))


@incomplete
def test_no_question_of_the_test_can_be_asked(shoes, to_learn):
    instance = People("zappos85", shoes).instance(0)
    listed = {instance.questions.key(row) for row in to_learn(0)}
    assert len(instance.test)
    assert not listed & {instance.questions.key(row) for row in instance.test}


@incomplete
def test_the_record_of_people_depends_on_their_answers_and_not_on_the_folder(shoes, tmp_path):
    moved = shutil.copytree(shoes, tmp_path / "elsewhere")
    record = People("zappos85", shoes).record()
    assert (record["name"], record["n_objects"]) == ("zappos85", 7)
    assert People("zappos85", moved).record() == record
    with (moved / "zappos85" / "triplets.csv").open("a") as file:
        file.write("0,1,2\n")
    assert People("zappos85", moved).record() != record

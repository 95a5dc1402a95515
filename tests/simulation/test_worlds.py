"""Worlds answer as their noise model or their data set says, and the same way again for the same seed."""

import math
import shutil
from collections import Counter

import numpy as np
import pytest

from erkle import ERKLE, triplets
from erkle.active import Adaptive, Asker, Random
from erkle.simulation.worlds import People, Points

# The data set of these tests has fewer answers than the published one, and the loader warns of it.
incomplete = pytest.mark.filterwarnings("ignore:zappos85")


def positions(n_objects, n_components, seed):
    """The points of an instance."""
    return np.random.default_rng([seed, 2026]).spawn(3)[0].standard_normal((n_objects, n_components))


def distances(X, anchor, *others):
    return [float(np.linalg.norm(X[anchor] - X[i])) for i in others]


@pytest.mark.parametrize(("slope", "query"), [(0.0, (0, 1, 2)), (1.0, (3, 4, 5)), (4.0, (0, 1, 2))])
def test_points_answer_with_the_probability_that_the_slope_gives(slope, query):
    instance = Points(6, slope=slope).instance(1)
    near, far = distances(positions(6, 2, 1), *query)
    share = np.mean([instance.answer(query) for _ in range(2000)])
    assert share == pytest.approx(1.0 / (1.0 + math.exp(slope * (near - far))), abs=0.045)


def test_points_are_always_right_by_default():
    instance, X = Points(8, n_components=3).instance(0), positions(8, 3, 0)
    for query in triplets.sample(8, 200, 0).tolist():
        near, far = distances(X, *query)
        assert instance.answer(tuple(query)) == (near < far)
    assert all(near < far for near, far in (distances(X, *row) for row in instance.test[:500].tolist()))


def test_the_share_of_flipped_answers_is_the_one_asked_for():
    noisy, right = Points(8, flipped=0.2).instance(0), Points(8).instance(0)
    queries = [tuple(query) for query in triplets.sample(8, 168, 0).tolist()] * 12
    assert np.mean([noisy.answer(query) != right.answer(query) for query in queries]) == pytest.approx(0.2, abs=0.035)


def test_a_seed_always_draws_the_same_instance():
    one, again, other = (Points(6, slope=1.0).instance(seed) for seed in (0, 0, 1))
    assert np.array_equal(one.test, again.test)
    assert not np.array_equal(one.test, other.test)
    assert [one.answer((0, 1, 2)) for _ in range(50)] == [again.answer((0, 1, 2)) for _ in range(50)]


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

"""Tests of simulated answers: no repeated question, right answers, and the expected share of wrong answers."""

import math
from itertools import combinations

import numpy as np
import pytest

from erkle import AnswerModel, TripletEmbedding, triplets
from erkle.datasets import all_questions, answered, city_answers, flip, make_gaussian


def wrong(T, X):
    a, b, c = X[T.T]
    return np.linalg.norm(a - b, axis=1) > np.linalg.norm(a - c, axis=1)


def test_the_small_data_set_of_the_paper_has_the_right_answer_to_every_question_once():
    T, points = make_gaussian(random_state=0)
    assert T.shape == (485_100, 3)
    assert T.dtype == np.int64
    assert points.shape == (100, 50)
    assert len(np.unique(triplets.question_keys(T, 100))) == len(T)
    assert not wrong(T[::20], points).any()
    assert (points.mean(), points.std()) == pytest.approx((0, 1), abs=0.05)


def test_the_large_data_set_of_the_paper_has_10000_different_questions():
    T, points = make_gaussian(5000, n_answers=10_000, random_state=1)
    assert T.shape == (10_000, 3)
    assert len(np.unique(triplets.question_keys(triplets.check(T, 5000)))) == 10_000
    assert not wrong(T, points).any()
    # Ids are spread evenly over anchors and candidates.
    assert (np.abs(T.mean(axis=0) - 2500) < 100).all()


@pytest.mark.parametrize("n", [3, 4, 5, 8, 11])
def test_all_questions_equal_a_naive_enumeration(n):
    expected = {(a, b, c) for a in range(n) for b, c in combinations(sorted(set(range(n)) - {a}), 2)}
    T = all_questions(n)
    assert len(T) == len(expected) == n * (n - 1) * (n - 2) // 2
    assert set(map(tuple, T.tolist())) == expected
    drawn = make_gaussian(n, 2, random_state=0).triplets
    assert sorted(zip(drawn[:, 0].tolist(), *np.sort(drawn[:, 1:]).T.tolist(), strict=True)) == sorted(expected)


def test_answers_are_in_random_order_and_the_seed_determines_them():
    first, second, other = (make_gaussian(20, 3, random_state=seed) for seed in (3, np.random.default_rng(3), 4))
    np.testing.assert_array_equal(first.triplets, second.triplets)
    np.testing.assert_array_equal(first.points, second.points)
    assert not np.array_equal(first.triplets, other.triplets)
    assert np.mean(np.diff(first.triplets[:, 0]) == 0) < 0.1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_objects": 2}, "at least 3"),
        ({"n_components": 0}, "n_components is 0"),
        ({"n_objects": 4, "n_answers": 13}, "12 questions"),
        ({"n_answers": -1}, "n_answers=-1"),
        ({"n_objects": 5000}, "pass n_answers"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_impossible_arguments_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        make_gaussian(**arguments)


def test_zero_answers_give_an_empty_array():
    assert make_gaussian(n_answers=0).triplets.shape == (0, 3)


MODELS = [
    AnswerModel(0.3),
    AnswerModel(1.0, 0.0),
    AnswerModel(3.0, 0.5, 0.1),
    AnswerModel(0.1, 0.7, 0.4),
    AnswerModel(math.inf, 1.0, 0.2),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_answers_have_the_probability_of_the_answer_model(model):
    X = np.array([[0.0], [1.0], [1.5], [4.0]])
    for b, c in ((1, 2), (2, 3), (1, 3)):
        T = answered(np.tile([0, b, c], (20_000, 1)), X, model, random_state=0)
        likely = 1 / (1 + math.exp(-(u(model, X[c, 0] ** 2) - u(model, X[b, 0] ** 2))))
        assert np.mean(T[:, 1] == b) == pytest.approx(model.lapse + (1 - 2 * model.lapse) * likely, abs=0.01)


def u(model, d):
    """The utility of a squared distance, by the formula."""
    sensitivity = min(model.sensitivity, 1000.0)
    if model.power == 0.0:
        return sensitivity * math.log(1 + d)
    return sensitivity * ((1 + d) ** model.power - 1) / model.power


def test_an_infinite_sensitivity_without_slips_is_always_right_and_needs_no_seed():
    T, X = make_gaussian(15, 3, random_state=0)
    for power in (0.0, 0.5, 1.0):
        np.testing.assert_array_equal(answered(T, X, AnswerModel(math.inf, power)), T)


def test_the_same_seed_gives_the_same_answers():
    T, X = make_gaussian(15, 3, random_state=0)
    one, again, other = (answered(T, X, AnswerModel(1.0, 0.5, 0.1), seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_the_order_of_the_candidates_does_not_change_the_answers():
    T, X = make_gaussian(15, 3, random_state=0)
    np.testing.assert_array_equal(answered(T[:, [0, 2, 1]], X), T)
    np.testing.assert_array_equal(answered(T[:, [0, 2, 1]], X, AnswerModel(1e300), random_state=0), T)


def test_easier_questions_are_answered_wrongly_less_often():
    T, X = make_gaussian(40, 3, random_state=0)
    noisy = answered(T, X, AnswerModel(1.0, power=0.5), random_state=0)
    a, b, c = X[T.T]
    ease = np.linalg.norm(a - c, axis=1) - np.linalg.norm(a - b, axis=1)
    rates = [wrong(noisy[piece], X).mean() for piece in np.array_split(np.argsort(ease), 5)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 0.4
    assert rates[-1] < 0.15


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (AnswerModel(-1.0), "sensitivity=-1.0"),
        (AnswerModel(0.0), "sensitivity=0.0"),
        (AnswerModel(math.nan), "sensitivity=nan"),
        (AnswerModel(1.0, 2.0), "power=2.0.* from 0 to 1"),
        (AnswerModel(math.inf, -0.1), "power=-0.1"),
        (AnswerModel(math.inf, math.nan), "power=nan"),
        (AnswerModel(1.0, 0.5, 0.7), "lapse=0.7.* from 0 to 0.499"),
        (AnswerModel(1.0, 0.5, math.nan), "lapse=nan"),
    ],
    ids=repr,
)
def test_an_impossible_answer_model_is_refused(model, words):
    with pytest.raises(ValueError, match=words):
        answered([[0, 1, 2]], np.eye(3), model)


@pytest.mark.parametrize("model", [2.0, None, AnswerModel], ids=repr)
def test_what_is_no_answer_model_is_refused(model):
    with pytest.raises(TypeError, match="answer model"):
        answered([[0, 1, 2]], np.eye(3), model)


def test_points_that_are_not_rows_and_unknown_objects_are_refused():
    with pytest.raises(ValueError, match="shape"):
        answered([[0, 1, 2]], np.zeros(3))
    with pytest.raises(ValueError, match="object 3"):
        answered([[0, 1, 3]], np.eye(3))


@pytest.mark.parametrize("probability", [0.0, 0.2, 0.5, 1.0])
def test_flip_reverses_the_given_share_and_keeps_every_question(probability):
    T, X = make_gaussian(40, 5, random_state=0)
    flipped = flip(T, probability, random_state=1)
    np.testing.assert_array_equal(triplets.question_keys(flipped), triplets.question_keys(T))
    assert wrong(flipped, X).mean() == pytest.approx(probability, abs=0.01)
    np.testing.assert_array_equal(flip(T, probability, random_state=1), flipped)


def test_flip_does_not_change_its_input():
    T = np.array([[0, 1, 2]])
    flip(T, 1.0)
    assert T.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("probability", [-0.1, 1.1, math.nan])
def test_a_probability_outside_0_to_1_is_refused(probability):
    with pytest.raises(ValueError, match="probability"):
        flip([[0, 1, 2]], probability)


DRAWN = {
    "make_gaussian": lambda seed: make_gaussian(5, 2, 9, random_state=seed),
    "answered": lambda seed: answered([(0, 1, 2)], np.eye(3), AnswerModel(), random_state=seed),
    "flip": lambda seed: flip([(0, 1, 2)], 0.5, random_state=seed),
    "city_answers": lambda seed: city_answers(9, random_state=seed),
    "sample": lambda seed: triplets.sample(5, 9, random_state=seed),
    "TripletEmbedding": lambda seed: TripletEmbedding(5, random_state=seed).fit([(0, 1, 2)]),
}


@pytest.mark.parametrize("seed", ["x", -1, 0.5])
@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_an_invalid_seed_is_refused(draw, seed):
    with pytest.raises(ValueError, match=f"^random_state is {seed!r}"):
        draw(seed)

"""The information of an answer, compared with integrals, finite differences and the plain formula."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import naive
from erkle import AnswerModel
from erkle.active.information import anchor_information, information, logit_gradients, variances
from parts import ANSWER_MODELS

MODEL = AnswerModel(0.7, 0.4, 0.1)


def entropy(p):
    """Bits of one answer."""
    return (scipy.special.entr(p) + scipy.special.entr(1.0 - p)) / math.log(2)


def integrated(logit, variance):
    """The entropy of the answer, minus the entropy that remains if the logit is known."""

    def mean(f):
        span = (logit - 12.0 * math.sqrt(variance), logit + 12.0 * math.sqrt(variance))
        density = scipy.stats.norm(logit, math.sqrt(variance)).pdf
        return scipy.integrate.quad(lambda x: f(scipy.special.expit(x)) * density(x), *span, points=[0.0], limit=200)[0]

    return entropy(mean(lambda p: p)) - mean(entropy)


@pytest.mark.parametrize("logit", [0.0, 0.3, 2.0, -4.0, 9.0, 30.0])
def test_information_is_close_to_the_integral(logit):
    for variance in (1e-4, 0.1, 1.0, 5.0, 25.0, 100.0, 1e4):
        [bits] = information(np.array([logit]), np.array([variance]))
        assert bits == pytest.approx(integrated(logit, variance), abs=min(0.036, 0.024 * variance)), variance


@given(st.floats(-1e3, 1e3), st.floats(0, 1e6))
def test_information_is_from_0_to_1_and_does_not_depend_on_the_order_of_the_candidates(logit, variance):
    one, other = information(np.array([logit, -logit]), np.full(2, variance))
    assert 0.0 <= one <= 1.0
    assert one == pytest.approx(other, abs=1e-12)


def test_a_known_logit_gives_no_information():
    assert information(np.array([0.0, 1.0, 4.0, -9.0, 800.0]), np.zeros(5)).tolist() == [0.0] * 5


def test_the_information_of_an_even_question_grows_with_the_variance():
    bits = information(np.zeros(60), np.geomspace(1e-6, 1e3, 60))
    assert (np.diff(bits) > 0).all()


def test_for_equal_variances_the_information_falls_with_the_logit():
    for variance in (1e-3, 0.1, 10.0):
        assert (np.diff(information(np.linspace(0.0, 9.0, 30), np.full(30, variance))) < 0).all()


@pytest.mark.parametrize("pending", [0.0, 0.1, 2.0, 30.0])
@pytest.mark.parametrize(("logit", "variance"), [(0.0, 1.0), (1.5, 0.2), (-4.0, 6.0), (9.0, 0.0)])
def test_with_pending_answers_it_is_the_mean_over_their_effects_on_the_logit(logit, variance, pending):
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    moved = logit + math.sqrt(pending) * nodes
    mean = weights @ information(moved, np.full(len(nodes), variance)) / weights.sum()
    [bits] = information(np.array([logit]), np.array([variance]), np.array([pending]))
    assert bits == pytest.approx(mean, abs=1e-9)


def squared_distances(places):
    """d²(anchor, first) and d²(anchor, second)."""
    anchor, first, second = places
    return ((anchor - first) ** 2).sum(axis=-1), ((anchor - second) ** 2).sum(axis=-1)


def gradients_at(places, model=MODEL):
    """The gradients of the logits of questions, (3, m, r), from positions of the same shape."""
    return logit_gradients(*places, *model.rises(*squared_distances(places)))


@pytest.mark.parametrize("model", ANSWER_MODELS)
def test_gradients_are_the_derivatives_of_the_logit_in_the_three_positions(model):
    places = np.random.default_rng(0).normal(size=(3, 1, 4))
    found = gradients_at(places, model)
    for index in np.ndindex(places.shape):
        move = np.zeros_like(places)
        move[index] = 1e-5
        up, down = (model.logit(*squared_distances(at)) for at in (places + move, places - move))
        assert found[index] == pytest.approx((up - down).item() / 2e-5, rel=1e-5, abs=1e-8)


def test_variances_are_a_constant_times_those_of_small_moves():
    rng, axes = np.random.default_rng(0), np.array([3.0, 1.0, 0.5, 0.0])
    factors = []
    for asked in ([0.0, 4.0, 30.0], [1.0, 1.0, 1.0], [100.0, 0.0, 2.0]):
        gradients = gradients_at(rng.normal(size=(3, 1, 4)))
        [found] = variances(gradients, axes, np.array([asked]))
        spread = axes / (1.0 + np.array(asked)[:, None] * axes / axes.sum())
        factors.append(found / np.sum(gradients[:, 0] ** 2 * spread))
    assert factors == pytest.approx([factors[0]] * 3, rel=1e-9)
    assert factors[0] >= 1.0


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), st.integers(0, 2))
def test_more_answers_reduce_the_variance(asked, which):
    gradients, more = gradients_at(np.random.default_rng(1).normal(size=(3, 1, 2))), np.array(asked)
    more[which] += 1
    before, after = (variances(gradients, np.array([2.0, 1.0]), np.array([counts], float)) for counts in (asked, more))
    assert 0.0 < after < before


def test_the_variance_is_0_if_all_objects_have_the_same_position():
    assert variances(gradients_at(np.zeros((3, 5, 2))), np.zeros(2), np.ones((5, 3))).tolist() == [0.0] * 5


def naive_anchor_information(places, answered, pairs, model):
    """Bits of each pair, from the posterior of the positions and the entropies of the answer (Tamuz et al.)."""

    def p_near(place, near, far):
        a, b, c = places[place], places[near], places[far]
        return naive.probability(model, ((a - b) ** 2).sum(), ((a - c) ** 2).sum())

    belief = np.array([math.prod(p_near(i, near, far) for near, far in answered) for i in range(len(places))], float)
    belief /= belief.sum()
    bits = []
    for first, second in pairs:
        near = np.array([p_near(i, first, second) for i in range(len(places))])
        bits.append(entropy(belief @ near) - belief @ entropy(near))
    return np.array(bits)


@pytest.mark.parametrize("n_answered", [0, 1, 12])
@pytest.mark.parametrize("model", [AnswerModel(3.0), AnswerModel(0.5), AnswerModel(2.0, 0.0), MODEL], ids=repr)
def test_information_about_an_anchor_follows_the_plain_formula(n_answered, model):
    rng = np.random.default_rng(n_answered)
    places = rng.normal(size=(6, 2))
    pairs = np.array([(b, c) for b in range(6) for c in range(6) if b != c])
    answered = rng.permutation(pairs)[:n_answered]
    found = np.exp2(anchor_information(places, answered, pairs, model))
    np.testing.assert_allclose(found, naive_anchor_information(places, answered, pairs, model), rtol=1e-6)


@pytest.mark.parametrize("n_answered", [100, 1_000, 100_000])
def test_with_little_doubt_the_best_pair_distinguishes_the_two_likeliest_positions(n_answered):
    places = np.array([[0.0], [1.0], [3.0]])
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    near = scipy.special.expit((places[pairs[:, 1]] - places.T) ** 2 - (places[pairs[:, 0]] - places.T) ** 2)
    n_yes, n_no = 7 * n_answered // 10, 3 * n_answered // 10
    answered = np.repeat([[0, 1], [1, 0]], [n_yes, n_no], axis=0)
    # Positions 0 and 1 are by far the likeliest: the information is the probability of 1 times their disagreement.
    likelihoods = n_yes * np.log(near[0]) + n_no * np.log1p(-near[0])
    disagreement = scipy.special.rel_entr(near, near[:, [0]]) + scipy.special.rel_entr(1 - near, 1 - near[:, [0]])
    expected = (likelihoods[1] - likelihoods[0] + np.log(disagreement[:, 1] / math.log(2))) / math.log(2)
    found = anchor_information(places, answered, pairs, AnswerModel())
    np.testing.assert_allclose(found - expected, 0.0, atol=1e-6)

"""Laws of answer models: probabilities follow the formula, agree with the loss, and include the known models."""

import itertools
import math
import re

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from erkle import STE, TSTE, AnswerModel
from erkle.answer_models import RATIO, Lapse, in_words
from erkle.losses import check_loss
from parts import ANSWER_MODELS, assert_is_a_sentence

by_model = pytest.mark.parametrize("model", ANSWER_MODELS)
DISTANCES = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 13)])
NEAR, FAR = (grid.ravel() for grid in np.meshgrid(DISTANCES, DISTANCES))
EXTREMES = [0.0, 5e-324, 1e-20, 1.0, 1e20, 1e99, 1e101, 1e300, math.inf]
few_examples = settings(max_examples=40)
squared_distances = st.floats(0.0, 1e4)


@by_model
def test_the_probability_follows_the_formula(model):
    expected = naive.probability(model, NEAR.astype(np.longdouble), FAR.astype(np.longdouble))
    np.testing.assert_allclose(model.probability(NEAR, FAR), expected.astype(float), rtol=1e-10)


@by_model
@few_examples
@given(d_near=squared_distances, d_far=squared_distances)
def test_the_probability_is_between_the_lapse_and_1_minus_the_lapse_and_of_two_answers_one_is_given(
    model, d_near, d_far
):
    one, other = model.probability([d_near, d_far], [d_far, d_near])
    assert model.lapse <= one <= 1.0 - model.lapse + 1e-15
    assert one + other == pytest.approx(1.0, abs=1e-12)
    assert (one >= 0.5) == (d_near <= d_far) or one == pytest.approx(0.5, abs=1e-9)


@by_model
def test_the_value_of_the_loss_is_minus_the_logarithm_of_the_probability(model):
    found = [model.value(*pair) for pair in zip(NEAR, FAR, strict=True)]
    likely = model.probability(NEAR, FAR)
    np.testing.assert_allclose(np.exp(np.negative(found)), likely, rtol=1e-9, atol=1e-300)


@by_model
def test_the_slopes_of_the_loss_follow_from_the_logit_and_the_rises(model):
    possible = np.abs(model.logit(NEAR, FAR)) < 600.0
    d_near, d_far = NEAR[possible], FAR[possible]
    z, likely = model.logit(d_near, d_far), model.probability(d_near, d_far)
    share = (1.0 - 2.0 * model.lapse) * scipy.special.expit(z) * scipy.special.expit(-z) / likely
    rise_near, rise_far = model.rises(d_near, d_far)
    near, far = np.transpose([model.slopes(*pair) for pair in zip(d_near, d_far, strict=True)])
    np.testing.assert_allclose(near, share * rise_near, rtol=1e-9)
    np.testing.assert_allclose(far, -share * rise_far, rtol=1e-9)


@by_model
def test_the_rises_are_the_derivatives_of_the_logit(model):
    near, far = (d[(NEAR > 0.0) & (FAR > 0.0)] for d in (NEAR, FAR))
    step = 1e-4 * np.minimum(near, far)
    rise_near, rise_far = model.rises(near, far)
    by_near = (model.logit(near - step, far) - model.logit(near + step, far)) / (2.0 * step)
    by_far = (model.logit(near, far + step) - model.logit(near, far - step)) / (2.0 * step)
    rounding = 1e-14 * np.abs(model.logit(near, far)) / step
    assert (np.abs(by_near - rise_near) <= 1e-6 * rise_near + rounding + 1e-9).all()
    assert (np.abs(by_far - rise_far) <= 1e-6 * rise_far + rounding + 1e-9).all()


@by_model
def test_the_logit_has_opposite_signs_for_the_two_answers_and_is_0_for_equal_distances(model):
    np.testing.assert_allclose(model.logit(NEAR, FAR), -model.logit(FAR, NEAR), rtol=1e-9)
    assert not model.logit(DISTANCES, DISTANCES).any()


@by_model
def test_extreme_distances_give_finite_numbers(model):
    near, far = (grid.ravel() for grid in np.meshgrid(EXTREMES, EXTREMES))
    with np.errstate(over="raise", invalid="raise"):
        likely, logits, rises = model.probability(near, far), model.logit(near, far), model.rises(near, far)
    assert np.isfinite(likely).all()
    assert np.isfinite(logits).all()
    assert np.isfinite(rises).all()
    assert (likely >= model.lapse).all()
    for pair in zip(near, far, strict=True):
        assert 0.0 <= model.value(*pair) < math.inf


@by_model
def test_a_distance_that_rounding_made_negative_counts_as_0(model):
    assert model.probability(-1e-12, 2.0) == model.probability(0.0, 2.0)
    assert [rise[0] for rise in model.rises([-1e-12], [2.0])] == [rise[0] for rise in model.rises([0.0], [2.0])]


def test_arrays_are_broadcast_and_a_pair_of_numbers_gives_a_number():
    model = AnswerModel(2.0, 0.5, 0.05)
    assert model.probability(np.ones((3, 1)), [1.0, 2.0]).shape == (3, 2)
    assert model.probability(1, 2).shape == ()
    assert model.probability([], []).shape == (0,)


# Known models.


@given(d_near=squared_distances, d_far=squared_distances)
def test_with_the_default_values_it_equals_ste(d_near, d_far):
    model = AnswerModel()
    assert model.value(d_near, d_far) == pytest.approx(STE().value(d_near, d_far), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(model.slopes(d_near, d_far), STE().slopes(d_near, d_far), rtol=1e-9, atol=1e-12)


@given(d_near=squared_distances, d_far=squared_distances)
def test_the_ratio_model_equals_tste_with_three_degrees_of_freedom_on_a_map_of_another_scale(d_near, d_far):
    assert AnswerModel(2.0, 0.0) == RATIO
    tste, scaled = TSTE(3.0), (3.0 * d_near, 3.0 * d_far)
    assert RATIO.value(d_near, d_far) == pytest.approx(tste.value(*scaled), rel=1e-9, abs=1e-15)
    np.testing.assert_allclose(RATIO.slopes(d_near, d_far), np.multiply(3.0, tste.slopes(*scaled)), rtol=1e-9)


@pytest.mark.parametrize("lapse", [0.0, 0.2])
def test_the_model_is_continuous_in_the_power_at_0(lapse):
    ratios = AnswerModel(2.0, 0.0, lapse).logit(NEAR, FAR)
    for power in (1e-13, 9e-13, 1.1e-12, 1e-9, 1e-6):
        found = AnswerModel(2.0, power, lapse)
        # The logarithm of a distance is at most 7, so the logit changes by at most about 7 · power of itself.
        np.testing.assert_allclose(found.logit(NEAR, FAR), ratios, rtol=10.0 * power + 1e-12)
        by_value = [found.value(*pair) for pair in zip(NEAR, FAR, strict=True)]
        expected = [AnswerModel(2.0, 0.0, lapse).value(*pair) for pair in zip(NEAR, FAR, strict=True)]
        np.testing.assert_allclose(by_value, expected, rtol=100.0 * power + 1e-12, atol=1e-15)


def test_a_larger_lapse_moves_every_probability_towards_one_half():
    likely = [AnswerModel(2.0, 0.5, lapse).probability(NEAR, FAR) for lapse in (0.0, 0.1, 0.3, 0.499)]
    for less, more in itertools.pairwise(likely):
        assert (np.abs(more - 0.5) <= np.abs(less - 0.5)).all()
    np.testing.assert_allclose(likely[-1], 0.5, atol=1e-3)


# Fields.


@pytest.mark.parametrize("name", ["power", "lapse"])
@pytest.mark.parametrize("field", [-0.1, 1.1, math.nan, math.inf, True, "1", None, 1j])
def test_a_power_or_a_lapse_outside_its_range_is_refused_in_a_sentence(name, field):
    with pytest.raises(ValueError, match=rf"^AnswerModel has {name}={re.escape(repr(field))}; .* from 0 to") as caught:
        check_loss(AnswerModel(**{name: field}))
    assert_is_a_sentence(caught)


@pytest.mark.parametrize("fields", [{"power": 0}, {"power": 1}, {"lapse": 0}, {"lapse": 0.499}, {"sensitivity": 1e-9}])
def test_the_ends_of_the_ranges_are_accepted(fields):
    checked = check_loss(AnswerModel(**fields))
    assert all(type(field) is float for field in checked)
    assert checked == AnswerModel(**fields)


def test_a_lapse_of_one_half_would_make_all_answers_equal_and_is_refused():
    with pytest.raises(ValueError, match=r"lapse=0\.5; pass a number from 0 to 0\.499"):
        check_loss(AnswerModel(lapse=0.5))


# Words.


@pytest.mark.parametrize(
    ("power", "compared"),
    [
        (0.0, "ratios of distances"),
        (0.24, "ratios of distances"),
        (0.26, "distances"),
        (0.74, "distances"),
        (0.76, "squared distances"),
        (1.0, "squared distances"),
    ],
)
def test_the_power_says_what_people_compare(power, compared):
    words = str(AnswerModel(2.0, power, 0.041))
    assert re.match(rf"People seem to compare {compared} \(power {power:.1f}\);", words)
    assert words.endswith("about 4 % of answers are slips.")


def test_the_lapse_is_said_with_its_interval_and_a_tiny_one_without_a_number():
    assert str(Lapse(0.1, 0.08, 0.127)) == "about 10 % of answers are slips (8 to 13 %)"
    assert str(Lapse(0.004, 0.0, 0.012)) == "hardly any answers are slips (0 to 1 %)"
    sentence = in_words(AnswerModel(2.0, 0.5, 0.3), Lapse(0.1, 0.08, 0.12))
    # The interval belongs to the lapse that is passed, which may be newer than the model's.
    assert sentence.endswith("about 10 % of answers are slips (8 to 12 %).")
    assert sentence.startswith("People seem to compare distances (power 0.5);")

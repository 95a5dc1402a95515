"""Laws of steps: their formulas, and the margin after a passive-aggressive step."""

import math
import pickle
import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from erkle import Constant, Inverse, InverseSqrt, PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII, steps
from erkle._compiled.compiling import compiled_in_memory
from erkle._compiled.overloads import magnitude
from erkle.steps import Step, check_step, margin_of_probability
from parts import LOSSES, STEPS, Cooling, SquaredHinge, named

DIRECTIONS = {"canonical": 10.0, "gradient": 6.0}
# For laws that run for every loss or step.
few_examples = settings(max_examples=40)
numbers = st.integers(1, 10**9)
excesses = st.floats(-50.0, 50.0)
slopes = st.floats(0.0, 10.0)
falls = st.sampled_from([6.0, 10.0])


@given(j=numbers, excess=excesses, slope=slopes, fall=falls)
def test_schedules_multiply_rate_and_slope_and_depend_on_the_number_of_the_answer(j, excess, slope, fall):
    assert Constant(0.7).magnitude(j, excess, slope, fall) == 0.7 * slope
    assert Inverse(0.7).magnitude(j, excess, slope, fall) == pytest.approx(0.7 * slope / j)
    assert InverseSqrt(0.7).magnitude(j, excess, slope, fall) == pytest.approx(0.7 * slope / j**0.5)
    later = InverseSqrt(0.7, after=40.0).magnitude(j, excess, slope, fall)
    assert later == pytest.approx(0.7 * slope / (1.0 + (j - 1) / 40.0) ** 0.5)


@given(j=numbers, excess=excesses, slope=slopes, fall=falls, margin=st.floats(0.01, 10.0), C=st.floats(1e-3, 10.0))
def test_the_passive_aggressive_steps_follow_crammer(j, excess, slope, fall, margin, C):
    violation = max(0.0, excess + margin)
    assert PassiveAggressive(margin).magnitude(j, excess, slope, fall) == pytest.approx(violation / fall)
    first = PassiveAggressiveI(margin, C).magnitude(j, excess, slope, fall)
    assert first == pytest.approx(min(C, violation / fall))
    assert first <= C
    second = PassiveAggressiveII(margin, C).magnitude(j, excess, slope, fall)
    assert second == pytest.approx(violation / (fall + 1 / (2 * C)))
    assert second <= violation / fall


@pytest.mark.parametrize("step", [*STEPS, *named([Cooling()])])
@few_examples
@given(j=numbers, excess=excesses, slope=slopes, fall=falls)
def test_no_step_is_negative(step, j, excess, slope, fall):
    assert 0.0 <= step.magnitude(j, excess, slope, fall) < math.inf


@pytest.mark.parametrize("step", STEPS)
@few_examples
@given(j=numbers, excess=excesses, slope=slopes, fall=falls)
def test_compiled_magnitudes_equal_those_in_python(step, j, excess, slope, fall):
    expected = step.magnitude(j, excess, slope, fall)
    np.testing.assert_allclose(compiled_magnitude(step, j, excess, slope, fall), expected, rtol=1e-14, atol=1e-300)


@compiled_in_memory
def compiled_magnitude(step, j, excess, slope, fall):
    return magnitude(step, j, excess, slope, fall)


def random_kernel(seed, n=7):
    X = np.random.default_rng(seed).normal(size=(n, n))
    return X @ X.T


def excess_of(K, a, b, c):
    return naive.distance(K, a, b) - naive.distance(K, a, c)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("loss", [*LOSSES, *named([SquaredHinge()])])
@few_examples
@given(seed=st.integers(0, 10**6), margin=st.floats(0.01, 10.0))
def test_a_passive_aggressive_move_leaves_the_answer_at_its_margin(loss, direction, seed, margin):
    K = random_kernel(seed)
    a, b, c = np.random.default_rng(seed).permutation(len(K))[:3]
    x, fall = excess_of(K, a, b, c), DIRECTIONS[direction]
    near, far = loss.slopes(naive.distance(K, a, b), naive.distance(K, a, c))
    gamma = PassiveAggressive(margin).magnitude(1, x, 0.5 * (near - far), fall)
    D = naive.direction(len(K), a, b, c, near, far, direction)
    assert excess_of(K - gamma * D, a, b, c) == pytest.approx(min(x, -margin), abs=1e-11 * (1 + abs(x) + margin))


@pytest.mark.parametrize("direction", DIRECTIONS)
@few_examples
@given(near=st.floats(0.0, 10.0), far=st.floats(-10.0, 0.0))
def test_a_move_makes_at_most_one_eigenvalue_of_a_kernel_negative(direction, near, far):
    D = naive.direction(5, 3, 0, 2, near, far, direction)
    values = np.linalg.eigvalsh(-D)
    assert np.count_nonzero(values < -1e-12) <= 1
    assert excess_of(D, 3, 0, 2) == pytest.approx(DIRECTIONS[direction])


def test_the_directions_are_the_matrices_of_the_paper_and_of_the_gradient():
    canonical = naive.direction(3, 0, 1, 2, 1, -1, "canonical")
    np.testing.assert_allclose(canonical, [[0, -2, 2], [-2, 1, 0], [2, 0, -1]])
    gradient = naive.direction(3, 0, 1, 2, 1, -1, "gradient")
    np.testing.assert_allclose(gradient, [[0, -1, 1], [-1, 1, 0], [1, 0, -1]])
    np.testing.assert_allclose(np.linalg.eigvalsh(canonical), [-3, 0, 3], atol=1e-14)
    np.testing.assert_allclose(np.linalg.eigvalsh(gradient), [-(3**0.5), 0, 3**0.5], atol=1e-14)


def test_the_margin_of_a_probability_is_its_log_odds():
    assert margin_of_probability(math.e / (1 + math.e)) == pytest.approx(1.0, rel=1e-14)
    assert margin_of_probability(0.9) == pytest.approx(math.log(9.0), rel=1e-14)
    assert margin_of_probability(np.nextafter(1.0, 0.0)) < math.inf


@given(probability=st.floats(0.5, 1.0, exclude_min=True, exclude_max=True))
def test_a_step_to_the_margin_of_a_probability_gives_that_probability(probability):
    margin = margin_of_probability(probability)
    assert margin > 0.0
    assert 1 / (1 + math.exp(-margin)) == pytest.approx(probability, rel=1e-12)


@pytest.mark.parametrize("probability", [0.5, 1.0, 0.0, 0.3, 1.2, -1.0, math.nan, math.inf])
def test_a_probability_without_a_margin_is_refused(probability):
    with pytest.raises(ValueError, match=rf"probability is {probability}; .* 0\.5 and 1"):
        margin_of_probability(probability)


@pytest.mark.parametrize("step", [*STEPS, *named([Cooling()])])
def test_a_step_is_a_value(step):
    assert pickle.loads(pickle.dumps(step)) == step
    assert check_step(step) == step
    assert isinstance(step, Step)


def test_every_public_step_has_a_short_name():
    assert {part.__name__ for part in steps.STEPS.values()} == {type(param.values[0]).__name__ for param in STEPS}


@pytest.mark.parametrize("field", [2, np.int64(2), np.float32(2.0), np.float64(2.0)])
def test_fields_become_floats(field):
    checked = check_step(PassiveAggressiveI(margin=field, C=field))
    assert [type(value) for value in checked] == [float, float]
    assert checked == PassiveAggressiveI(2.0, 2.0)


@pytest.mark.parametrize("kind", [Constant, Inverse, InverseSqrt, PassiveAggressive, PassiveAggressiveI])
@pytest.mark.parametrize("field", [0, -1.0, math.nan, math.inf, True, "1", None])
def test_fields_that_are_not_positive_numbers_are_refused(kind, field):
    with pytest.raises(ValueError, match=rf"^{kind.__name__} has \w+={re.escape(repr(field))};"):
        check_step(kind(field))


@pytest.mark.parametrize("kind", [Constant, PassiveAggressive, Cooling])
def test_a_class_in_place_of_a_step_is_refused(kind):
    name = kind.__name__
    with pytest.raises(TypeError, match=rf"{name}\(\)"):
        check_step(kind)


class WithoutMagnitude(NamedTuple):
    rate: float = 1.0


@pytest.mark.parametrize("step", [None, "pa", 0.1, (0.1,), WithoutMagnitude(), SquaredHinge()])
def test_anything_but_a_named_tuple_with_a_magnitude_is_refused(step):
    with pytest.raises(TypeError, match="magnitude"):
        check_step(step)

"""Laws of losses: slopes are derivatives with the right signs, and all distances give finite numbers."""

import itertools
import math
import pickle
import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import CKL, GNMDS, SOE, STE, TSTE, AnswerModel, Constant, Dense, LowRank, PassiveAggressive, losses
from erkle._compiled.compiling import compiled_in_memory
from erkle._compiled.overloads import slopes, value
from erkle.losses import Loss, RoundedHinge, check_loss
from parts import ANSWER_MODELS, LOSSES, SquaredHinge, named

OTHERS = [GNMDS(margin=0.2), CKL(mu=2.0), TSTE(alpha=7.0), SOE(margin=0.3), RoundedHinge(2.0, 0.5), SquaredHinge()]
WITH_OTHER_FIELDS = [*LOSSES, *named(OTHERS), *ANSWER_MODELS]
# For laws that run for every loss or step.
few_examples = settings(max_examples=40)
distances = st.floats(0.0, 1e4)
extremes = [0.0, 5e-324, 1e-300, 1e-20, 1.0, 1e20, 1e300]


def along(loss, d_near, d_far, step):
    """Central differences of the value in both distances."""
    by_near = (loss.value(d_near + step, d_far) - loss.value(d_near - step, d_far)) / (2 * step)
    by_far = (loss.value(d_near, d_far + step) - loss.value(d_near, d_far - step)) / (2 * step)
    return by_near, by_far


@pytest.mark.parametrize("loss", WITH_OTHER_FIELDS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
def test_slopes_are_the_derivative_of_value(loss, scale):
    rng = np.random.default_rng(0)
    for d_near, d_far in scale * rng.uniform(0.1, 1.0, size=(50, 2)):
        step = 1e-5 * scale
        if isinstance(loss, GNMDS) and abs(loss.margin + d_near - d_far) < 10 * step:
            continue  # the kink of the hinge has no derivative
        expected = along(loss, d_near, d_far, step)
        # The difference may be no larger than the rounding of the value, divided by the step.
        atol = 1e-15 * loss.value(d_near, d_far) / step + 1e-9
        np.testing.assert_allclose(loss.slopes(d_near, d_far), expected, rtol=1e-6, atol=atol)


@pytest.mark.parametrize("loss", WITH_OTHER_FIELDS)
@few_examples
@given(d_near=distances, d_far=distances)
def test_a_loss_never_falls_with_near_or_rises_with_far(loss, d_near, d_far):
    near, far = loss.slopes(d_near, d_far)
    assert near >= 0.0 >= far
    assert loss.value(d_near, d_far) >= 0.0
    assert loss.value(d_near + 1.0, d_far) >= loss.value(d_near, d_far)
    assert loss.value(d_near, d_far + 1.0) <= loss.value(d_near, d_far)


@pytest.mark.parametrize("loss", [*LOSSES, *ANSWER_MODELS])
def test_extreme_distances_give_finite_numbers(loss):
    for d_near, d_far in itertools.product(extremes, extremes):
        near, far = loss.slopes(d_near, d_far)
        assert 0.0 <= near < math.inf
        assert -math.inf < far <= 0.0
        assert 0.0 <= loss.value(d_near, d_far) < math.inf


@pytest.mark.parametrize("loss", [*LOSSES, *ANSWER_MODELS])
@few_examples
@given(d_near=distances, d_far=distances)
def test_compiled_losses_equal_those_in_python(loss, d_near, d_far):
    found, near, far = compiled_loss(loss, d_near, d_far)
    np.testing.assert_allclose((near, far), loss.slopes(d_near, d_far), rtol=1e-11)
    assert found == pytest.approx(loss.value(d_near, d_far), rel=1e-11, abs=1e-15)


@compiled_in_memory
def compiled_loss(loss, d_near, d_far):
    near, far = slopes(loss, d_near, d_far)
    return value(loss, d_near, d_far), near, far


@given(d_near=st.floats(0.0, 300.0), d_far=st.floats(0.0, 300.0))
def test_the_slope_of_ste_is_the_probability_of_the_other_answer(d_near, d_far):
    other = 1.0 / (1.0 + math.exp(d_far - d_near))
    np.testing.assert_allclose(STE().slopes(d_near, d_far), (other, -other), rtol=1e-12)


@pytest.mark.parametrize(("excess", "violated"), [(-1.5, 0.0), (-1.0, 0.0), (-0.999, 1.0), (0.0, 1.0), (3.0, 1.0)])
def test_gnmds_has_a_slope_exactly_if_the_margin_is_violated(excess, violated):
    assert GNMDS().slopes(4.0 + excess, 4.0) == (violated, -violated)


@pytest.mark.parametrize("scale", [0.1, 3.0, 1e6])
def test_ckl_is_scale_invariant(scale):
    scaled = CKL(mu=0.05 * scale).value(0.7 * scale, 1.9 * scale)
    assert scaled == pytest.approx(CKL(mu=0.05).value(0.7, 1.9), rel=1e-12)


def test_tste_is_the_log_probability_under_student_kernels():
    loss, d_near, d_far = TSTE(alpha=3.0), 0.8, 2.5
    near, far = ((1 + d / 3.0) ** -2.0 for d in (d_near, d_far))
    assert loss.value(d_near, d_far) == pytest.approx(-math.log(near / (near + far)), rel=1e-12)


def test_soe_is_the_square_of_a_hinge_of_distances():
    assert SOE(margin=2.0).value(9.0, 16.0) == 1.0
    assert SOE(margin=2.0).slopes(9.0, 16.0) == (1.0 / 3.0, -1.0 / 4.0)
    assert SOE().value(1.0, 4.0) == 0.0
    assert SOE().slopes(0.0, 0.0) == (0.0, 0.0)


@given(x=st.floats(-5.0, 5.0), width=st.floats(0.01, 3.0), multiplier=st.floats(0.0, 1.0))
def test_the_rounded_hinge_is_the_maximum_of_lines_minus_a_penalty(x, width, multiplier):
    rounded, slopes = RoundedHinge(1.0, width), np.linspace(0.0, 1.0, 2001)
    largest = np.max(slopes * x - 0.5 * width * (slopes - multiplier) ** 2)
    shifted = rounded.value(9.0 + x + width * multiplier, 10.0) - 0.5 * width * multiplier**2
    assert shifted == pytest.approx(largest, abs=1e-6)
    assert shifted <= GNMDS(1.0).value(9.0 + x, 10.0) + 1e-12


@pytest.mark.parametrize("loss", WITH_OTHER_FIELDS)
def test_a_loss_is_a_value(loss):
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert check_loss(loss) == loss
    assert isinstance(loss, Loss)
    with pytest.raises(AttributeError):
        loss.margin = 3.0


def test_every_public_loss_has_a_short_name():
    named = {part.__name__ for part in losses.LOSSES.values()}
    assert named == {"STE", "GNMDS", "CKL", "TSTE", "SOE", "AnswerModel"}


@pytest.mark.parametrize("field", [2, np.int64(2), np.float32(2.0), np.float64(2.0)])
def test_fields_become_floats(field):
    (margin,) = check_loss(GNMDS(margin=field))
    assert type(margin) is float
    assert margin == 2.0


@pytest.mark.parametrize("kind", [GNMDS, CKL, TSTE, SOE, RoundedHinge, AnswerModel])
@pytest.mark.parametrize("field", [0, -1.0, math.nan, math.inf, -math.inf, True, np.True_, "1", None, 1j])
def test_fields_that_are_not_positive_numbers_are_refused(kind, field):
    with pytest.raises(ValueError, match=rf"^{kind.__name__} has \w+={re.escape(repr(field))};"):
        check_loss(kind(field))


@pytest.mark.parametrize("kind", [STE, GNMDS, SquaredHinge])
def test_a_class_in_place_of_a_loss_is_refused(kind):
    name = kind.__name__
    with pytest.raises(TypeError, match=rf"{name}\(\)"):
        check_loss(kind)


class WithoutSlopes(NamedTuple):
    margin: float = 1.0

    def value(self, d_near, d_far):
        return 0.0


class NotATuple:
    def value(self, d_near, d_far):
        return 0.0

    def slopes(self, d_near, d_far):
        return 0.0, 0.0


@pytest.mark.parametrize("loss", [None, "ste", 1.0, (1.0, -1.0), WithoutSlopes(), NotATuple()])
def test_anything_but_a_named_tuple_with_both_methods_is_refused(loss):
    with pytest.raises(TypeError, match="value and slopes"):
        check_loss(loss)


def loss_with(function):
    class Own(NamedTuple):
        def value(self, d_near, d_far):
            return 0.0

        def slopes(self, d_near, d_far):
            return function(d_near, d_far)

    return Own()


WRONG_SIGNED = {
    "falls with near": lambda d_near, d_far: (-1.0, 0.0),
    "rises with far": lambda d_near, d_far: (1.0, 1e-9),
    "falls beyond 50": lambda d_near, d_far: (50.0 - d_near, 0.0),
    "nan": lambda d_near, d_far: (math.nan, -1.0),
    "infinite": lambda d_near, d_far: (1.0, -math.inf),
}


@pytest.mark.parametrize("function", WRONG_SIGNED.values(), ids=WRONG_SIGNED)
def test_a_slope_of_the_wrong_sign_is_refused(function):
    with pytest.raises(ValueError, match=r"Own\.slopes\([\d.]+, [\d.]+\) is \(.*\)"):
        check_loss(loss_with(function))


FAILING = {
    "division by zero": lambda d_near, d_far: (1.0 / d_near, -1.0),
    "overflow": lambda d_near, d_far: (math.exp(10.0 * d_near), -1.0),
    "domain": lambda d_near, d_far: (math.log(d_near), -1.0),
    "one number": lambda d_near, d_far: 1.0,
    "three numbers": lambda d_near, d_far: (1.0, 0.0, -1.0),
    "complex": lambda d_near, d_far: (1j, -1.0),
    "nothing": lambda d_near, d_far: None,
}


@pytest.mark.parametrize("function", FAILING.values(), ids=FAILING)
def test_a_loss_that_fails_at_some_distances_is_refused(function):
    with pytest.raises(ValueError, match=r"Own\.slopes\([\d.]+, [\d.]+\) fails \(\w+: "):
        check_loss(loss_with(function))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (GNMDS(), SOE()),
        (GNMDS(), TSTE(1.0)),
        (PassiveAggressive(), Constant(1.0)),
        (STE(), ()),
        (AnswerModel(), (1.0, 1.0, 0.0)),
    ],
)
def test_losses_and_steps_of_different_classes_are_not_equal(first, second):
    assert first != second
    assert not first == second  # noqa: SIM201
    assert len({first, second}) == 2


@pytest.mark.parametrize("value", [GNMDS(2.0), STE(), AnswerModel(), Constant(0.5), LowRank(3), Dense(1e-3)], ids=repr)
def test_equal_values_are_equal_and_hash_alike_also_after_pickling(value):
    copied = pickle.loads(pickle.dumps(value))
    assert copied == value
    assert hash(copied) == hash(value)

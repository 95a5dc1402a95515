"""Laws of the forecast: it is finite or infinite but never NaN, its bounds are ordered, and it recovers a known law."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import ERKLE, Dense
from erkle.active.asker import Asker
from erkle.active.questions import Questions
from erkle.online.error_law import fit
from erkle.online.forecast import LEAST_PER_OBJECT, LEAST_PREDICTED, Forecast, TooEarly, forecast
from erkle.online.record import Curve
from parts import answers, assert_is_a_sentence

TARGETS = st.floats(1e-9, 1.0, exclude_max=True)
# The number of objects, where it does not matter.
N = 3


@st.composite
def curves(draw):
    """Any counts at any times, enough for a forecast."""
    n_bins = draw(st.integers(1, 12))
    n_learned = draw(st.lists(st.floats(LEAST_PER_OBJECT * N, 1e15), min_size=n_bins, max_size=n_bins, unique=True))
    n_answers = draw(st.lists(st.integers(LEAST_PREDICTED, 10**15), min_size=n_bins, max_size=n_bins))
    n_wrong = [draw(st.sampled_from([0, n, draw(st.integers(0, n))])) for n in n_answers]
    return Curve(np.array(sorted(n_learned)), np.array(n_answers), np.array(n_wrong))


def law(m, now, error, left, power):
    """The error after m answers, given the error after ``now`` answers and the error that is left in the end."""
    odds = (error - left) / (0.5 - error) * (m / now) ** -power
    return (left + 0.5 * odds) / (1 + odds)


def objects(n, error, left, power):
    """The number of objects for which the error is halfway down after five answers per object, as usual."""
    return max(3, round(n * ((error - left) / (0.5 - error)) ** (1 / power) / 5))


def drawn(n, rng=None, **parameters):
    """The curve of n answers, drawn or exact."""
    m = np.arange(n)
    errors = law(m + 0.5, n, **parameters)
    if rng is not None:
        return Curve.of(m, rng.random(n) < errors)
    curve = Curve.of(m, np.zeros(n, np.bool_))
    sums = np.diff(np.concatenate([[0.0], np.cumsum(errors)])[np.concatenate([[0], np.cumsum(curve.n_answers)])])
    return curve._replace(n_wrong=np.rint(sums).astype(np.int64))


@settings(max_examples=40)
@given(curves(), TARGETS, TARGETS)
def test_any_counts_give_ordered_numbers_and_a_lower_error_never_needs_fewer_answers(curve, one, other):
    low, high = sorted((one, other))
    hard, easy = forecast(curve, N, target=low), forecast(curve, N, target=high)
    for told in (hard, easy):
        assert not np.isnan(told).any()
        assert 0 < told.error_low <= told.error <= told.error_high < 0.5
        assert 0 <= told.low <= told.more <= told.high
        assert "nan" not in str(told)
    assert hard.low >= easy.low
    assert hard.more >= easy.more
    assert hard.high >= easy.high
    assert forecast(curve, N, target=low) == hard


@pytest.mark.parametrize("n", [30, 31, 10**9])
@pytest.mark.parametrize("wrong", [0.0, 0.3, 1.0])
def test_one_bin_is_enough(n, wrong):
    curve = Curve(np.array([n / 2]), np.array([n]), np.array([int(n * wrong)]))
    assert not np.isnan(forecast(curve, N, target=0.2)).any()
    assert forecast(curve, N, target=0.5).high == 0


def test_it_is_too_early_below_five_answers_per_object_or_without_enough_random_questions():
    n_objects, least = 20, LEAST_PER_OBJECT * 20
    nothing = Curve.of(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    few, enough = (Curve.of(np.arange(n), np.zeros(n, np.bool_)) for n in (LEAST_PREDICTED - 1, LEAST_PREDICTED))
    assert forecast(nothing, n_objects) == TooEarly(0, least, 0, LEAST_PREDICTED)
    assert forecast(nothing, n_objects, 500) == TooEarly(500, least, 0, LEAST_PREDICTED)
    assert forecast(few, n_objects, 500) == TooEarly(500, least, LEAST_PREDICTED - 1, LEAST_PREDICTED)
    assert forecast(enough, n_objects, least - 1) == TooEarly(least - 1, least, LEAST_PREDICTED, LEAST_PREDICTED)
    assert isinstance(forecast(enough, n_objects, least), Forecast)
    assert ERKLE(5, kernel=Dense()).fit(np.zeros((0, 3), np.int64)).answers_needed(0.1) == TooEarly(0, 25, 0, 30)


def test_that_it_is_too_early_is_one_sentence_with_the_numbers_that_are_missing():
    for told, parts in ((TooEarly(80, 100, 8, 30), ["80", "100"]), (TooEarly(200, 100, 8, 30), ["8", "30"])):
        assert all(part in str(told) for part in parts)
        assert str(told).count(".") == 1
        assert told.record() == {"kind": "too-early", "sentence": str(told), **told._asdict()}


def test_a_bad_target_is_refused():
    for target in (0, 1, -0.1, 15, math.nan, True, "0.1"):
        with pytest.raises(ValueError, match=r"target is .*; pass a share"):
            forecast(drawn(100, error=0.3, left=0.1, power=1.0), N, target=target)


def test_without_a_target_the_forecast_is_for_a_tenth_less_than_the_current_error():
    told = forecast(drawn(1000, error=0.3, left=0.1, power=1.0), N)
    assert told.target == pytest.approx(0.9 * told.error)
    assert told == forecast(drawn(1000, error=0.3, left=0.1, power=1.0), N, target=told.target)


@pytest.mark.parametrize("curve", [[1, 2], np.eye(3), (np.ones(1), np.ones(1), np.ones(1)), "curve"], ids=str)
def test_a_bad_curve_is_refused(curve):
    with pytest.raises(TypeError, match=rf"^The curve is of type {type(curve).__name__}; pass the curve_ of") as caught:
        ERKLE(5, kernel=Dense()).fit([(0, 1, 2)]).answers_needed(0.1, curve)
    assert_is_a_sentence(caught)


@pytest.mark.parametrize(("error", "left", "power"), [(0.2, 0.1, 1.0), (0.05, 0.01, 1.0), (0.25, 0.15, 1.3)])
def test_a_curve_that_follows_the_law_is_recovered(error, left, power):
    n = 100_000
    curve = drawn(n, error=error, left=left, power=power)
    told = partial(forecast, curve, objects(n, error, left, power), n)
    twice = told(target=float(law(2 * n, n, error, left, power)))
    assert twice.error == pytest.approx(error, rel=0.1)
    assert twice.low < n < twice.high
    assert n / 2 < twice.more < 2 * n
    assert told(target=1.2 * error).more == 0
    assert told(target=left / 3).more == math.inf


@pytest.mark.parametrize("per_object", [6, 1000])
def test_enough_answers_overrule_what_is_usual_for_the_number_of_objects(per_object):
    n = 100_000
    told = forecast(drawn(n, error=0.2, left=0.1, power=1.0), n // per_object, n, target=0.2 * 1.5)
    assert told.error == pytest.approx(0.2, rel=0.05)
    assert told.high == 0


@settings(max_examples=20)
@given(curves(), TARGETS, st.floats(0.0, 0.499))
def test_any_share_of_slips_gives_ordered_numbers(curve, target, lapse):
    told = forecast(curve, N, lapse=lapse, target=target)
    assert not np.isnan(told).any()
    assert 0 < told.error_low <= told.error <= told.error_high < 0.5
    assert 0 <= told.low <= told.more <= told.high


def test_no_number_of_answers_reduces_the_error_below_the_share_of_slips():
    n, parameters = 10_000, {"error": 0.2, "left": 0.1, "power": 1.0}
    told = partial(forecast, drawn(n, **parameters), objects(n, **parameters), n)
    without, with_slips = (told(lapse, 0.14) for lapse in (0.0, 0.12))
    assert with_slips.more > without.more
    assert with_slips.low > without.low
    # At most nine tenths of the current error can be slips, so a lapse that cannot be true does no harm.
    assert told(0.12, 0.11).more == math.inf
    assert told(0.4, 0.19).high > 0


def test_the_interval_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(100):
        # Parameters from the prior, so that four intervals in five hold the truth.
        n, power, left = int(rng.integers(500, 5000)), 1.1 * np.exp(0.2 * rng.standard_normal()), rng.beta(1, 4) / 2
        per_object = rng.uniform(5, 40)
        excess = (per_object / (4.5 * np.exp(0.4 * rng.standard_t(4)))) ** -power
        error = (left + 0.5 * excess) / (1 + excess)
        told = forecast(drawn(n, rng, error=error, left=left, power=power), round(n / per_object), n)
        growth = (
            math.inf if told.target <= left else (excess * (0.5 - told.target) / (told.target - left)) ** (1 / power)
        )
        held.append((told.low <= n * max(growth - 1, 0) <= told.high, told.error_low <= error <= told.error_high))
    assert (np.mean(held, axis=0) > 0.7).all()


def test_more_answers_make_the_interval_of_the_error_narrower():
    told = [forecast(drawn(n, error=0.2, left=0.1, power=1.0), n // 14, n) for n in (100, 1000, 10_000)]
    widths = [each.error_high - each.error_low for each in told]
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]


def test_an_interval_that_starts_at_zero_or_has_no_end_leaves_out_more_at_the_other_end():
    n = 2000
    curve = drawn(n, error=0.2, left=0.1, power=1.0)
    fitted = fit(curve, n // 14, n, 0.0)
    tried = [forecast(curve, n // 14, n, target=target) for target in np.linspace(0.05, 0.25, 41)]
    for told in tried:
        low, low_alone, high_alone, high = fitted.more(told.target, [0.1, 0.2, 0.8, 0.9])
        assert told.low == (low_alone if high == math.inf else low)
        assert told.high == (high_alone if told.low == 0 else high)
    assert any(told.low == 0 < told.high < math.inf for told in tried)
    assert any(0 < told.low < told.high == math.inf for told in tried)


@pytest.mark.parametrize(
    ("numbers", "parts"),
    [
        ((1234, 912, 2480), ["1,200 more answers", "910 to 2,500", "15.0 %"]),
        ((1234, 912, math.inf), ["1,200 more answers", "at least 910", "15.0 %"]),
        ((1234, 0, math.inf), ["1,200 more answers", "uncertain", "15.0 %"]),
        ((0, 0, 0), ["has reached 15.0 %"]),
        ((0, 0, 88), ["15.0 %", "probably", "0 to 88 more answers"]),
        ((math.inf, 912, math.inf), ["15.0 %", "out of reach", "910 more answers"]),
        ((math.inf, math.inf, math.inf), ["15.0 %", "out of reach"]),
    ],
)
def test_a_forecast_is_a_sentence(numbers, parts):
    told = str(Forecast(0.15, 0.173, 0.161, 0.186, *numbers))
    assert all(part in told for part in parts)
    assert told.endswith("17.3 % (16.1 to 18.6 %).")


def test_a_learner_forecasts_from_its_own_curve_or_from_that_of_an_asker():
    learner = ERKLE(12, random_state=0)
    asker = Asker(Questions(12, times=None), holdout=0.5, random_state=0)
    X = np.random.default_rng(0).standard_normal((12, 2))
    for _ in range(150):
        [asked] = asker.ask(learner)
        a, b, c = X[list(asked.query)]
        asker.answer(learner, asked, bool(np.linalg.norm(a - b) < np.linalg.norm(a - c)))
    lapse = learner.lapse_.low
    assert learner.answers_needed(0.1) == forecast(learner.curve_, 12, 150, lapse, 0.1)
    assert learner.answers_needed(0.1, asker.curve) == forecast(asker.curve, 12, 150, lapse, 0.1)
    assert learner.answers_needed(0.1, asker.curve) != learner.answers_needed(0.1)


def test_a_loaded_learner_forecasts_the_same(tmp_path):
    learner = ERKLE(8, kernel=Dense()).fit(answers(8, 300, flipped=0.1))
    learner.save(tmp_path / "learner.npz")
    assert ERKLE.load(tmp_path / "learner.npz").answers_needed(0.2) == learner.answers_needed(0.2)

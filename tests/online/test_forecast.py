"""Laws of the forecast: it is finite or infinite but never NaN, its bounds are ordered, and it recovers a known law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import ERKLE, Dense
from erkle.active.asker import Asker
from erkle.active.questions import Questions
from erkle.online.forecast import Forecast, forecast
from erkle.online.record import Curve
from parts import answers, assert_is_a_sentence

TARGETS = st.floats(1e-9, 1.0, exclude_max=True)


@st.composite
def curves(draw):
    """Any counts at any times."""
    n_bins = draw(st.integers(1, 12))
    n_learned = draw(st.lists(st.floats(0, 1e15), min_size=n_bins, max_size=n_bins, unique=True))
    n_answers = draw(st.lists(st.integers(1, 10**15), min_size=n_bins, max_size=n_bins))
    n_wrong = [draw(st.sampled_from([0, n, draw(st.integers(0, n))])) for n in n_answers]
    return Curve(np.array(sorted(n_learned)), np.array(n_answers), np.array(n_wrong))


def law(m, now, error, left, power):
    """The error after m answers, given the error after ``now`` answers and the error that is left in the end."""
    odds = (error - left) / (0.5 - error) * (m / now) ** -power
    return (left + 0.5 * odds) / (1 + odds)


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
    hard, easy = forecast(curve, low), forecast(curve, high)
    for told in (hard, easy):
        assert not np.isnan(told).any()
        assert 0 < told.error_low <= told.error <= told.error_high < 0.5
        assert 0 <= told.low <= told.more <= told.high
        assert "nan" not in str(told)
    assert hard.low >= easy.low
    assert hard.more >= easy.more
    assert hard.high >= easy.high
    assert forecast(curve, low) == hard


@pytest.mark.parametrize("n", [1, 2, 30, 10**9])
@pytest.mark.parametrize("wrong", [0.0, 0.3, 1.0])
def test_one_bin_is_enough(n, wrong):
    curve = Curve(np.array([n / 2]), np.array([n]), np.array([int(n * wrong)]))
    assert not np.isnan(forecast(curve, 0.2)).any()
    assert forecast(curve, 0.5).high == 0


def test_a_forecast_without_answers_or_with_a_bad_target_is_refused():
    nothing = Curve.of(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    with pytest.raises(ValueError, match="learn some answers"):
        forecast(nothing, 0.1)
    with pytest.raises(ValueError, match="learn some answers"):
        ERKLE(5, kernel=Dense()).fit(np.zeros((0, 3), np.int64)).answers_needed(0.1)
    for target in (0, 1, -0.1, 15, math.nan, True, "0.1", None):
        with pytest.raises(ValueError, match=r"target is .*; pass a share"):
            forecast(drawn(100, error=0.3, left=0.1, power=1.0), target)


@pytest.mark.parametrize("curve", [[1, 2], np.eye(3), (np.ones(1), np.ones(1), np.ones(1)), "curve"], ids=str)
def test_a_bad_curve_is_refused(curve):
    with pytest.raises(TypeError, match=rf"^The curve is of type {type(curve).__name__}; pass the curve_ of") as caught:
        ERKLE(5, kernel=Dense()).fit([(0, 1, 2)]).answers_needed(0.1, curve)
    assert_is_a_sentence(caught)


@pytest.mark.parametrize(("error", "left", "power"), [(0.2, 0.1, 1.0), (0.05, 0.0, 1.0), (0.25, 0.15, 1.3)])
def test_a_curve_that_follows_the_law_is_recovered(error, left, power):
    n = 100_000
    curve = drawn(n, error=error, left=left, power=power)
    told = forecast(curve, float(law(2 * n, n, error, left, power)), n)
    assert told.error == pytest.approx(error, rel=0.05)
    assert told.low < n < told.high
    assert n / 2 < told.more < 2 * n
    assert forecast(curve, 1.2 * error, n).more == 0
    assert left == 0 or forecast(curve, left / 3, n).more == math.inf


@settings(max_examples=20)
@given(curves(), TARGETS, st.floats(0.0, 0.499))
def test_any_share_of_slips_gives_ordered_numbers(curve, target, lapse):
    told = forecast(curve, target, lapse=lapse)
    assert not np.isnan(told).any()
    assert 0 < told.error_low <= told.error <= told.error_high < 0.5
    assert 0 <= told.low <= told.more <= told.high


def test_no_number_of_answers_reduces_the_error_below_the_share_of_slips():
    curve = drawn(10_000, error=0.2, left=0.1, power=1.0)
    without, with_slips = (forecast(curve, 0.14, 10_000, lapse) for lapse in (0.0, 0.12))
    assert with_slips.more > without.more
    assert with_slips.low > without.low
    # At most nine tenths of the current error can be slips, so a lapse that cannot be true does no harm.
    assert forecast(curve, 0.11, 10_000, 0.12).more == math.inf
    assert forecast(curve, 0.19, 10_000, 0.4).low > 0


def test_the_interval_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(100):
        n, error, power = int(rng.integers(500, 5000)), rng.uniform(0.05, 0.35), np.exp(0.4 * rng.standard_normal())
        left = error * rng.uniform(0, 1)
        told = forecast(drawn(n, rng, error=error, left=left, power=power), float(law(2 * n, n, error, left, power)), n)
        held.append((told.low <= n <= told.high, told.error_low <= error <= told.error_high))
    assert (np.mean(held, axis=0) > 0.72).all()


def test_more_answers_make_the_interval_narrower():
    widths = [
        np.subtract(*forecast(drawn(n, error=0.2, left=0.1, power=1.0), 0.15)[3:1:-1]) for n in (100, 1000, 10_000)
    ]
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]


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
    assert learner.answers_needed(0.1) == forecast(learner.curve_, 0.1, 150, lapse)
    assert learner.answers_needed(0.1, asker.curve) == forecast(asker.curve, 0.1, 150, lapse)
    assert learner.answers_needed(0.1, asker.curve) != learner.answers_needed(0.1)


def test_a_loaded_learner_forecasts_the_same(tmp_path):
    learner = ERKLE(8, kernel=Dense()).fit(answers(8, 300, flipped=0.1))
    learner.save(tmp_path / "learner.npz")
    assert ERKLE.load(tmp_path / "learner.npz").answers_needed(0.2) == learner.answers_needed(0.2)

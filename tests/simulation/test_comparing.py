"""Curves, the number of answers that a strategy needs, and pictures of any curves."""

import math

import numpy as np
import pytest

from erkle.simulation.comparing import Curve, Ratio, answers_to, compare
from erkle.simulation.report import curves_figure
from erkle.simulation.runs import marks
from erkle.simulation.study import Run


def falling(half_life, factors=(1.0, 0.8, 1.1), n_objects=10, most=40, floor=0.0):
    """Runs whose errors halve every ``half_life`` answers per object, times one factor per seed."""
    n = [n_objects * mark for mark in marks(most)]
    errors = [max(floor, 0.4 * 0.5 ** (i / n_objects / half_life)) for i in n]
    return Curve.of([Run(n, [factor * error for error in errors], len(n) * [0.1], [1.0]) for factor in factors], 10)


def test_a_strategy_twice_as_fast_needs_half_the_answers():
    at_20, at_40 = compare(falling(20.0), falling(10.0))
    for ratio, mark in ((at_20, 20.0), (at_40, 40.0)):
        assert ratio.per_object == mark
        assert ratio.error == pytest.approx(0.4 * np.mean([1.0, 0.8, 1.1]) * 0.5 ** (mark / 20))
        # Every seed is as easy for one strategy as for the other, so the interval has no width.
        assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2.0, 2.0, 2.0))


def test_a_strategy_needs_as_many_answers_as_itself():
    assert [ratio[2:] for ratio in compare(falling(15.0), falling(15.0))] == [(1.0, 1.0, 1.0)] * 2


def test_the_interval_contains_the_ratio_and_is_repeatable():
    better = falling(8.0, factors=(0.9, 1.3, 0.7))
    [ratio, _] = found = compare(falling(16.0), better)
    assert ratio.low < ratio.value < ratio.high
    assert found == compare(falling(16.0), better)


def test_a_single_seed_has_no_interval():
    [ratio, _] = compare(falling(16.0, (1.0,)), falling(8.0, (1.0,)))
    assert ratio.value == pytest.approx(2.0)
    assert math.isnan(ratio.low)
    assert ratio.text == "2.00"


def test_an_error_that_is_never_reached_has_a_text_of_its_own():
    slow = falling(15.0, floor=0.35)
    assert answers_to(slow, 0.1) == math.inf
    assert [ratio.text for ratio in compare(falling(15.0), slow)] == ["not reached", "not reached"]
    assert Ratio(20.0, 0.1, 1.1, 0.0, 1.4).text == "1.10 (up to 1.40)"


def test_short_runs_are_compared_at_their_end():
    [ratio] = compare(falling(4.0, most=8), falling(2.0, most=8))
    assert ratio.per_object == 8.0
    assert ratio.value == pytest.approx(2.0)


def test_answers_are_counted_up_to_the_first_time_that_the_error_is_reached():
    runs = [Run([10, 20, 30, 40], [0.4, 0.1, 0.2, 0.0], 4 * [math.nan], [])]
    curve = Curve.of(runs, 10)
    assert answers_to(curve, 0.5) == 10
    assert answers_to(curve, 0.2) == pytest.approx(15.0)  # halfway between 0.4 and 0.1 on the logarithmic scale
    assert answers_to(curve, 0.05) == pytest.approx(37.5)  # linear, because the error falls to 0


def test_curves_have_means_and_students_intervals_where_all_runs_were_measured():
    long = Run([10, 20, 30], [0.4, 0.3, 0.2], [0.5, math.nan, 0.1], [])
    short = Run([10, 20], [0.2, 0.3], [math.nan, math.nan], [])
    curve = Curve.of([long, short], 10)
    assert curve.error == pytest.approx([0.3, 0.3])
    low, high = curve.interval
    half = 12.706 * np.std([0.4, 0.2], ddof=1) / np.sqrt(2)
    assert low == pytest.approx([max(0.0, 0.3 - half), 0.3], rel=1e-3)
    assert high == pytest.approx([min(1.0, 0.3 + half), 0.3], rel=1e-3)
    assert curve.estimate == pytest.approx([0.5, math.nan], nan_ok=True)
    assert curve.at(2) == pytest.approx(0.3)
    assert math.isnan(curve.at(3))


def test_a_curve_needs_at_least_one_answer_per_object():
    with pytest.raises(ValueError, match="10 objects"):
        Curve.of([Run([], [], [], [])], 10)


def test_errors_are_measured_often_first_then_evenly_and_at_the_end():
    for per_object in range(1, 50):
        places = marks(per_object)
        assert places[:5] == list(range(1, min(5, per_object) + 1))
        assert places[-1] == per_object
        assert set(np.diff(places[4:-1])) <= {2.5}
        assert all(0 < step <= 2.5 for step in np.diff(places))


@pytest.mark.parametrize(
    ("errors", "n_seeds"), [([0.3, 0.0], 3), ([0.0, 0.0], 1), ([0.31, 0.3], 1), ([1.0, 1e-4], 3)], ids=str
)
def test_any_errors_can_be_drawn(errors, n_seeds):
    curve = Curve.of([Run([10, 20], errors, errors, [])] * n_seeds, 10)
    figure = curves_figure({"adaptive": curve, "random": curve}, "points")
    figure.set_dpi(20)
    figure.canvas.draw()
    [axes] = figure.axes
    assert [line.get_xdata().tolist() for line in axes.lines] == [[1.0, 2.0]] * 4
    assert len(axes.collections) == (2 if n_seeds > 1 else 0)
    assert [text.get_text().split()[0] for text in axes.texts] == ["adaptive", "random"]
    assert axes.get_yscale() == "log"

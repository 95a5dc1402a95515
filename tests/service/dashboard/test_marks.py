"""Marks: people who answer carefully are almost never marked; those who do not look at the objects are."""

from collections import Counter

import numpy as np
import pytest
from benchmarks.marks import BEHAVIOURS, marked
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from erkle.service.dashboard.answering import ShareOfSlips
from erkle.service.dashboard.participants.conduct import Conduct
from erkle.service.dashboard.participants.marks import RATE, Interval, MarkKind, is_surely_above, marks
from erkle.service.studies.spec import Checks
from people import missing

NOBODY = Conduct(
    answers=0,
    skips=0,
    median_ms=None,
    timed=0,
    too_fast=0,
    sided=0,
    left=0,
    compared=0,
    agreeing=0,
    repeated=0,
    consistent=0,
    catch_asked=0,
    catch_wrong=0,
    lapse=None,
)


def kinds(checks=None, **counts):
    return [mark.kind for mark in marks(NOBODY._replace(**counts), checks or Checks())]


@pytest.mark.parametrize("tolerable", [0.1, 0.4, 0.5, 0.6])
def test_whoever_has_the_tolerable_share_is_marked_at_most_at_the_stated_rate(tolerable):
    for n in range(1, 400):
        marked = np.array([is_surely_above(count, n, tolerable) for count in range(n + 1)])
        # More of the same is never less suspicious.
        assert (np.diff(marked.astype(int)) >= 0).all()
        assert binom.pmf(np.arange(n + 1), n, tolerable)[marked].sum() <= RATE


def test_whoever_prefers_no_side_is_marked_at_most_once_in_a_thousand_studies_after_any_number_of_answers():
    rng = np.random.default_rng(0)
    left = np.cumsum(rng.random((4000, 200)) < 0.5, axis=1)
    n = np.arange(1, 201)
    table = [[bool(kinds(sided=int(m), left=k)) for k in range(m + 1)] for m in n]
    ever = np.zeros(len(left), bool)
    for column, row in enumerate(table):
        ever |= np.array(row)[left[:, column]]
    assert ever.mean() <= 0.001


@pytest.mark.parametrize(
    ("kind", "few", "enough"),
    [
        (MarkKind.SIDE, {"sided": 8, "left": 8}, {"sided": 20, "left": 20}),
        (MarkKind.SIDE, {"sided": 8, "left": 0}, {"sided": 50, "left": 5}),
        (MarkKind.FAST, {"timed": 2, "too_fast": 2}, {"timed": 50, "too_fast": 20}),
        (MarkKind.CATCH, {"catch_asked": 3, "catch_wrong": 1}, {"catch_asked": 3, "catch_wrong": 2}),
        (MarkKind.DISAGREES, {"compared": 5, "agreeing": 0}, {"compared": 50, "agreeing": 15}),
        (MarkKind.INCONSISTENT, {"repeated": 5, "consistent": 0}, {"repeated": 12, "consistent": 0}),
        (
            MarkKind.RANDOM,
            {"lapse": ShareOfSlips.of(0.3, 0.1, 0.5)},
            {"lapse": ShareOfSlips.of(0.45, 0.38, 0.5)},
        ),
    ],
)
def test_a_mark_needs_enough_evidence(kind, few, enough):
    assert kinds(**few) == []
    assert kinds(**enough) == [kind]


def test_nobody_is_marked_before_answering():
    assert kinds() == []


def test_failing_many_catch_questions_is_marked_even_if_it_does_not_end_the_participation():
    checks = Checks(fail_after=100)
    assert kinds(checks, catch_asked=3, catch_wrong=2) == []
    assert kinds(checks, catch_asked=20, catch_wrong=12) == [MarkKind.CATCH]


def test_marks_say_their_evidence():
    counts = {"sided": 50, "left": 48, "timed": 50, "too_fast": 34, "catch_asked": 3, "catch_wrong": 2}
    counts |= {"compared": 40, "agreeing": 11, "repeated": 12, "consistent": 0}
    found = marks(NOBODY._replace(lapse=ShareOfSlips.of(0.47, 0.42, 0.5), **counts), Checks(too_fast_ms=400))
    said = {mark.kind: mark.sentence for mark in found}
    assert set(said) == set(MarkKind)
    for kind, evidence in {
        MarkKind.RANDOM: ["47", "42", "50"],
        MarkKind.CATCH: ["2 of 3"],
        MarkKind.FAST: ["34 of 50", "400"],
        MarkKind.SIDE: ["left", "96", "50"],
        MarkKind.DISAGREES: ["11 of 40"],
        MarkKind.INCONSISTENT: ["0 of 12"],
    }.items():
        assert missing(said[kind], evidence) == []


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_is_that_of_clopper_and_pearson(counts):
    count, n = counts
    found, expected = Interval.of(count, n), binomtest(count, n).proportion_ci(0.95)
    assert (found.low, found.high) == (pytest.approx(expected.low, abs=1e-4), pytest.approx(expected.high, abs=1e-4))


def test_in_simulated_studies_careless_participants_are_marked_and_careful_ones_almost_never():
    everybody = [each for seed in range(2) for each in marked(seed)]
    n, found = Counter(), {behaviour: Counter() for behaviour in BEHAVIOURS}
    for behaviour, kinds in everybody:
        n[behaviour] += 1
        found[behaviour].update(kinds or ["none"])
    assert found["careful"]["none"] >= n["careful"] - 1
    for side in ("left only", "right only"):
        assert found[side][MarkKind.SIDE] == n[side]
    assert found["too fast"][MarkKind.FAST] == n["too fast"]
    assert found["at random"]["none"] <= 1

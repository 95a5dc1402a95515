"""Laws of the record: it counts the answers that were learned, independently of the calls."""

import numpy as np
import pytest

from erkle import ERKLE, Dense, LowRank
from erkle.kernels import upkeep
from erkle.online.record import Curve
from parts import KERNELS, answers

T = answers(8, 700, flipped=0.2)


def assert_counts(learner, T, decisions):
    """The counts equal those of a naive recount."""
    n = learner.n_objects_
    np.testing.assert_array_equal(learner.n_anchored_, np.bincount(T[:, 0], minlength=n))
    np.testing.assert_array_equal(learner.n_appearances_, np.bincount(T.ravel(), minlength=n))
    # The bins of the curve follow each other.
    n_learned, n_answers, n_wrong = learner.curve_
    assert n_answers.sum() == len(T)
    bins = np.split(np.arange(len(T)), np.cumsum(n_answers)[:-1])
    np.testing.assert_array_equal(n_wrong, [np.count_nonzero(decisions[bin] <= 0) for bin in bins])
    np.testing.assert_allclose(n_learned, [bin.mean() for bin in bins])


def assert_same(curve, other):
    for mine, its in zip(curve, other, strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("kernel", [pytest.param(Dense(), id="dense"), *KERNELS])
def test_counts_equal_a_naive_recount(kernel):
    learner = ERKLE(8, kernel=kernel, random_state=0)
    assert_counts(learner, T, learner.prequential(T))
    assert learner.curve_.n_wrong.sum() == learner._n_mistakes


def test_replayed_answers_do_not_count():
    learner = ERKLE(8, kernel=Dense(), passes=3, random_state=0)
    assert_counts(learner, T, learner.prequential(T))


@pytest.mark.parametrize("kernel", [Dense(), LowRank()])
def test_any_split_of_a_stream_gives_the_same_curve(kernel, tmp_path):
    whole = ERKLE(8, kernel=kernel, random_state=0).fit(T)
    pieces = ERKLE(8, kernel=kernel, random_state=0).partial_fit(T[:90])
    for triplet in T[90:130]:
        pieces.learn_one(triplet)
    pieces.save(tmp_path / "learner.npz")
    pieces = ERKLE.load(tmp_path / "learner.npz").partial_fit(T[130:])
    assert_same(pieces.curve_, whole.curve_)
    np.testing.assert_array_equal(pieces.n_anchored_, whole.n_anchored_)
    assert pieces.answers_needed(0.1) == whole.answers_needed(0.1)


def test_the_bins_of_a_curve_grow_with_the_stream():
    n = 10**6
    curve = Curve.of(np.arange(n), np.zeros(n, np.bool_))
    assert 100 < len(curve.n_answers) < 150
    # From 100 answers on, there are about 25 bins per factor of ten.
    later = slice(30, -1)
    widths = curve.n_answers[later] / curve.n_learned[later]
    assert 0.08 < widths.min() <= widths.max() < 0.11


def test_the_curve_of_predictions_equals_that_of_the_learner_that_made_them():
    learner = ERKLE(8, kernel=Dense())
    decisions = learner.prequential(T)
    assert_same(Curve.of(np.arange(len(T)), decisions <= 0), learner.curve_)


def test_new_objects_start_at_zero_and_fit_resets_the_counts():
    learner = ERKLE(8, kernel=Dense()).fit(T).add_objects(2)
    assert learner.n_anchored_[8:].tolist() == learner.n_appearances_[8:].tolist() == [0, 0]
    learner.learn_one((9, 8, 0))
    assert learner.n_anchored_[8:].tolist() == [0, 1]
    assert learner.n_appearances_[8:].tolist() == [1, 1]
    assert learner.fit(T[:10]).curve_.n_answers.sum() == 10


def test_after_an_interruption_only_learned_answers_count(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    learner = ERKLE(8, kernel=Dense()).fit(T[:50])
    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "_build_inverse", interrupt)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[50:])
    seen = learner.n_triplets_seen_
    assert 50 < seen < 700
    assert_counts(learner, T[:seen], ERKLE(8, kernel=Dense()).prequential(T[:seen]))


def test_counts_returned_earlier_do_not_change():
    learner = ERKLE(5, kernel=LowRank(2)).fit([(0, 1, 2)])
    anchored, appearances = learner.n_anchored_, learner.n_appearances_
    learner.learn_one((0, 1, 2))
    assert anchored.tolist() == [1, 0, 0, 0, 0]
    assert appearances.tolist() == [1, 1, 1, 0, 0]

"""Laws of candidates: the one with the best predictions leads, those far behind are eliminated and replaced."""

import copy
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle.answer_models import RATIO
from erkle.online.selection.candidates import Candidates, Entry, next_review, steps
from erkle.online.selection.evidence import Evidence

# Answers on which candidates make decisions of different sizes.
ANSWERS = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1], [3, 0, 1]])


class Size(NamedTuple):
    """The setting of a candidate without a model."""

    size: int


class Proposed:
    """Fixed proposals, or the neighbours of the leader."""

    def __init__(self, neighbours=(), urgent=(), exploratory=(), protected=(), credence=None):
        self._neighbours, self._urgent, self._exploratory = neighbours, urgent, exploratory
        self._protected, self._credence = protected, credence

    def neighbours(self, candidates, seen):
        if self._neighbours == "beside":
            return Size(candidates.leader.setting.size + 1), Size(candidates.leader.setting.size - 1)
        return map(Size, self._neighbours)

    def urgent(self, candidates, seen):
        return map(Size, self._urgent)

    def exploratory(self, candidates, seen):
        return map(Size, self._exploratory)

    def protected(self, entries):
        return [entry for entry in entries if entry.setting.size in self._protected]

    def credence(self, setting, seen):
        return 1.0 if self._credence is None else self._credence[setting.size]

    def begin(self, setting, model, seen):
        return f"from {model}"

    def answer_model(self, setting):
        return RATIO if setting.size % 2 else None

    def excess(self, setting, model, T):
        # Candidates agree about the answers, on maps of different scales.
        return setting.size * (T[:, 0] - 1.5)


def evidence_of(loss):
    """The evidence of a candidate that has predicted ten answers."""
    evidence = Evidence()
    evidence.sums[:] = loss, 1.0, 10.0
    evidence.n_answers = evidence.n_own = 10
    return evidence


def predict(entries, near, far, first, size=20):
    """Let the candidates predict answers with these squared distances."""
    for entry in entries:
        entry.evidence.add(np.tile([near, far], (size, 1)), first)


def candidates_of(*losses, margin=10.0, **proposed):
    entries = [Entry(Size(i), f"model {i}", evidence_of(loss)) for i, loss in enumerate(losses)]
    return Candidates(entries, Proposed(**proposed), margin)


# Reviews.


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8))
def test_the_candidate_with_the_smallest_loss_leads_and_weights_sum_to_one(losses):
    candidates = candidates_of(*losses)
    weights = np.array(candidates.weights())
    assert weights.sum() == pytest.approx(1.0)
    assert weights[np.argmin(losses)] == weights.max() > 0.0
    candidates.review(100, 8)
    assert candidates.leader.evidence.discounted_loss == min(losses)
    assert sum(candidates.weights()) == pytest.approx(1.0)
    best, *others = candidates.table()
    assert best.status == "leads"
    assert all(row.weight <= best.weight for row in others)
    kept = {entry.setting.size for entry in candidates.entries}
    assert kept == {i for i, loss in enumerate(losses) if loss <= min(losses) + 10.0}


def test_candidates_far_behind_retire_and_report_when():
    candidates = candidates_of(3.0, 1.0, 50.0)
    candidates.review(120, 5)
    assert [row.status for row in candidates.table()] == ["leads", "runs", "eliminated after 120 answers"]
    assert candidates.table()[-1].setting == {"size": 2}
    assert candidates.table()[-1].weight == 0.0
    assert math.isnan(candidates.table()[-1].loss)


def test_a_protected_candidate_stays_however_bad_it_is_and_takes_a_place():
    candidates = candidates_of(3.0, 1.0, 50.0, 2.0, protected=[2])
    candidates.review(120, 3)
    assert [entry.setting.size for entry in candidates.entries] == [1, 3, 2]
    assert candidates.weights()[2] == 0.0
    candidates.review(130, 1)
    assert [entry.setting.size for entry in candidates.entries] == [1, 2]


def test_a_setting_of_little_credence_has_little_weight_until_it_predicts_better():
    assert candidates_of(0.0, 0.0, credence=[1.0, 0.25]).weights() == [0.8, 0.2]
    assert candidates_of(60.0, 0.0, credence=[1.0, 0.25]).weights() == [0.0, 1.0]


def test_without_evidence_weights_are_equal_and_with_much_evidence_only_the_leader_counts():
    new = Candidates([Entry(Size(i), "model", Evidence()) for i in range(4)], Proposed(), 10.0)
    assert new.weights() == candidates_of(0.0, 0.0, 0.0, 0.0).weights() == [0.25] * 4
    assert candidates_of(5.0, 100.0, 1e9).weights() == [1.0, 0.0, 0.0]
    weights = candidates_of(0.0, 1.0).weights()
    assert weights[0] / weights[1] == pytest.approx(math.exp(0.2))


def test_neighbours_of_the_leader_enter_just_behind_it_until_there_are_most():
    candidates = candidates_of(4.0, 2.0, neighbours="beside")
    candidates.review(10, 3)
    # Size 1 leads and 0 runs already: only 2 is new.
    assert [entry.setting.size for entry in candidates.entries] == [1, 0, 2]
    assert candidates.entries[2].model == "from model 1"
    assert candidates.entries[2].evidence.discounted_loss == pytest.approx(3.0)
    candidates.entries[2].evidence = evidence_of(0.0)
    candidates.review(20, 3)
    assert candidates.leader.setting.size == 2
    assert len(candidates.entries) == 3


def test_a_retired_setting_returns_only_after_half_as_many_answers_again():
    candidates = candidates_of(0.0, 50.0, neighbours=[1])
    candidates.review(100, 5)
    assert candidates.eliminated == {Size(1): 100}
    for seen in (110, 149):
        candidates.review(seen, 5)
        assert len(candidates.entries) == 1
    candidates.review(150, 5)
    assert [entry.setting.size for entry in candidates.entries] == [0, 1]
    assert not candidates.eliminated


@pytest.mark.parametrize(("far", "stays"), [(2.5, True), (0.1, False)])
def test_an_exploratory_candidate_starts_far_behind_and_leaves_if_it_is_worse(far, stays):
    candidates = candidates_of(3.0, neighbours=[1], exploratory=[1, 7])
    candidates.review(100, 4)
    # Size 1 is also a neighbour, and enters as a neighbour.
    assert [entry.evidence.discounted_loss for entry in candidates.entries] == pytest.approx(
        [3.0, 4.0, 3.0 + 1.3 * 9.5]
    )
    leader, neighbour, explorer = candidates.entries
    predict([leader, neighbour], 1.0, 1.0, 101)
    predict([explorer], 1.0, far, 101)
    assert (candidates.weights()[2] > 0.0) == stays
    candidates.review(121, 4)
    assert (explorer in candidates.entries) == stays


def test_a_new_candidate_has_no_weight_before_it_has_predicted():
    candidates = candidates_of(3.0, 3.5, neighbours=[5, 7], exploratory=[9])
    candidates.review(100, 5)
    assert [entry.setting.size for entry in candidates.entries] == [0, 1, 5, 7, 9]
    weights = candidates.weights()
    assert min(weights[:2]) > 0.0
    assert weights[2:] == [0.0, 0.0, 0.0]
    assert candidates.shares(ANSWERS)[2:] == [0.0, 0.0, 0.0]
    predict(candidates.entries, 1.0, 2.0, 101)
    assert min(candidates.weights()[2:4]) > 0.0


def test_a_new_candidate_takes_over_the_leaders_predictions_with_its_own_answer_model():
    candidates = candidates_of(3.0, neighbours=[1, 2])
    predict(candidates.entries, 1.0, 2.0, 11)
    candidates.review(30, 3)
    leader, fixed, estimated = (entry.evidence for entry in candidates.entries)
    assert fixed.answer_model == RATIO
    assert estimated.answer_model != RATIO
    for evidence in (fixed, estimated):
        np.testing.assert_array_equal(evidence.window, leader.window)
        assert evidence.n_own == 0
        assert evidence.error == leader.error


def test_a_review_returns_the_candidates_that_have_entered():
    candidates = candidates_of(3.0, 4.0, 50.0, neighbours=[5], exploratory=[7])
    assert [entry.setting.size for entry in candidates.review(100, 4)] == [5, 7]
    assert candidates.review(110, 4) == []


def test_a_copy_of_the_candidates_undoes_a_review():
    candidates = candidates_of(3.0, 1.0, 50.0, neighbours=[5], exploratory=[7])
    before, entries, leader = copy.copy(candidates), list(candidates.entries), candidates.leader
    losses = [entry.evidence.discounted_loss for entry in entries]
    candidates.review(100, 4)
    assert candidates.leader is not leader
    assert before.entries == entries
    assert before.leader is leader
    assert before.eliminated == {}
    assert [entry.evidence.discounted_loss for entry in before.entries] == losses


def test_one_exploratory_candidate_replaces_the_last_and_others_enter_if_there_is_room():
    by = {"neighbours": [5, 6], "exploratory": [7, 8]}
    full = candidates_of(3.0, 4.0, 5.0, **by)
    full.review(100, 3)
    assert [entry.setting.size for entry in full.entries] == [0, 1, 7]
    roomy = candidates_of(3.0, **by)
    roomy.review(100, 5)
    assert [entry.setting.size for entry in roomy.entries] == [0, 5, 6, 7, 8]


# Shares.


def test_shares_bring_all_kernels_to_the_leaders_scale():
    candidates = candidates_of(9.9, 0.5, 1.0, 2.0)
    candidates.review(100, 4)
    assert candidates.leader.setting.size == 1
    shares = candidates.shares(ANSWERS)
    for entry, weight, share in zip(candidates.entries, candidates.weights(), shares, strict=True):
        # Size 0 knows nothing, so its share is 0 whatever its weight is.
        assert share == pytest.approx(weight / entry.setting.size if entry.setting.size else 0.0)
        mixed = share * entry.setting.size * (ANSWERS[:, 0] - 1.5)
        np.testing.assert_allclose(mixed, weight * (ANSWERS[:, 0] - 1.5) * bool(entry.setting.size))


def test_shares_are_weights_if_the_leader_knows_nothing_or_there_are_no_answers():
    candidates = candidates_of(0.0, 1.0, 2.0)
    assert candidates.shares(ANSWERS) == candidates.weights()
    candidates.leader = candidates.entries[1]
    assert candidates.shares(ANSWERS[:0]) == candidates.weights()
    assert candidates.shares(ANSWERS) != candidates.weights()


def test_the_scale_of_a_candidate_is_that_of_its_latest_decision_values():
    candidates = candidates_of(0.0, 0.0, 0.0)
    two = candidates.entries[2]
    assert candidates.scale(two, ANSWERS) == pytest.approx(2.0 * np.sqrt(np.mean((ANSWERS[:, 0] - 1.5) ** 2)))
    late = np.concatenate([np.full((5000, 3), 100), np.zeros((5000, 3), int)])
    assert candidates.scale(two, late) == pytest.approx(3.0)


# Steps.


@given(seen=st.integers(0, 10**9), share=st.floats(0, 1e300))
def test_the_next_review_comes_later(seen, share):
    later = next_review(seen, share)
    assert later >= seen + 5
    if share <= 1.0:
        assert later <= max(seen + 5, seen + math.ceil(share * seen))


def test_an_urgent_setting_replaces_the_last_candidate():
    pressed = candidates_of(0.0, 1.0, 2.0, urgent=[7])
    pressed.review(100, 3)
    assert [entry.setting.size for entry in pressed.entries] == [0, 1, 7]
    assert pressed.eliminated == {Size(2): 100}
    pressed.review(110, 1)
    assert [entry.setting.size for entry in pressed.entries] == [0]


class Point(NamedTuple):
    x: float
    y: str


@given(
    x=st.floats(-10, 10),
    xs=st.lists(st.floats(-10, 10), min_size=1, max_size=6, unique=True).map(sorted),
    y=st.sampled_from("abcd"),
    falling=st.booleans(),
)
def test_a_step_moves_one_axis_to_a_value_next_to_the_present_one(x, xs, y, falling):
    order = tuple(reversed(xs)) if falling else tuple(xs)
    found = list(steps(Point(x, y), {"y": tuple("abcd"), "x": order}))
    assert len(set(found)) == len(found)
    assert all((point.x != x) + (point.y != y) == 1 for point in found)
    below, above = [other for other in xs if other < x], [other for other in xs if other > x]
    assert {point.x for point in found if point.y == y} == {*below[-1:], *above[:1]}
    assert {point.y for point in found if point.x == x} == {"a": {"b"}, "b": {*"ac"}, "c": {*"bd"}, "d": {"c"}}[y]


def test_axes_are_moved_in_their_order():
    moved = list(steps(Point(2, "b"), {"y": ("a", "b", "c"), "x": (3, 2, 1)}))
    assert moved == [(2, "a"), (2, "c"), (3, "b"), (1, "b")]
    assert list(steps(Point(2, "b"), {"x": (3, 2, 1)})) == moved[2:]


# Words.


def test_a_candidate_is_a_sentence():
    running, gone = candidates_of(3.0, 50.0, neighbours=[]), candidates_of(3.0, 50.0)
    gone.review(120, 5)
    first = str(running.table()[0])
    assert first.startswith("size 0: leads with weight 1.00. People seem to compare ")
    assert str(gone.table()[-1]) == "size 1: eliminated after 120 answers."

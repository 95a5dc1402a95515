"""Laws of candidates: the one with the best predictions leads, those far behind are eliminated and replaced."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle.online.selection.candidates import Candidates, Entry, next_review
from erkle.online.selection.evidence import Evidence


class Size(NamedTuple):
    """The setting of a candidate without a model."""

    size: int


class Proposed:
    """Fixed proposals, or the neighbours of the leader."""

    def __init__(self, neighbours=(), urgent=(), exploratory=()):
        self._neighbours, self._urgent, self._exploratory = neighbours, urgent, exploratory

    def neighbours(self, candidates, seen):
        if self._neighbours == "beside":
            return Size(candidates.leader.setting.size + 1), Size(candidates.leader.setting.size - 1)
        return map(Size, self._neighbours)

    def urgent(self, candidates, seen):
        return map(Size, self._urgent)

    def exploratory(self, candidates, seen):
        return map(Size, self._exploratory)

    def begin(self, setting, model, seen):
        return f"from {model}"


def evidence_of(loss):
    evidence = Evidence()
    evidence.sums[:-1] = loss
    evidence.sums[-1] = 10.0
    return evidence


def candidates_of(*losses, margin=10.0, **proposed):
    entries = [Entry(Size(i), f"model {i}", evidence_of(loss)) for i, loss in enumerate(losses)]
    return Candidates(entries, Proposed(**proposed), margin)


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


def test_without_evidence_weights_are_equal_and_with_much_evidence_only_the_leader_counts():
    assert candidates_of(0.0, 0.0, 0.0, 0.0).weights() == [0.25] * 4
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


@pytest.mark.parametrize(("excess", "stays"), [(-0.5, True), (2.0, False)])
def test_an_exploratory_candidate_has_no_weight_at_first_and_leaves_if_it_is_worse(excess, stays):
    candidates = candidates_of(3.0, neighbours=[1], exploratory=[1, 7])
    candidates.review(100, 4)
    # Size 1 is also a neighbour, and enters as a neighbour.
    assert [entry.evidence.discounted_loss for entry in candidates.entries] == pytest.approx(
        [3.0, 4.0, 3.0 + 1.3 * 9.5]
    )
    assert candidates.weights()[1] > 0.0 == candidates.weights()[2]
    leader, neighbour, explorer = candidates.entries
    for entry in (leader, neighbour):
        entry.evidence.add(np.full(20, 0.1), 101)
    # Its predictions have another scale, so another temperature is best for them.
    explorer.evidence.add(np.full(20, 100.0 * excess), 101)
    assert (candidates.weights()[2] > 0.0) == stays
    candidates.review(121, 4)
    assert (explorer in candidates.entries) == stays


def test_one_exploratory_candidate_replaces_the_last_and_others_enter_if_there_is_room():
    by = {"neighbours": [5, 6], "exploratory": [7, 8]}
    full = candidates_of(3.0, 4.0, 5.0, **by)
    full.review(100, 3)
    assert [entry.setting.size for entry in full.entries] == [0, 1, 7]
    roomy = candidates_of(3.0, **by)
    roomy.review(100, 5)
    assert [entry.setting.size for entry in roomy.entries] == [0, 5, 6, 7, 8]


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

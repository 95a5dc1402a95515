"""Laws of the field and of the race: who predicts best leads, who is far behind retires, nobody misses an answer."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle import ERKLE, LowRank
from erkle.datasets import make_gaussian
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.models import racing
from erkle.online.selection.candidates import Entry, Field, next_review
from erkle.online.selection.evidence import Judge
from parts import answers, state


class Size(NamedTuple):
    """The setting of a candidate that does nothing."""

    size: int


def judged(evidence):
    judge = Judge()
    judge.sums[:-1] = evidence
    judge.sums[-1] = 10.0
    return judge


def nobody(leader):
    return ()


def field_of(*evidence, most=5, hopeless=10.0, neighbours=nobody, pressing=nobody, strangers=nobody):
    entries = [Entry(Size(i), None, judged(e)) for i, e in enumerate(evidence)]
    return Field(entries, neighbours, most, hopeless, pressing, strangers)


def beside(leader):
    """The sizes next to the leader's."""
    return Size(leader.setting.size + 1), Size(leader.setting.size - 1)


def enter(setting, leader):
    return f"from {leader.setting.size}"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8))
def test_the_one_with_the_least_evidence_leads_and_weights_add_up(evidence):
    field = field_of(*evidence, most=8)
    weights = np.array(field.weights())
    assert weights.sum() == pytest.approx(1.0)
    assert weights[np.argmin(evidence)] == weights.max() > 0.0
    field.review(100, enter)
    assert field.leader.judge.evidence == min(evidence)
    assert sum(field.weights()) == pytest.approx(1.0)
    best, *others = field.candidates()
    assert best.status == "leads"
    assert all(row.weight <= best.weight for row in others)
    kept = {entry.setting.size for entry in field.entries}
    assert kept == {i for i, e in enumerate(evidence) if e <= min(evidence) + 10.0}


def test_those_far_behind_retire_and_say_when():
    field = field_of(3.0, 1.0, 50.0)
    field.review(120, enter)
    assert [row.status for row in field.candidates()] == ["leads", "runs", "retired after 120 answers"]
    assert field.candidates()[-1].setting == {"size": 2}
    assert field.candidates()[-1].weight == 0.0
    assert math.isnan(field.candidates()[-1].loss)


def test_without_evidence_all_count_the_same_and_with_much_the_leader_alone():
    assert field_of(0.0, 0.0, 0.0, 0.0).weights() == [0.25] * 4
    assert field_of(5.0, 100.0, 1e9).weights() == [1.0, 0.0, 0.0]
    weights = field_of(0.0, 1.0).weights()
    assert weights[0] / weights[1] == pytest.approx(math.exp(0.2))


def test_neighbours_of_the_leader_enter_just_behind_it_until_there_are_most():
    field = field_of(4.0, 2.0, neighbours=beside, most=3)
    field.review(10, enter)
    # Size 1 leads and 0 runs already: only 2 is new.
    assert [entry.setting.size for entry in field.entries] == [1, 0, 2]
    assert field.entries[2].model == "from 1"
    assert field.entries[2].judge.evidence == pytest.approx(3.0)
    field.entries[2].judge = judged(0.0)
    field.review(20, enter)
    assert field.leader.setting.size == 2
    assert len(field.entries) == 3


def test_a_retired_setting_comes_back_only_when_there_is_half_as_much_again():
    field = field_of(0.0, 50.0, neighbours=lambda leader: [Size(1)])
    field.review(100, enter)
    assert field.retired == {Size(1): 100}
    for seen in (110, 149):
        field.review(seen, enter)
        assert len(field.entries) == 1
    field.review(150, enter)
    assert [entry.setting.size for entry in field.entries] == [0, 1]
    assert not field.retired


@pytest.mark.parametrize(("excess", "stays"), [(-0.5, True), (2.0, False)])
def test_a_stranger_counts_for_nothing_at_first_and_leaves_if_it_is_worse(excess, stays):
    field = field_of(3.0, most=4, neighbours=lambda leader: [Size(1)], strangers=lambda leader: [Size(1), Size(7)])
    field.review(100, enter)
    # Size 1 is a neighbour besides, and enters as such.
    assert [entry.judge.evidence for entry in field.entries] == pytest.approx([3.0, 4.0, 3.0 + 1.3 * 9.5])
    assert field.weights()[1] > 0.0 == field.weights()[2]
    leader, neighbour, stranger = field.entries
    for entry in (leader, neighbour):
        entry.judge.hear(np.full(20, 0.1), 101)
    # Predictions of another size: the temperature at which they are best is its own.
    stranger.judge.hear(np.full(20, 100.0 * excess), 101)
    assert (field.weights()[2] > 0.0) == stays
    field.review(121, enter)
    assert (stranger in field.entries) == stays


def test_one_stranger_enters_in_the_place_of_the_last_and_others_where_there_is_room():
    by = {"neighbours": lambda leader: [Size(5), Size(6)], "strangers": lambda leader: [Size(7), Size(8)]}
    full = field_of(3.0, 4.0, 5.0, most=3, **by)
    full.review(100, enter)
    assert [entry.setting.size for entry in full.entries] == [0, 1, 7]
    roomy = field_of(3.0, most=5, **by)
    roomy.review(100, enter)
    assert [entry.setting.size for entry in roomy.entries] == [0, 5, 6, 7, 8]


@given(seen=st.integers(0, 10**9), share=st.floats(0, 1e300))
def test_a_review_is_followed_by_a_later_one(seen, share):
    later = next_review(seen, share)
    assert later >= seen + 5
    if share <= 1.0:
        assert later <= max(seen + 5, seen + math.ceil(share * seen))


def test_who_presses_enters_in_the_place_of_the_last_and_whoever_is_one_too_many_retires():
    pressed = field_of(0.0, 1.0, 2.0, most=3, pressing=lambda leader: [Size(7)])
    pressed.review(100, enter)
    assert [entry.setting.size for entry in pressed.entries] == [0, 1, 7]
    assert pressed.retired == {Size(2): 100}
    pressed.most = 1
    pressed.review(110, enter)
    assert [entry.setting.size for entry in pressed.entries] == [0]


# The race.


def racer(n=12, **parameters):
    return ERKLE(n, kernel=LowRank(consolidate="off"), random_state=0, **parameters)


def test_who_takes_part_can_be_looked_at():
    learner = racer(30).fit(answers(30, 2500))
    rows = learner.selection_
    assert sum(row.weight for row in rows) == pytest.approx(1.0)
    assert [row.status for row in rows].count("leads") == 1
    assert all(row.status == "leads" or row.status == "runs" or row.status.startswith("retired after") for row in rows)
    assert all(set(row.setting) == {"rank", "trace", "rate"} for row in rows)
    assert len({tuple(row.setting.values()) for row in rows}) == len(rows)
    running = [row for row in rows if not row.status.startswith("retired")]
    assert len(running) <= 4
    assert all(0.0 <= row.error <= 1.0 and row.loss > 0.0 for row in running)
    weights = [row.weight for row in running]
    assert weights == sorted(weights, reverse=True)
    assert len(rows) > 3


def test_the_map_the_matrix_and_the_decisions_are_those_of_one_mixture():
    learner, T = racer().fit(answers(12, 150)), answers(12, 60, seed=4)
    K, X = learner.kernel_, learner.embedding_
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, np.diag(K)[:, None] + np.diag(K) - 2 * K, atol=1e-9)
    a, b, c = T.T
    np.testing.assert_allclose(learner.decision_function(T), distances[a, c] - distances[a, b], atol=1e-9)
    parts = sum(scale * entry.model.matrix() for entry, scale in learner._model._shares())
    np.testing.assert_allclose(K, parts, atol=1e-9)


def test_candidates_start_within_the_number_of_objects_and_may_outgrow_it():
    learner = racer(3).fit([(0, 1, 2)])
    assert {entry.setting.rank for entry in learner._model.field.entries} == {2}
    learner.add_objects(20).partial_fit(answers(23, 1500))
    assert learner.score(answers(23, 1500)) > 0.7
    assert max(row.setting["rank"] for row in learner.selection_) > 2


def test_ranks_grow_where_the_leader_has_the_largest():
    T = make_gaussian(23, 5, 4000, random_state=0).triplets
    grown = racer(3).fit([(0, 1, 2)]).add_objects(20).partial_fit(T[:3000])
    assert grown.score(T[3000:]) > racer(23).fit(T[:3000]).score(T[3000:]) - 0.03


def test_two_begin_and_two_follow_when_there_are_five_answers_an_object():
    T = answers(50, 300)
    # Reviews are at 208 and at 250 answers.
    early, late = ({tuple(entry.setting) for entry in racer(50).fit(T[:n])._model.field.entries} for n in (249, 250))
    assert early == {(10, 0.0, 3.0), (10, 2e-3, 1.0)}
    assert late == {*early, (2, 2e-3, 1.0), (5, 0.0, 10.0)}


def test_a_race_has_no_rank_that_its_objects_cannot_have():
    learner = racer(4).fit(answers(4, 300))
    assert max(row.setting["rank"] for row in learner.selection_) == 3


@pytest.mark.parametrize(("behind", "left"), [(19.0, 2), (21.0, 1)])
def test_a_race_waits_for_those_who_are_twenty_nats_behind(behind, left):
    model = racing.Race(50)
    for entry, evidence in zip(model.field.entries, (10.0, 10.0 + behind), strict=True):
        entry.judge.sums[:-1], entry.judge.sums[-1] = evidence, 100.0
    model.review(100, np.empty((0, 3), np.int32))
    assert len(model.field.entries) == left


def test_those_that_followed_and_retired_do_not_come_back_but_as_neighbours():
    model = racing.Race(50)
    model.next_review = 50 * 10
    leader, follows = racing.Pace(20, 8e-3, 0.3), racing.Pace(2, 2e-3, 1.0)
    assert follows in model._waiting(leader)
    model.field.retired[follows] = 200
    assert follows not in model._waiting(leader)
    assert model._waiting(follows._replace(rank=3))[-1] == follows


def test_neighbours_differ_in_weight_first_then_in_rate_and_then_in_rank():
    assert [tuple(pace) for pace in racing.Race(50)._neighbours(racing.Pace(5, 5e-4, 3.0))] == [
        (5, 2e-3, 3.0),
        (5, 0.0, 3.0),
        (5, 5e-4, 1.0),
        (5, 5e-4, 10.0),
        (3, 5e-4, 3.0),
        (10, 5e-4, 3.0),
    ]
    few = [tuple(pace) for pace in racing.Race(8)._neighbours(racing.Pace(5, 8e-3, 10.0))]
    assert few == [(5, 2e-3, 10.0), (5, 8e-3, 3.0), (3, 8e-3, 10.0)]


@pytest.mark.parametrize(
    ("top", "trace", "per_object", "pressed"),
    [
        (5, 0.0, 1, 10),
        (5, 2e-3, 1, 10),
        (10, 0.0, 9, None),
        (10, 0.0, 10, 20),
        (10, 2e-3, 10, None),
        (20, 0.0, 99, None),
    ],
)
def test_a_leader_of_the_largest_rank_presses_for_more_where_there_are_answers_for_it(top, trace, per_object, pressed):
    model = racing.Race(50)
    paces = [racing.Pace(rank, trace, 3.0) for rank in (top, 2)]
    model.field.entries = [Entry(pace, LowRankKernel(50, pace.rank), judged(0.0)) for pace in paces]
    model.next_review = 50 * per_object
    expected = [] if pressed is None else [paces[0]._replace(rank=pressed)]
    assert model._pressing(model.field.entries[0]) == expected
    assert model._pressing(model.field.entries[1]) == []


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("at", [0, 1, 2, 5])
def test_after_an_interruption_all_candidates_are_level_and_every_answer_counts_once(at, passes, monkeypatch):
    T = answers(12, 400, flipped=0.2)
    learner, whole = racer(passes=passes).fit(T[:50]), racer(passes=passes).fit(T)
    calls, learn = itertools.count(), LowRankKernel.learn

    def interrupted(kernel, rule, stretch):
        if next(calls) == at:
            # Ctrl-C is heard when the compiled loop has come back, or before it has begun.
            if at % 2:
                learn(kernel, rule, stretch)
            raise KeyboardInterrupt
        learn(kernel, rule, stretch)

    with monkeypatch.context() as patch:
        patch.setattr(LowRankKernel, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[50:])
    seen = learner.n_triplets_seen_
    assert 50 < seen <= 400
    assert len(learner._replay.history) == seen
    # A review that has come due in the meantime is made by the next call, whatever it learns.
    assert state(learner.partial_fit([])) == state(racer(passes=passes).fit(T[:seen]))
    learner.partial_fit(T[seen:])
    assert state(learner) == state(whole)


def test_a_review_chooses_by_what_was_predicted():
    learner = racer().fit(answers(12, 99))
    entries = list(learner._model.field.entries)
    entries[1].judge.sums[:-2] -= 30.0
    learner.partial_fit(answers(12, 1))
    assert learner._model.field.leader is entries[1]
    assert learner.selection_[0].setting == entries[1].setting._asdict()
    assert learner._model.next_review == 120
    assert all(weight >= 0.0 for weight in learner._model.shares)


def test_a_race_among_points_in_the_plane_predicts_new_answers():
    T = answers(25, 4000)
    learner = racer(25).fit(T[:3000])
    fixed = [ERKLE(25, kernel=LowRank(rank), random_state=0).fit(T[:3000]).score(T[3000:]) for rank in (2, 10)]
    assert learner.score(T[3000:]) > max(0.9, *fixed)
    assert learner.n_active_ > 0
    assert learner.n_eigenpairs_ == learner.n_active_


def test_no_rank_beyond_forty_is_tried():
    assert racing._largest_rank(10**6) == 40

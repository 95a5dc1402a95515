"""Laws of the race: it learns a good mixture, and no candidate misses an answer."""

import itertools
import signal

import numpy as np
import pytest

from erkle import ERKLE, LowRank
from erkle.datasets import make_gaussian
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.models import Answers, racing
from erkle.online.models.racing import OnlineProposals, OnlineSetting, Racing
from erkle.online.selection.candidates import Candidates, Entry
from erkle.online.selection.evidence import Evidence
from parts import answers, state


def racer(n=12, **parameters):
    return ERKLE(n, kernel=LowRank(consolidate="off"), random_state=0, **parameters)


def test_the_selection_lists_all_candidates():
    learner = racer(30).fit(answers(30, 2500))
    rows = learner.selection_
    assert sum(row.weight for row in rows) == pytest.approx(1.0)
    assert [row.status for row in rows].count("leads") == 1
    assert all(
        row.status == "leads" or row.status == "runs" or row.status.startswith("eliminated after") for row in rows
    )
    assert all(set(row.setting) == {"rank", "trace", "rate"} for row in rows)
    assert len({tuple(row.setting.values()) for row in rows}) == len(rows)
    running = [row for row in rows if not row.status.startswith("eliminated")]
    assert len(running) <= 4
    assert all(0.0 <= row.error <= 1.0 and row.loss > 0.0 for row in running)
    weights = [row.weight for row in running]
    assert weights == sorted(weights, reverse=True)
    assert len(rows) > 3


def test_the_embedding_the_matrix_and_the_decisions_belong_to_one_mixture():
    learner, T = racer().fit(answers(12, 150)), answers(12, 60, seed=4)
    K, X = learner.kernel_matrix(), learner.embedding()
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, np.diag(K)[:, None] + np.diag(K) - 2 * K, atol=1e-9)
    a, b, c = T.T
    np.testing.assert_allclose(learner.decision_function(T), distances[a, c] - distances[a, b], atol=1e-9)
    parts = sum(share * kernel.matrix() for kernel, share in learner._model.kernel.parts)
    np.testing.assert_allclose(K, parts, atol=1e-9)


def test_a_review_brings_all_kernels_to_the_leaders_scale():
    learner = racer().fit(answers(12, 120, flipped=0.1))
    candidates, T = learner._model.candidates, learner.history_
    assert learner._model.next_review > 120
    leading, weights = candidates.scale(candidates.leader, T), candidates.weights()
    for entry, share, weight in zip(candidates.entries, learner._model.shares, weights, strict=True):
        assert share * candidates.scale(entry, T) == pytest.approx(weight * leading)


def test_ranks_start_below_the_number_of_objects_and_can_grow_with_it():
    learner = racer(3).fit([(0, 1, 2)])
    assert {entry.setting.rank for entry in learner._model.candidates.entries} == {2}
    learner.add_objects(20).partial_fit(answers(23, 1500))
    assert learner.score(answers(23, 1500)) > 0.7
    assert max(row.setting["rank"] for row in learner.selection_) > 2


def test_larger_ranks_are_tried_if_the_leader_has_the_largest():
    T = make_gaussian(23, 5, 4000, random_state=0).triplets
    grown = racer(3).fit([(0, 1, 2)]).add_objects(20).partial_fit(T[:3000])
    assert grown.score(T[3000:]) > racer(23).fit(T[:3000]).score(T[3000:]) - 0.03


def test_two_candidates_start_and_two_follow_at_five_answers_per_object():
    T = answers(50, 300)
    # Reviews are at 208 and at 250 answers.
    early, late = (
        {tuple(entry.setting) for entry in racer(50).fit(T[:n])._model.candidates.entries} for n in (249, 250)
    )
    assert early == {(10, 0.0, 3.0), (10, 2e-3, 1.0)}
    assert late == {*early, (2, 2e-3, 1.0), (5, 0.0, 10.0)}


def test_no_rank_reaches_the_number_of_objects():
    learner = racer(4).fit(answers(4, 300))
    assert max(row.setting["rank"] for row in learner.selection_) == 3


@pytest.mark.parametrize(("behind", "left"), [(19.0, 2), (21.0, 1)])
def test_a_race_keeps_candidates_up_to_twenty_nats_behind(behind, left):
    model = Racing(50)
    for entry, loss in zip(model.candidates.entries, (10.0, 10.0 + behind), strict=True):
        entry.evidence.sums[:] = loss, 10.0, 100.0
    model.review(100, Answers(answers(50, 100).astype(np.int32), np.full(100, np.nan), 0.0))
    assert len(model.candidates.entries) == left


def test_a_retired_follower_comes_back_only_as_a_neighbour():
    candidates, follows = Racing(50).candidates, OnlineSetting(2, 2e-3, 1.0)
    candidates.leader.setting = OnlineSetting(20, 8e-3, 0.3)
    assert follows in OnlineProposals().neighbours(candidates, 500)
    candidates.eliminated[follows] = 200
    assert follows not in OnlineProposals().neighbours(candidates, 500)
    candidates.leader.setting = follows._replace(rank=3)
    assert OnlineProposals().neighbours(candidates, 500)[-1] == follows
    assert OnlineProposals().neighbours(candidates, 249) == []


def test_neighbours_differ_in_trace_first_then_in_rate_then_in_rank():
    assert [tuple(pace) for pace in racing._neighbours_of(OnlineSetting(5, 5e-4, 3.0), 50)] == [
        (5, 2e-3, 3.0),
        (5, 0.0, 3.0),
        (5, 5e-4, 1.0),
        (5, 5e-4, 10.0),
        (3, 5e-4, 3.0),
        (10, 5e-4, 3.0),
    ]
    few = [tuple(pace) for pace in racing._neighbours_of(OnlineSetting(5, 8e-3, 10.0), 8)]
    assert few == [(5, 2e-3, 10.0), (5, 8e-3, 3.0), (3, 8e-3, 10.0)]


@pytest.mark.parametrize(
    ("top", "trace", "per_object", "urgent"),
    [
        (5, 0.0, 1, 10),
        (5, 2e-3, 1, 10),
        (10, 0.0, 9, None),
        (10, 0.0, 10, 20),
        (10, 2e-3, 10, None),
        (20, 0.0, 99, None),
    ],
)
def test_a_larger_rank_is_urgent_if_the_leader_has_the_largest_and_there_are_enough_answers(
    top, trace, per_object, urgent
):
    candidates, paces = Racing(50).candidates, [OnlineSetting(rank, trace, 3.0) for rank in (top, 2)]
    candidates.entries = [Entry(pace, LowRankKernel(50, pace.rank), Evidence()) for pace in paces]
    expected = [] if urgent is None else [paces[0]._replace(rank=urgent)]
    for leader, wanted in zip(candidates.entries, (expected, []), strict=True):
        candidates.leader = leader
        assert OnlineProposals().urgent(candidates, 50 * per_object) == wanted


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("at", [0, 1, 5])
def test_after_an_interruption_all_candidates_have_learned_the_same_answers(at, passes, monkeypatch):
    T = answers(12, 400, flipped=0.2)
    learner, whole = racer(passes=passes).fit(T[:50]), racer(passes=passes).fit(T)
    calls, learn = itertools.count(), LowRankKernel.learn

    def interrupted(kernel, rule, stretch):
        if next(calls) == at:
            signal.raise_signal(signal.SIGINT)
        learn(kernel, rule, stretch)

    with monkeypatch.context() as patch:
        patch.setattr(LowRankKernel, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[50:])
    seen = learner.n_triplets_seen_
    assert 50 < seen <= 400
    assert len(learner._replay.history) == seen
    # The next call makes the review that has become due, even if it has nothing to learn.
    assert state(learner.partial_fit([])) == state(racer(passes=passes).fit(T[:seen]))
    learner.partial_fit(T[seen:])
    assert state(learner) == state(whole)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("where", [(Candidates, "review"), (Candidates, "shares"), (racing, "next_review")])
def test_an_interrupted_review_is_repeated_and_nothing_is_lost(where, saved, monkeypatch, tmp_path):
    T = answers(12, 400, flipped=0.2)
    learner, whole = racer().fit(T[:50]), racer().fit(T)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[50:])
    seen = learner.n_triplets_seen_
    assert seen == learner._model.next_review
    if saved:
        learner.save(tmp_path / "learner.npz")
        learner = ERKLE.load(tmp_path / "learner.npz")
    assert state(learner.partial_fit(T[seen:])) == state(whole)


def test_a_review_chooses_the_leader_by_its_predictions():
    learner = racer().fit(answers(12, 99))
    better = learner._model.candidates.entries[1]
    better.evidence.sums[:-2] -= 30.0
    learner.partial_fit(answers(12, 1))
    assert learner._model.candidates.leader.setting == better.setting
    assert learner.selection_[0].setting == better.setting._asdict()
    assert learner._model.next_review == 120
    assert all(weight >= 0.0 for weight in learner._model.shares)


def test_a_race_predicts_new_answers_about_points_in_the_plane():
    T = answers(25, 4000)
    learner = racer(25).fit(T[:3000])
    fixed = [ERKLE(25, kernel=LowRank(rank), random_state=0).fit(T[:3000]).score(T[3000:]) for rank in (2, 10)]
    assert learner.score(T[3000:]) > max(0.9, *fixed)
    assert learner.counters_.n_active > 0
    assert learner.counters_.n_eigenpairs == learner.counters_.n_active


def test_no_rank_above_forty_is_tried():
    assert racing._largest_rank(10**6) == 40


@pytest.mark.parametrize("part", ["values", "B"])
def test_a_kernel_that_is_not_finite_is_an_error_and_not_an_endless_loop(part):
    learner = racer().fit(answers(12, 50))
    getattr(learner._model.candidates.entries[1].model._state, part)[:] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        learner.partial_fit(answers(12, 20))
    assert learner.n_triplets_seen_ == 50

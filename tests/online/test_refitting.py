"""Laws of consolidation: all answers are fitted from time to time, nothing is lost, and predictions improve."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from erkle import ERKLE, AnswerModel, Dense, LowRank
from erkle._compiled import fitting
from erkle.datasets import make_gaussian
from erkle.online.models import Answers, minimising, refitting
from erkle.online.models.fit_proposals import FitProposals
from erkle.online.models.fits import TUNING, FitSetting
from erkle.online.models.refitting import Refitting, automatic_share
from erkle.online.selection.candidates import Candidates, Entry
from erkle.online.selection.evidence import Evidence
from erkle.triplets import sample
from parts import answers, state

SPECS = {"chosen": LowRank(), "chosen, rarely": LowRank(consolidate=0.5), "given": LowRank(3, 1e-3, 0.2)}
SPEC = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
ESTIMATED = AnswerModel(1.5, 0.4, 0.1)


def given(T):
    """Answers of unknown participants."""
    return Answers(T.astype(np.int32), np.full(len(T), np.nan), 0.0)


def learner_of(spec=SPECS["chosen"], n=12, **parameters):
    return ERKLE(n, kernel=spec, random_state=0, **parameters)


class Reviews:
    """Counts the calls of a function, and can raise in one of them. Threads may call it."""

    def __init__(self, monkeypatch, owner, name, raises_at=None, error=KeyboardInterrupt):
        self.calls, original, lock = 0, getattr(owner, name), threading.Lock()

        def counted(*arguments, **options):
            with lock:
                self.calls += 1
                number = self.calls
            if number == raises_at:
                raise error
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)


# The schedule.


def test_the_automatic_share_grows_with_the_stream_up_to_one():
    least = TUNING.review_share
    assert automatic_share(10**5, 10) == pytest.approx(least, rel=0.01)
    assert automatic_share(1000, 100) > 1.1 * least
    assert 2.0 * least < automatic_share(10**6, 10) < automatic_share(10**7, 10) <= 1.01
    assert automatic_share(10**9, 100) == pytest.approx(1.0)
    assert automatic_share(10_000, 100_000) > 2.0 * automatic_share(10_000, 100)


@pytest.mark.parametrize(
    ("share", "expected"), [(1.0, [10, 20, 40, 80, 160, 320]), (0.5, [10, 15, 23, 35, 53, 80, 120])]
)
def test_all_answers_are_fitted_whenever_their_number_has_grown_by_the_share(share, expected, monkeypatch):
    fitted, fit = [], Refitting._fit_all
    monkeypatch.setattr(
        Refitting, "_fit_all", lambda self, known, *rest: (fitted.append(len(known.T)), fit(self, known, *rest))
    )
    learner_of(LowRank(3, 0.01, share)).fit(answers(12, 330))
    assert fitted[: len(expected)] == expected


def test_the_number_of_fits_grows_logarithmically(monkeypatch):
    reviews = Reviews(monkeypatch, Refitting, "review")
    learner_of(LowRank(2, 0.01, 0.2)).fit(answers(12, 2000))
    assert reviews.calls < 35


BRIEF, EXACT = TUNING.brief_iterations, TUNING.exact_iterations


@pytest.mark.parametrize(
    ("n", "seen", "share", "iterations"),
    [
        (100, 10, None, BRIEF),
        (100, 999, None, BRIEF),
        (100, 1000, None, EXACT),
        (100, 10, 0.2, EXACT),
        (5000, 10, None, BRIEF),
        (20_000, 10, None, 2 * EXACT),
        (20_000, 10, 1.0, 2 * EXACT),
    ],
)
def test_the_automatic_schedule_uses_short_fits_while_answers_and_objects_are_few(
    n, seen, share, iterations, monkeypatch
):
    asked = []

    def asking(model, T, lapses, penalty, prior, X, iterations, tol, stop):
        asked.append(iterations)
        return 0.0

    monkeypatch.setattr(minimising, "minimise", asking)
    Refitting(n, share, seed=0, rank=2, trace=0.01).review(seen, given(answers(10, 10)))
    assert set(asked) == {iterations}


def test_fits_of_more_answers_or_objects_have_at_least_as_many_iterations():
    for exact in (False, True):
        by_seen = [refitting._iterations(exact, seen, 100) for seen in (10, 10**4, 10**5, 10**6, 10**7)]
        by_objects = [refitting._iterations(exact, 1000, n) for n in (10, 5000, 10**4, 10**5, 10**6)]
        assert by_seen == sorted(by_seen)
        assert by_objects == sorted(by_objects)
        assert by_seen[-1] > by_seen[0] == by_objects[0] < by_objects[-1]


# The fits.


def test_an_explicit_fit_lowers_the_objective_and_replaces_the_kernel():
    T = answers(12, 300, flipped=0.1)
    learner = learner_of(LowRank(3, 1e-3, 100.0)).fit(T)

    before = {entry.setting.answers: entry.model.copy() for entry in learner._model.candidates.entries}
    assert learner.consolidate() is None
    mixed = next(entry for entry, weight in learner._model._parts() if weight > 0.0)
    model = mixed.evidence.answer_model

    def objective(X):
        G = np.empty_like(X)
        lapses = np.full(len(T), model.lapse)
        return fitting.objective(model, T, lapses, fitting.Penalty(1e-3 * len(T), 0.0), fitting.NO_PRIOR, X, G), G

    value, gradient = objective(mixed.model)
    assert value < objective(before[mixed.setting.answers])[0]
    assert np.abs(gradient).max() < 0.1
    assert mixed.setting.ridge == pytest.approx(1e-3 * len(T))
    assert learner.n_triplets_seen_ == 300


def test_the_kernel_is_the_mixture_of_the_fits_at_the_leaders_scale():
    learner = learner_of(n=20).fit(answers(20, 400, flipped=0.1))
    learner.consolidate()
    candidates, K = learner._model.candidates, np.zeros((20, 20))
    for entry, share in zip(candidates.entries, candidates.shares(learner.history_), strict=True):
        X = centred(entry.model[:, :-1])
        K += share * X @ X.T
    X = learner.embedding()
    # The mixture is cut to a rank that leaves out next to nothing.
    assert np.linalg.norm(X @ X.T - K) < 0.02 * np.linalg.norm(K)
    spread = [
        candidates.scale(entry, learner.history_) * share
        for entry, share in zip(candidates.entries, candidates.shares(learner.history_), strict=True)
    ]
    assert sum(spread) == pytest.approx(candidates.scale(candidates.leader, learner.history_))


def centred(X):
    return X - X.mean(axis=0)


@SPEC
def test_a_review_brings_predictions_to_the_scale_of_the_fits_they_belong_to(spec, monkeypatch):
    T, review, before = answers(12, 1000, flipped=0.1), Refitting.review, {}
    learner = learner_of(spec).fit(T[:10])

    def key(entry):
        # If the rank is given, only the answer model differs, and the ridge grows with the answers.
        return entry.setting._replace(ridge=0.0) if learner._model.fixed else entry.setting

    def watched(model, seen, known):
        before.clear()
        before.update({key(entry): model.candidates.scale(entry, known.T) for entry in model.candidates.entries})
        review(model, seen, known)

    monkeypatch.setattr(Refitting, "review", watched)
    entered = 0
    while (due := learner._model.next_review) <= len(T):
        learner.partial_fit(T[learner.n_triplets_seen_ : due])
        candidates, evidence = learner._model.candidates, learner._model.evidence
        shares = candidates.shares(learner.history_)
        mixed = sum(share * entry.evidence.window for entry, share in zip(candidates.entries, shares, strict=True))
        np.testing.assert_allclose(evidence.window, mixed, rtol=1e-4, atol=1e-6)
        leader = candidates.leader
        for entry in candidates.entries:
            if not entry.evidence.n_own and before[key(leader)]:
                entered += 1
                factor = candidates.scale(entry, learner.history_) / before[key(leader)]
                np.testing.assert_allclose(entry.evidence.window, factor * leader.evidence.window, rtol=1e-4)
    assert entered > 0


@SPEC
def test_consolidating_again_changes_little(spec):
    T = answers(12, 400)
    learner = learner_of(spec).fit(T)
    learner.consolidate()
    first = learner.decision_function(T)
    learner.consolidate()
    second = learner.decision_function(T)
    assert np.mean((first > 0) == (second > 0)) > 0.98


@pytest.mark.parametrize("kernel", [Dense(), LowRank(3), LowRank(consolidate="off")])
def test_a_learner_without_fits_refuses_to_consolidate(kernel):
    learner = ERKLE(6, kernel=kernel).fit(answers(6, 20))
    with pytest.raises(ValueError, match="consolidate"):
        learner.consolidate()


@SPEC
def test_consolidating_before_the_first_answer_does_nothing(spec):
    learner = learner_of(spec)
    learner.consolidate()
    assert learner.n_triplets_seen_ == 0
    assert learner.consolidate(background=True).result() is None
    learner.partial_fit(answers(12, 50))
    assert learner.n_triplets_seen_ == 50


def test_equal_random_states_give_equal_learners():
    T = answers(12, 200)
    first, again, other = (ERKLE(12, random_state=seed).fit(T) for seed in (0, 0, 1))
    assert state(first) == state(again)
    assert state(first) != state(other)


def test_the_selection_lists_all_fits():
    learner = learner_of(n=20).fit(answers(20, 1000))
    rows = learner.selection_
    assert sum(row.weight for row in rows) == pytest.approx(1.0)
    assert [row.status for row in rows].count("leads") == 1
    assert all(set(row.setting) == {"rank", "ridge", "shift", "answers"} for row in rows)
    running = [row for row in rows if not row.status.startswith("eliminated")]
    assert 1 <= len(running) <= TUNING.most_settled
    assert rows[0].setting["rank"] <= 5
    assert all(row.answer_model is not None for row in running)
    assert len({row.setting["answers"] for row in rows}) > 1


@pytest.mark.parametrize("consolidated", [False, True])
def test_with_a_given_rank_only_the_answer_model_is_chosen(consolidated):
    learner = learner_of(LowRank(3, 1e-3, 0.2)).fit(answers(12, 1500, flipped=0.15))
    if consolidated:
        learner.consolidate()
        learner.partial_fit(answers(12, 500, flipped=0.15))
    rows = learner.selection_
    [fitted] = {row.setting["ridge"] for row in rows}
    assert 1e-3 * 1000 < fitted <= 1e-3 * learner.n_triplets_seen_
    assert {(row.setting["rank"], row.setting["shift"]) for row in rows} == {(3, 0.0)}
    # Each answer model is listed once: eliminated settings follow the number of answers, too.
    assert len(rows) == len({row.setting["answers"] for row in rows}) > 1


# What is tried next.


def neighbours(setting, n=30, fixed=False, seed=0):
    model = Refitting(n, None, 0)
    leader = model.candidates.leader
    leader.setting, leader.model = setting, np.random.default_rng(seed).normal(size=(n, setting.rank + 1))
    return list(FitProposals(0, fixed, None, {}).neighbours(model.candidates, 100))


def test_neighbours_differ_from_the_leader_in_one_field_and_the_answer_model_comes_first():
    leader = FitSetting(3, 0.3)
    found = neighbours(leader)
    differing = [[name for name in FitSetting._fields if getattr(leader, name) != getattr(at, name)] for at in found]
    assert all(len(names) == 1 for names in differing)
    fields = [name for [name] in differing]
    assert fields == sorted(fields, key=["answers", "ridge", "rank", "shift"].index)
    assert {at.rank for at in found} == {2, 3, 5}
    assert {at.ridge for at in found} == {0.1, 0.3, 1.0}
    assert {at.shift for at in found} == {0.0, TUNING.shift_ridge}
    assert {at.rank for at in neighbours(leader, fixed=True)} == {3}
    assert {at.ridge for at in neighbours(leader, fixed=True)} == {0.3}


def test_with_few_objects_the_largest_rank_has_the_next_smaller_rank_as_a_neighbour():
    assert {at.rank for at in neighbours(FitSetting(11, 0.3), n=12)} == {10, 11}


def test_a_larger_rank_is_tried_only_if_the_leader_uses_all_its_dimensions():
    model = Refitting(30, None, 0)
    leader = model.candidates.leader
    leader.setting, leader.model = FitSetting(3, 0.3), np.random.default_rng(0).normal(size=(30, 4))
    assert 5 in {at.rank for at in FitProposals(0, False, None, {}).neighbours(model.candidates, 100)}
    leader.model[:, 2] = 0.0
    assert 5 not in {at.rank for at in FitProposals(0, False, None, {}).neighbours(model.candidates, 100)}


@pytest.mark.parametrize("answers_as", ["ratio", "squares", "estimated"])
def test_lapses_of_participants_are_used_as_they_are_or_beyond_the_typical_ones(answers_as):
    setting, known = FitSetting(3, 0.3, answers=answers_as), np.array([0.05, 0.05, 0.3, np.nan])
    T = np.zeros((4, 3), np.int32)
    found = setting.lapses(Answers(T, known, 0.05))
    if setting.answer_model is None:
        np.testing.assert_array_equal(found, known)
    else:
        # A fixed model without slips stays as it is for the typical participant.
        np.testing.assert_allclose(found, [0.0, 0.0, 0.25 / 0.9, np.nan])
    assert np.isnan(setting.lapses(Answers(T, np.full(4, np.nan), 0.0))).all()
    assert (setting.lapses(Answers(T, np.full(4, 0.5), 0.5)) == 0.5).all()


def test_a_saved_learner_fits_many_new_objects_like_the_original(monkeypatch):
    monkeypatch.setattr(refitting, "TUNING", refitting.TUNING._replace(many_objects=10))
    T, later = answers(8, 100), answers(40, 400)
    straight, saved = learner_of(n=8).fit(T), pickle.loads(pickle.dumps(learner_of(n=8).fit(T)))
    straight.add_objects(32).partial_fit(later)
    saved.add_objects(32).partial_fit(later[:150])
    assert state(pickle.loads(pickle.dumps(saved)).partial_fit(later[150:])) == state(straight)


@SPEC
def test_objects_added_later_are_placed_by_their_answers(spec):
    learner = learner_of(spec, n=8)
    for n, size in ((8, 60), (9, 70), (15, 300)):
        learner.add_objects(n - (learner.n_objects_ if learner.__sklearn_is_fitted__() else 8))
        learner.partial_fit(answers(n, size))
    learner.consolidate()
    assert learner.embedding().shape[0] == 15
    assert learner.score(answers(15, 300)) > 0.85


def test_ranks_can_grow_with_the_number_of_objects():
    learner = learner_of(n=3).fit([(0, 1, 2)] * 20)
    assert max(row.setting["rank"] for row in learner.selection_) <= 2
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(33, 6)), sample(33, 3000, rng)
    a, b, c = X[T.T]
    swap = ((a - b) ** 2).sum(axis=1) > ((a - c) ** 2).sum(axis=1)
    T[swap, 1:] = T[swap, :0:-1]
    learner.add_objects(30).partial_fit(T)
    assert max(row.setting["rank"] for row in learner.selection_) > 2


# Interruptions.


def candidates_now(learner):
    """What an interrupted review must not change."""
    candidates = learner._model.candidates
    entries = [
        (entry.setting, entry.model.tobytes(), [array.tobytes() for array in entry.evidence.arrays().values()])
        for entry in candidates.entries
    ]
    return entries, candidates.leader.setting, candidates.eliminated


@SPEC
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(
    ("where", "at"),
    [
        *(((minimising, "minimise"), at) for at in (1, 2, 3, 20)),
        *(((Candidates, "scale"), at) for at in (1, 2, 3)),
        *(((Evidence, "with_window"), at) for at in (1, 2)),
        *(((refitting, "next_review"), at) for at in (1, 3)),
    ],
)
def test_an_interrupted_review_is_repeated_and_nothing_is_lost(where, at, saved, spec, monkeypatch, tmp_path):
    T = answers(12, 120, flipped=0.1)
    learner = learner_of(spec).fit(T[:15])
    with monkeypatch.context() as patch:
        reviewed, review = [], Refitting.review

        def watched(model, seen, known):
            reviewed.append(candidates_now(learner))
            review(model, seen, known)

        patch.setattr(Refitting, "review", watched)
        Reviews(patch, *where, raises_at=at)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[15:])
    seen = learner.n_triplets_seen_
    assert candidates_now(learner) == reviewed[-1]
    assert seen == len(learner._replay.history) == learner._model.next_review
    assert np.isfinite(learner.embedding()).all()
    if saved:
        learner.save(tmp_path / "learner.npz")
        learner = ERKLE.load(tmp_path / "learner.npz")
    reviews = Reviews(monkeypatch, Refitting, "review")
    learner.partial_fit([])
    assert reviews.calls == 1
    learner.partial_fit(T[seen:])
    assert state(learner) == state(learner_of(spec).fit(T))


def test_a_review_that_is_interrupted_while_candidates_enter_leaves_them_as_they_were(monkeypatch):
    T = answers(12, 120, flipped=0.1)
    learner = learner_of().fit(T[:15])
    with monkeypatch.context() as patch:
        Reviews(patch, FitProposals, "begin", raises_at=1)
        learner._model.candidates.entries = learner._model.candidates.entries[:3]
        before = candidates_now(learner)
        with pytest.raises(KeyboardInterrupt):
            learner._model.review(15, given(T[:15]))
    assert candidates_now(learner) == before


def test_ctrl_c_takes_effect_while_fits_run_and_tells_them_to_stop(monkeypatch):
    T = answers(12, 120, flipped=0.1)
    learner, told, once = learner_of().fit(T[:15]), [], threading.Lock()

    def endless(model, T, lapses, penalty, prior, X, iterations, tol, stop):
        if once.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGINT)
        end = time.monotonic() + 30.0
        while not stop[0] and time.monotonic() < end:
            time.sleep(0.001)
        told.append(bool(stop[0]))
        return 0.0

    with monkeypatch.context() as patch:
        patch.setattr(minimising, "minimise", endless)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[15:])
    # Python does not wait for a thread if Ctrl-C comes while the thread is being started.
    end = time.monotonic() + 30.0
    while not told and time.monotonic() < end:
        time.sleep(0.001)
    assert told
    assert all(told)
    assert state(learner.partial_fit(T[learner.n_triplets_seen_ :])) == state(learner_of().fit(T))


def test_an_interruption_between_two_fits_loses_nothing(monkeypatch):
    T = answers(12, 200)
    learner = learner_of(LowRank(3, 1e-3, 0.5)).fit(T[:60])
    learn = refitting.LowRankKernel.learn

    def late(kernel, rule, stretch):
        learn(kernel, rule, stretch)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(refitting.LowRankKernel, "learn", late)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[60:])
    seen = learner.n_triplets_seen_
    assert seen > 60
    assert state(learner.partial_fit(T[seen:])) == state(learner_of(LowRank(3, 1e-3, 0.5)).fit(T))


# Accuracy.


def simulated(n, width, size, flipped=0.0, seed=0):
    """Answers about points, some of them wrong, and as many correct answers to test with."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, width)), sample(n, 2 * size, rng)
    a, b, c = X[T.T]
    wrong = np.arange(2 * size) < size
    swap = (((a - b) ** 2).sum(axis=1) > ((a - c) ** 2).sum(axis=1)) ^ (wrong & (rng.random(2 * size) < flipped))
    T[swap, 1:] = T[swap, :0:-1]
    return T[:size], T[size:]


def test_it_is_more_accurate_than_the_dense_kernel_for_points_in_the_plane():
    train, test = simulated(30, 2, 1500)
    error = 1 - learner_of(n=30).fit(train).score(test)
    assert error < 0.12
    assert error < 1 - ERKLE(30, kernel=Dense()).fit(train).score(test)


@pytest.mark.parametrize(("n", "width", "size", "share"), [(30, 2, 1500, 0.55), (60, 5, 3000, 0.75)])
def test_it_is_far_more_accurate_than_the_dense_kernel_if_a_fifth_of_the_answers_is_wrong(n, width, size, share):
    """It makes less than half the errors at n = 90, d = 5 and 10,000 answers, which takes longer (`make people`)."""
    train, test = simulated(n, width, size, flipped=0.2)
    learner = learner_of(n=n).fit(train)
    assert 1 - learner.score(test) <= share * (1 - ERKLE(n, kernel=Dense()).fit(train).score(test))


def test_an_explicit_fit_has_room_for_the_rank_of_a_new_leader(monkeypatch):
    learner = learner_of(n=60).fit(answers(60, 300))
    monkeypatch.setattr(Refitting, "_fit", lambda self, entry, *rest: entry.model)
    candidates = learner._model.candidates
    low, high = candidates.entries[:2]
    X = np.random.default_rng(0).normal(size=(60, 41))
    low.setting, low.model, high.setting, high.model = FitSetting(3, 0.01), X[:, -4:], FitSetting(40, 0.01), X
    candidates.entries, candidates.leader = [low, high], low
    low.evidence.n_own = high.evidence.n_own = 1
    high.evidence.sums[:] = low.evidence.sums - [100.0, 0.0, 0.0]
    learner.consolidate()
    assert learner._model.kernel.rank > TUNING.widest


@pytest.mark.parametrize("per_object", [1.0, 2.0, 2.9, 3.0, 6.0])
def test_while_answers_are_few_each_answer_moves_the_shifts_of_its_objects(per_object):
    T = make_gaussian(200, 50, 1500, random_state=0).triplets
    learner = learner_of(n=200).fit(T[: round(200 * per_object)])
    # Fit little but shifts now, and put the next fit far away.
    model = learner._model
    candidates, setting = model.candidates, FitSetting(2, 4.0, TUNING.shift_ridge)
    candidates.entries = [Entry(setting, np.zeros((200, 3)), Evidence(fixed=setting.answer_model))]
    candidates.leader = candidates.entries[0]
    model._fit_all(given(learner.history_), candidates.entries, 50, 1e-6)
    model._mix(learner.history_)
    model.next_review = 10**9
    before = model.kernel.shifts
    _, near, far = answer = next(row for row in T[1300:].tolist() if before[row[1]] > 0.5)
    slope_near, slope_far = model.answer_model.slopes(*learner.distances([answer])[0])
    learner.learn_one(answer)
    change = np.zeros(200)
    if per_object < TUNING.shifts_move_until:
        # A Newton step, where each of the two objects has a curvature of one fifth.
        curvature = 2.0 * TUNING.shift_ridge + 0.4 * per_object
        change[near], change[far] = -slope_near / curvature, -slope_far / curvature
    np.testing.assert_allclose(model.kernel.shifts - before, change, atol=1e-9)


def test_answers_move_no_shifts_if_no_fit_has_shifts():
    learner = learner_of(LowRank(3, 1e-3, 0.2), n=60)
    for T in np.split(answers(60, 120), 12):
        learner.partial_fit(T)
        assert not learner.shifts_.any()

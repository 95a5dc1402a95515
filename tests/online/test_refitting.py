"""Laws of consolidation: all answers are fitted from time to time, nothing is lost, and predictions improve."""

import pickle

import numpy as np
import pytest
import scipy.special

from erkle import ERKLE, Dense, LowRank
from erkle.batch import minimisers
from erkle.batch.objective import ByMap, terms_of
from erkle.datasets import make_gaussian
from erkle.losses import STE
from erkle.online.models import refitting
from erkle.online.models.fits import FitSetting
from erkle.online.models.refitting import Refitting, automatic_share
from erkle.online.selection.candidates import Entry
from erkle.online.selection.evidence import Evidence
from erkle.triplets import sample
from parts import answers, state

SPECS = {"chosen": LowRank(), "chosen, rarely": LowRank(consolidate=0.5), "given": LowRank(3, 1e-3, 0.2)}
SPEC = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


def learner_of(spec=SPECS["chosen"], n=12, **parameters):
    return ERKLE(n, kernel=spec, random_state=0, **parameters)


class Reviews:
    """Counts the calls of a method, and can raise in one of them."""

    def __init__(self, monkeypatch, owner, name, raises_at=None, error=KeyboardInterrupt):
        self.calls, original = 0, getattr(owner, name)

        def counted(*arguments, **options):
            self.calls += 1
            if self.calls == raises_at:
                raise error
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)


# The schedule.


def test_the_automatic_share_grows_with_the_stream_up_to_one():
    assert automatic_share(1000, 100) == pytest.approx(0.05 * 1.15)
    assert automatic_share(40_000, 10) == pytest.approx(0.1, rel=0.01)
    assert automatic_share(10**9, 100) == pytest.approx(1.0)
    assert automatic_share(10_000, 5000) > 2.0 * automatic_share(10_000, 100)


@pytest.mark.parametrize(
    ("share", "expected"), [(1.0, [10, 20, 40, 80, 160, 320]), (0.5, [10, 15, 23, 35, 53, 80, 120])]
)
def test_all_answers_are_fitted_whenever_their_number_has_grown_by_the_share(share, expected, monkeypatch):
    fitted, fit = [], Refitting._fit_all
    monkeypatch.setattr(Refitting, "_fit_all", lambda self, T, *rest: (fitted.append(len(T)), fit(self, T, *rest)))
    learner_of(LowRank(3, 0.01, share)).fit(answers(12, 330))
    assert fitted[: len(expected)] == expected


def test_the_number_of_fits_grows_logarithmically(monkeypatch):
    reviews = Reviews(monkeypatch, Refitting, "review")
    learner_of(LowRank(2, 0.01, 0.2)).fit(answers(12, 2000))
    assert reviews.calls < 35


@pytest.mark.parametrize(
    ("n", "seen", "share", "iterations"),
    [
        (100, 10, None, 8),
        (100, 999, None, 8),
        (100, 1000, None, 15),
        (100, 10, 0.2, 15),
        (2000, 10, None, 9),
        (5000, 10, None, 15),
        (20_000, 10, None, 30),
        (100_000, 10, 1.0, 67),
    ],
)
def test_the_automatic_schedule_uses_short_fits_while_answers_and_objects_are_few(
    n, seen, share, iterations, monkeypatch
):
    asked = []

    def asking(function, X, max_iter, tol):
        asked.append(max_iter)
        return X, True

    monkeypatch.setattr(minimisers, "quasi_newton", asking)
    Refitting(n, share, seed=0, rank=2, trace=0.01).review(seen, answers(10, 10).astype(np.int32))
    assert asked == [iterations]


# The fits.


def test_an_explicit_fit_lowers_the_objective_and_replaces_the_kernel():
    T = answers(12, 300, flipped=0.1)
    learner = learner_of(LowRank(3, 1e-3, 100.0)).fit(T)
    objective = ByMap(terms_of(T, STE()), 1e-3 * len(T))
    before = objective(learner._model.candidates.leader.model)[0]
    assert learner.consolidate() is None
    X = learner._model.candidates.leader.model
    value, gradient = objective(X)
    assert value < before
    assert np.abs(gradient).max() < 0.1
    np.testing.assert_allclose(learner.embedding() @ learner.embedding().T, centred(X) @ centred(X).T, atol=1e-6)
    assert learner.n_triplets_seen_ == 300


def centred(X):
    return X - X.mean(axis=0)


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
    assert all(set(row.setting) == {"rank", "ridge", "shift"} for row in rows)
    running = [row for row in rows if not row.status.startswith("eliminated")]
    assert 1 <= len(running) <= 9
    assert rows[0].setting["rank"] <= 5
    (only,) = learner_of(LowRank(3, 1e-3, 0.2)).fit(answers(12, 100)).selection_
    assert (only.setting, only.weight, only.status) == (
        {"rank": 3, "ridge": pytest.approx(0.093), "shift": 0.0},
        1.0,
        "leads",
    )


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


@SPEC
@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupted_review_is_repeated_and_nothing_is_lost(at, spec, monkeypatch):
    T = answers(12, 120, flipped=0.1)
    learner = learner_of(spec).fit(T[:15])
    due = learner._model.next_review
    with monkeypatch.context() as patch:
        Reviews(patch, minimisers, "quasi_newton", raises_at=at)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[15:])
    seen = learner.n_triplets_seen_
    if at == 1:
        assert seen == due == learner._model.next_review
    assert seen == len(learner._replay.history) == learner._model.next_review
    assert np.isfinite(learner.embedding()).all()
    reviews = Reviews(monkeypatch, Refitting, "review")
    learner.partial_fit([])
    assert reviews.calls == 1
    learner.partial_fit(T[seen:])
    np.testing.assert_array_equal(learner._replay.history, T)
    assert learner.reliability_.n_answers.sum() == learner.n_triplets_seen_ == 120
    assert learner._model.next_review > 120
    assert learner.score(T) > 0.75


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
    monkeypatch.setattr(Refitting, "_fit", lambda *arguments: None)
    learner = learner_of(n=60).fit(answers(60, 300))
    candidates = learner._model.candidates
    low, high = candidates.entries[:2]
    X = np.random.default_rng(0).normal(size=(60, 41))
    low.setting, low.model, high.setting, high.model = FitSetting(3, 0.01), X[:, -4:], FitSetting(40, 0.01), X
    candidates.entries, candidates.leader = [low, high], low
    high.evidence.sums[:-2] = low.evidence.sums[:-2] - 100.0
    learner.consolidate()
    assert learner._model.kernel.rank > 25


@pytest.mark.parametrize(("per_object", "moves"), [(1.0, True), (2.0, True), (2.9, True), (3.0, False), (6.0, False)])
def test_while_answers_are_few_each_answer_moves_the_shifts_of_its_objects(per_object, moves):
    T = make_gaussian(200, 50, 1500, random_state=0).triplets
    learner = learner_of(n=200).fit(T[: round(200 * per_object)])
    # Fit little but shifts now, and put the next fit far away.
    model = learner._model
    model.candidates.entries = [Entry(FitSetting(2, 4.0, 0.3), np.zeros((200, 3)), Evidence())]
    model._fit_all(learner.history_, model.candidates.entries, 50, 1e-6)
    model.next_review = 10**9
    before = model.kernel.shifts
    _, near, far = answer = next(row for row in T[1300:].tolist() if before[row[1]] > 0.5)
    wrong = scipy.special.expit(-learner.decision_function([answer])[0])
    learner.learn_one(answer)
    rise = np.zeros(200)
    if moves:
        # A Newton step, where each of the two objects has a curvature of one fifth.
        rise[far] = wrong / (0.6 + 0.4 * per_object)
        rise[near] = -rise[far]
    np.testing.assert_allclose(model.kernel.shifts - before, rise, atol=1e-9)


def test_answers_move_no_shifts_if_no_fit_has_shifts():
    learner = learner_of(LowRank(3, 1e-3, 0.2), n=60)
    for T in np.split(answers(60, 120), 12):
        learner.partial_fit(T)
        assert not learner.shifts_.any()

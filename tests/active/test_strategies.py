"""Laws of strategies: what every one of them may choose whatever is known, and what each of them likes best."""

import math
from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import ERKLE, Dense, LowRank
from erkle.active import (
    STRATEGIES,
    Adaptive,
    Balanced,
    ExpectedChange,
    InformationGain,
    Questions,
    Random,
    Uncertainty,
)
from erkle.active import knowledge as knowing
from erkle.active import strategies as module
from erkle.active.information import head_information
from erkle.active.knowledge import Tally
from erkle.triplets import check, sample
from parts import KERNELS, answers, assert_is_a_sentence, named, state

N = 10
LEARNERS = [pytest.param(Dense(), id="exact"), *KERNELS]
ALL = named(STRATEGIES.values())
SCORED = named([Balanced(), Uncertainty(), ExpectedChange(), InformationGain(), Adaptive(explore=0.0)])
by_kernel = pytest.mark.parametrize("kernel", LEARNERS)
by_age = pytest.mark.parametrize("n_answers", [0, 1, 300])


def on_all_learners(strategies):
    """Every strategy with every learner, but that the exact kernel keeps no answers to gain information from."""
    both = [
        pytest.param(*strategy.values, *kernel.values, id=f"{strategy.id}-{kernel.id}")
        for strategy in strategies
        for kernel in LEARNERS
        if (strategy.id, kernel.id) != ("InformationGain", "exact")
    ]
    return pytest.mark.parametrize(("strategy", "kernel"), both)


@cache
def learned(kernel, n_answers, n=N, flipped=0.1):
    """A learner that no test may change."""
    return ERKLE(n, kernel=kernel, random_state=0).partial_fit(answers(n, n_answers, flipped=flipped))


def scores_of(monkeypatch, strategy):
    """All scores that it gives from now on."""
    seen, original = [], type(strategy)._scores

    def spy(self, *args):
        seen.append(original(self, *args))
        return seen[-1]

    monkeypatch.setattr(type(strategy), "_scores", spy)
    return seen


def keys(T, n=N):
    return Questions(n).keys(T).tolist()


@by_age
@on_all_learners(ALL)
def test_questions_are_sound_new_and_as_many_as_wanted(strategy, kernel, n_answers):
    learner, pending = learned(kernel, n_answers), sample(N, 40, random_state=3)
    Q = strategy.choose(learner, 35, 0, pending)
    assert Q.dtype == np.int64
    assert check(Q, N).shape == (35, 3)
    assert len(set(keys(Q))) == 35
    assert not set(keys(Q)) & set(keys(pending))
    assert strategy.choose(learner, 0, 0).shape == (0, 3)


@by_age
@on_all_learners(ALL)
def test_a_seed_decides_and_the_learner_does_not_change(strategy, kernel, n_answers):
    learner = learned(kernel, n_answers)
    before, K = state(learner), learner.kernel_matrix().copy()
    Q, again, other = (strategy.choose(learner, 20, seed).tolist() for seed in (1, np.random.default_rng(1), 2))
    assert Q == again != other
    assert state(learner) == before
    np.testing.assert_array_equal(learner.kernel_matrix(), K)


@on_all_learners(SCORED)
def test_scores_are_finite_and_tell_questions_apart_once_there_is_a_map(strategy, kernel, monkeypatch):
    seen = scores_of(monkeypatch, strategy)
    for n_answers in (0, 1, 300):
        strategy.choose(learned(kernel, n_answers), 12, 0)
        assert np.isfinite(np.concatenate(seen)).all()
    assert all(len(np.unique(scores)) > 3 for scores in seen[-12:])


@pytest.mark.parametrize("flipped", [0.0, 0.2])
@pytest.mark.parametrize("strategy", SCORED)
def test_a_hundred_thousand_answers_about_twenty_objects_are_no_trouble(strategy, flipped, monkeypatch):
    learner, seen = learned(LowRank(3), 100_000, 20, flipped), scores_of(monkeypatch, strategy)
    Q = strategy.choose(learner, 40, 0)
    assert len(set(keys(Q, 20))) == 40
    assert len(seen) == 40
    assert np.isfinite(np.concatenate(seen)).all()
    assert all(len(np.unique(scores)) > 3 for scores in seen)


triplet = st.permutations(range(5)).map(lambda order: tuple(order[:3]))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(triplet, st.sampled_from([1, 1, 1, 30])), max_size=8),
    st.lists(triplet, max_size=8),
    st.integers(0, 12),
    st.sampled_from([Dense(), LowRank(2), LowRank(consolidate="off")]),
    st.sampled_from(list(STRATEGIES.values())),
    st.integers(0, 2**32),
)
def test_whatever_was_answered_and_is_pending_new_questions_are_chosen(
    told, pending, n_queries, kernel, strategy, seed
):
    learner = ERKLE(5, kernel=kernel, random_state=0).partial_fit([row for row, times in told for _ in range(times)])
    if kernel == Dense() and isinstance(strategy, InformationGain):
        strategy = Uncertainty()
    with np.errstate(all="raise", under="ignore"):
        Q = strategy.choose(learner, n_queries, seed, pending)
    assert len(check(Q, 5)) == min(n_queries, 30 - len(set(keys(pending, 5))))
    assert len(set(keys(Q, 5)) | set(keys(pending, 5))) == len(Q) + len(set(keys(pending, 5)))


@pytest.mark.parametrize("strategy", ALL)
def test_everything_is_chosen_once_if_all_is_wanted_and_nothing_but_what_may_be(strategy):
    learner = learned(LowRank(3, 1e-3), 300)
    listed = sample(N, 60, random_state=1)
    taken, left_out, pending = listed[:9], listed[9:20], listed[20:30]
    questions = Questions(N, listed=listed, excluded=[3], left_out=left_out)
    for query in taken:
        questions.take(query)
    may = [row for row in listed.tolist() if 3 not in row]
    barred = Counter(keys(taken)) + Counter(dict.fromkeys(keys(left_out) + keys(pending), 99))
    wanted = (Counter(keys(may)) - barred).keys()
    assert sorted(keys(strategy.choose(learner, 1000, 0, pending, questions))) == sorted(wanted)
    assert len(strategy.choose(learner, 1000, 0)) == N * math.comb(N - 1, 2)
    few = Questions(N, excluded=[0, 1])
    assert strategy.choose(learner, 200, 0, (), few).min() == 2


@on_all_learners(SCORED)
def test_heads_take_turns(strategy, kernel):
    heads = strategy.choose(learned(kernel, 0), 3 * N + 4, 0)[:, 0]
    assert np.bincount(heads[: 3 * N], minlength=N).tolist() == [3] * N
    assert len(set(heads[3 * N :])) == 4


@pytest.mark.parametrize("strategy", SCORED)
def test_what_is_pending_counts_as_if_it_were_answered(strategy):
    learner = ERKLE(5, kernel=LowRank(2)).partial_fit([(0, 1, 2), (1, 2, 3)])
    heads = strategy.choose(learner, 8, 0, [(1, 3, 4), (2, 0, 1)])[:, 0].tolist()
    # 1, 2, 1, 0, 0 to begin with.
    assert sorted(heads[:2]) == [3, 4]
    assert sorted(heads[2:6]) == [0, 2, 3, 4]
    assert len(set(heads[6:])) == 2


@pytest.mark.parametrize("rng", ["x", -1, 0.5])
def test_what_draws_nothing_is_refused_in_a_sentence(rng):
    with pytest.raises(ValueError, match=r"^rng is .*; pass "):
        Adaptive().choose(learned(Dense(), 0), 1, rng)


def best(strategy, learner, head=0):
    """What it chooses of all pairs of the head, and those pairs."""
    questions = [(head, b, c) for b in range(N) for c in range(b + 1, N) if head not in (b, c)]
    [chosen] = strategy.choose(learner, 1, 0, (), Questions(N, listed=questions)).tolist()
    return questions.index(tuple(chosen)), np.array(questions)


@by_kernel
def test_uncertainty_is_about_the_most_equal_distances(kernel):
    learner = learned(kernel, 300)
    index, Q = best(Uncertainty(), learner)
    assert index == np.argmin(np.abs(learner.decision_function(Q)))


@by_kernel
def test_expected_change_is_the_mean_length_of_the_gradient(kernel):
    learner = learned(kernel, 300)
    index, Q = best(ExpectedChange(), learner)
    X = learner.embedding()
    near = learner.predict_proba(Q)[:, 1]
    # The logistic loss of an answer has slope 1 - p for one and p for the other.
    gradients = [[2 * (X[c] - X[b]), 2 * (X[a] - X[b]), 2 * (X[c] - X[a])] for a, b, c in Q]
    change = [2 * p * (1 - p) * np.linalg.norm(gradient) for p, gradient in zip(near, gradients, strict=True)]
    assert index == np.argmax(change)


@pytest.mark.parametrize("kernel", KERNELS)
def test_information_gain_is_about_where_the_head_is(kernel):
    learner = learned(kernel, 300)
    index, Q = best(InformationGain(n_candidates=None), learner, 4)
    history = learner.history_
    told = head_information(
        learner.embedding(), history[history[:, 0] == 4, 1:], Q[:, 1:], temperature=learner.temperature_
    )
    assert told[index] == pytest.approx(told.max())


def test_balanced_asks_about_the_rarest_pair():
    learner = ERKLE(N, kernel=Dense()).partial_fit([(0, b, c) for b, c in zip(range(1, 9), range(2, 10), strict=True)])
    assert Balanced().choose(
        learner, 1, 0, (), Questions(N, listed=[(0, b, c) for b in range(1, 10) for c in range(1, b)])
    ).tolist() == [[0, 1, 9]]


def test_adaptive_scores_only_the_rarest_pairs_and_explores_at_times(monkeypatch):
    seen = scores_of(monkeypatch, Adaptive())
    learner = learned(LowRank(3, 1e-3), 300)
    Adaptive(explore=0.3).choose(learner, 200, 0)
    n_scored = [np.count_nonzero(scores >= 0) for scores in seen]
    assert {n for n in n_scored if n} <= {len(scores) // 5 + 1 for scores in seen}
    assert scipy.stats.binomtest(n_scored.count(0), 200, 0.3).pvalue > 0.01


@pytest.mark.parametrize("listed", [None, sample(6, 40, random_state=0)], ids=["all", "listed"])
def test_random_draws_all_that_is_left_alike(listed):
    questions, learner = Questions(6, listed=listed), ERKLE(6, kernel=Dense())
    left = [query for query in sample(6, 500, random_state=1).tolist() if questions.may(questions.key(query))]
    for query in left[:8]:
        if questions.may(questions.key(query)):
            questions.take(query)
    rng = np.random.default_rng(0)
    drawn = Counter(key for _ in range(900) for key in keys(Random().choose(learner, 2, rng, left[8:11], questions), 6))
    wanted = {questions.key(query) for query in left} - {questions.key(query) for query in left[8:11]}
    assert drawn.keys() == {key for key in wanted if questions.may(key)}
    assert scipy.stats.chisquare(list(drawn.values())).pvalue > 0.01


WRONG = [
    (lambda s, learner: s.choose(learner, -1), "n_queries is -1; pass an integer of at least 0"),
    (lambda s, learner: s.choose(learner, 1.5), "n_queries is 1.5; pass an integer"),
    (lambda s, learner: s.choose(learner, math.nan), "n_queries is nan; pass an integer"),
    (lambda s, learner: s.choose(learner, 1, 0, [(0, 1)]), r"shape \(1, 2\)"),
    (lambda s, learner: s.choose(learner, 1, 0, [(0, 1, N)]), "object 10 .row 0., but there are 10 objects"),
    (lambda s, learner: s.choose(learner, 1, 0, [(0, 1, math.nan)]), "object nan"),
    (
        lambda s, learner: s.choose(learner, 1, 0, (), Questions(N + 1)),
        r"questions are about 11 objects, the learner about 10; pass Questions\(10\)",
    ),
]


@pytest.mark.parametrize(("call", "words"), WRONG)
@pytest.mark.parametrize("strategy", ALL)
def test_bad_input_is_told_in_a_sentence(strategy, call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call(strategy, learned(LowRank(3, 1e-3), 1))
    assert_is_a_sentence(caught)


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (Uncertainty(n_candidates=0), "n_candidates is 0; pass an integer of at least 1"),
        (InformationGain(n_candidates=-5), "n_candidates is -5; pass an integer of at least 1"),
        (Adaptive(explore=math.nan), "explore is nan; pass a share from 0 to 1"),
        (Adaptive(explore=5), "explore is 5; pass a share from 0 to 1"),
    ],
)
def test_a_strategy_that_cannot_be_is_told_in_a_sentence(strategy, words):
    with pytest.raises(ValueError, match=words) as caught:
        strategy.choose(learned(LowRank(3, 1e-3), 1), 1)
    assert_is_a_sentence(caught)


def test_the_exact_kernel_says_that_it_keeps_nothing_to_gain_information_from():
    with pytest.raises(ValueError, match="keeps none; pass kernel=LowRank") as caught:
        InformationGain().choose(ERKLE(5, kernel=Dense()), 1)
    assert_is_a_sentence(caught)


def test_of_what_is_in_doubt_the_pending_answers_will_settle_some_and_the_rest_is_to_be_told(monkeypatch):
    learner, given = learned(LowRank(), 300), []
    monkeypatch.setattr(module, "information", lambda *arguments: given.append(arguments) or np.zeros(len(Q)))
    Q = sample(N, 50, random_state=1)
    logits = learner.decision_function(Q)
    for pending in ([], [(0, 1, 2), (1, 2, 0)]):
        module._information(learner, Q, logits, Tally(learner, Questions(N, None), pending))
    (means, doubt, nothing), (same_means, left, unsettled) = given
    np.testing.assert_array_equal(means, same_means)
    assert (doubt > 0.0).all()
    assert not nothing.any()
    np.testing.assert_allclose(left + unsettled, doubt, rtol=1e-12)
    concerned = np.isin(Q, [0, 1, 2]).any(axis=1)
    assert 0 < concerned.sum() < len(Q)
    np.testing.assert_array_equal(unsettled > 0.0, concerned)


@by_kernel
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 100), st.integers(0, N - 1))
def test_pairs_asked_about_less_with_the_head_come_before_those_asked_about_less_at_all(kernel, seed, head):
    learner = learned(kernel, 60, flipped=0.0)
    known = [] if kernel == Dense() else learner.history_.tolist()
    pending = sample(N, 15, random_state=seed)
    Q = sample(N, 200, random_state=seed + 1)
    Q = Q[Q[:, 0] == head]
    asked = [*known, *pending.tolist()]
    together = Counter((row[0], other) for row in asked for other in row[1:])
    at_all = learner.n_appearances_ + np.bincount(pending.ravel(), minlength=N)
    expected = [(-together[head, b] - together[head, c], -at_all[b] - at_all[c]) for _, b, c in Q.tolist()]
    order = np.argsort(Tally(learner, Questions(N, None), pending).rareness(head, Q[:, 1:]), kind="stable")
    assert order.tolist() == sorted(range(len(Q)), key=expected.__getitem__)


@pytest.mark.parametrize(
    ("history", "latest", "rarer"),
    [
        # Once with the head is more than any number of times at all.
        ([(0, 1, 5)], 300_000, (3, 4)),
        # Of many answers the last are looked at.
        ([(0, 3, 4), (0, 1, 2), (0, 1, 2)], 2, (3, 4)),
        ([(0, 1, 2), (0, 3, 4), (0, 3, 4)], 2, (1, 2)),
    ],
)
def test_with_the_head_outweighs_at_all_and_the_last_answers_count(history, latest, rarer, monkeypatch):
    monkeypatch.setattr(knowing, "_LATEST", latest)
    learner = SimpleNamespace(
        n_anchored_=np.zeros(6, np.int64),
        n_appearances_=np.array([1, 1, 0, 10, 10, 0]),
        history_=np.array(history, np.int32),
    )
    first, second = Tally(learner, Questions(6, None), ()).rareness(0, np.array([[1, 2], [3, 4]]))
    assert (first > second) == (rarer == (1, 2))
    assert first != second


@pytest.mark.parametrize(
    ("n_answers", "flipped", "n_scored"), [(3, 0.0, [5]), (60, 0.3, [5]), (2000, 0.0, range(8, 13))]
)
def test_adaptive_scores_those_asked_about_least_and_few_while_it_is_unsure(n_answers, flipped, n_scored, monkeypatch):
    scored, original = [], module._information
    monkeypatch.setattr(module, "_information", lambda *args: scored.append(args[1]) or original(*args))
    learner = learned(LowRank(), n_answers, 12, flipped)
    for seed in range(10):
        Adaptive(explore=0.0).choose(learner, 1, seed)
        head, Q = scored[-1][0, 0], scored[-1]
        together = Counter(other for row in learner.history_.tolist() if row[0] == head for other in row[1:])
        counts = [(together[b] + together[c], learner.n_appearances_[[b, c]].sum()) for _, b, c in Q.tolist()]
        assert counts == sorted(counts)
        assert len(Q) in n_scored


def test_balanced_asks_about_every_object_with_a_head_before_it_asks_about_one_again():
    learner, n = ERKLE(9), 9
    for per_head in (4, 8):
        for _ in range(9 * 4):
            [query] = Balanced().choose(learner, 1, 0)
            learner.learn_one(query)
        together = Counter((head, other) for head, *pair in learner.history_.tolist() for other in pair)
        assert set(together.values()) == {per_head // 4}
        assert len(together) == n * (n - 1)


@pytest.mark.parametrize("pending", [[(0, 1, N)], [(0, 1, 1)], [(0, 1)], [("a", "b", "c")], [(0.5, 1, 2)]])
def test_pending_questions_that_are_none_are_told_as_such(pending):
    with pytest.raises(ValueError, match=r"^pending is no list of questions about these objects"):
        Adaptive().choose(learned(LowRank(), 10), 1, 0, pending)

"""Every strategy chooses allowed questions whatever is known, and each prefers the questions it promises."""

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
from erkle.active import strategies as module
from erkle.active.information import anchor_information
from erkle.active.knowledge import Tally
from erkle.triplets import check, sample
from parts import KERNELS, answers, assert_is_a_sentence, named, state

N = 10
LEARNERS = [pytest.param(Dense(), id="dense"), *KERNELS]
ALL = named(STRATEGIES.values())
SCORED = named([Balanced(), Uncertainty(), ExpectedChange(), InformationGain(), Adaptive(explore=0.0)])
by_kernel = pytest.mark.parametrize("kernel", LEARNERS)
AGES = (0, 1, 300)


def on_all_learners(strategies):
    """Every strategy with every learner, except `InformationGain` with the dense kernel, which keeps no answers."""
    both = [
        pytest.param(*strategy.values, *kernel.values, id=f"{strategy.id}-{kernel.id}")
        for strategy in strategies
        for kernel in LEARNERS
        if (strategy.id, kernel.id) != ("InformationGain", "dense")
    ]
    return pytest.mark.parametrize(("strategy", "kernel"), both)


@cache
def learned(kernel, n_answers, n=N, flipped=0.1):
    """A learner that no test changes."""
    return ERKLE(n, kernel=kernel, random_state=0).partial_fit(answers(n, n_answers, flipped=flipped))


def scores_of(monkeypatch, strategy):
    """Collect the scores of all choices from now on."""
    seen, original = [], type(strategy)._scores

    def spy(self, *args):
        seen.append(original(self, *args))
        return seen[-1]

    monkeypatch.setattr(type(strategy), "_scores", spy)
    return seen


def keys(T, n=N):
    return Questions(n).keys(T).tolist()


@on_all_learners(ALL)
def test_questions_are_valid_new_and_as_many_as_wanted(strategy, kernel):
    pending = sample(N, 40, random_state=3)
    for learner in (learned(kernel, n_answers) for n_answers in AGES):
        Q = strategy.choose(learner, 35, 0, pending)
        assert Q.dtype == np.int64
        assert check(Q, N).shape == (35, 3)
        assert len(set(keys(Q))) == 35
        assert not set(keys(Q)) & set(keys(pending))
        assert strategy.choose(learner, 0, 0).shape == (0, 3)


@on_all_learners(ALL)
def test_a_seed_gives_the_same_questions_again_and_the_learner_does_not_change(strategy, kernel):
    for learner in (learned(kernel, n_answers) for n_answers in AGES):
        before, K = state(learner), learner.kernel_matrix().copy()
        Q, again, other = (strategy.choose(learner, 20, seed).tolist() for seed in (1, np.random.default_rng(1), 2))
        assert Q == again != other
        assert state(learner) == before
        np.testing.assert_array_equal(learner.kernel_matrix(), K)


@on_all_learners(SCORED)
def test_scores_are_finite_and_differ_between_questions_after_300_answers(strategy, kernel, monkeypatch):
    seen = scores_of(monkeypatch, strategy)
    for n_answers in AGES:
        strategy.choose(learned(kernel, n_answers), 12, 0)
        assert np.isfinite(np.concatenate(seen)).all()
    assert all(len(np.unique(scores)) > 3 for scores in seen[-12:])


@pytest.mark.parametrize("flipped", [0.0, 0.2])
@pytest.mark.parametrize("strategy", SCORED)
def test_scores_stay_finite_and_different_after_100_000_answers_about_twenty_objects(strategy, flipped, monkeypatch):
    learner, seen = learned(LowRank(3), 100_000, 20, flipped), scores_of(monkeypatch, strategy)
    Q = strategy.choose(learner, 40, 0)
    assert len(set(keys(Q, 20))) == 40
    assert len(seen) == 40
    assert np.isfinite(np.concatenate(seen)).all()
    assert all(len(np.unique(scores)) > 3 for scores in seen)


triplet = st.permutations(range(5)).map(lambda order: tuple(order[:3]))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(triplet, st.sampled_from([1, 1, 1, 30])), max_size=8),
    st.lists(triplet, max_size=8),
    st.integers(0, 12),
    st.sampled_from([Dense(), LowRank(2), LowRank(consolidate="off")]),
    st.sampled_from(list(STRATEGIES.values())),
    st.integers(0, 2**32),
)
def test_new_questions_are_chosen_after_any_answers_and_with_any_pending_questions(
    answered, pending, n_queries, kernel, strategy, seed
):
    rows = [row for row, times in answered for _ in range(times)]
    learner = ERKLE(5, kernel=kernel, random_state=0).partial_fit(rows)
    if kernel == Dense() and isinstance(strategy, InformationGain):
        strategy = Uncertainty()
    with np.errstate(all="raise", under="ignore"):
        Q = strategy.choose(learner, n_queries, seed, pending)
    assert len(check(Q, 5)) == min(n_queries, 30 - len(set(keys(pending, 5))))
    assert len(set(keys(Q, 5)) | set(keys(pending, 5))) == len(Q) + len(set(keys(pending, 5)))


@pytest.mark.parametrize("strategy", ALL)
def test_if_all_are_wanted_every_allowed_question_is_chosen_once_and_no_other(strategy):
    learner = learned(LowRank(3, 1e-3), 300)
    listed = sample(N, 60, random_state=1)
    taken, left_out, pending = listed[:9], listed[9:20], listed[20:30]
    questions = Questions(N, listed=listed, excluded=[3], left_out=left_out)
    for query in taken:
        questions.take(query)
    may = [row for row in listed.tolist() if 3 not in row]
    forbidden = Counter(keys(taken)) + Counter(dict.fromkeys(keys(left_out) + keys(pending), 99))
    wanted = (Counter(keys(may)) - forbidden).keys()
    assert sorted(keys(strategy.choose(learner, 1000, 0, pending, questions))) == sorted(wanted)
    assert len(strategy.choose(learner, 1000, 0)) == N * math.comb(N - 1, 2)
    few = Questions(N, excluded=[0, 1])
    assert strategy.choose(learner, 200, 0, (), few).min() == 2


@on_all_learners(SCORED)
def test_anchors_take_turns(strategy, kernel):
    anchors = strategy.choose(learned(kernel, 0), 3 * N + 4, 0)[:, 0]
    assert np.bincount(anchors[: 3 * N], minlength=N).tolist() == [3] * N
    assert len(set(anchors[3 * N :])) == 4


@pytest.mark.parametrize("strategy", SCORED)
def test_pending_questions_count_as_answered(strategy):
    learner = ERKLE(5, kernel=LowRank(2)).partial_fit([(0, 1, 2), (1, 2, 3)])
    anchors = strategy.choose(learner, 8, 0, [(1, 3, 4), (2, 0, 1)])[:, 0].tolist()
    # At first the objects were anchors 1, 2, 1, 0 and 0 times.
    assert sorted(anchors[:2]) == [3, 4]
    assert sorted(anchors[2:6]) == [0, 2, 3, 4]
    assert len(set(anchors[6:])) == 2


def best(strategy, learner, anchor=0):
    """The index of the chosen question among all questions about the anchor, and these questions."""
    questions = [(anchor, b, c) for b in range(N) for c in range(b + 1, N) if anchor not in (b, c)]
    [chosen] = strategy.choose(learner, 1, 0, (), Questions(N, listed=questions)).tolist()
    return questions.index(tuple(chosen)), np.array(questions)


@by_kernel
def test_uncertainty_chooses_the_most_equal_distances(kernel):
    learner = learned(kernel, 300)
    index, Q = best(Uncertainty(), learner)
    assert index == np.argmin(np.abs(learner.decision_function(Q)))


@by_kernel
def test_expected_change_chooses_the_largest_expected_gradient(kernel):
    learner = learned(kernel, 300)
    index, Q = best(ExpectedChange(), learner)
    X, model = learner.embedding(), learner.answer_model_
    distances = learner.distances(Q)
    p = scipy.special.expit(model.logit(*distances.T))
    gradients = [
        [to_c * (X[a] - X[c]) - to_b * (X[a] - X[b]), to_b * (X[a] - X[b]), -to_c * (X[a] - X[c])]
        for (a, b, c), to_b, to_c in zip(Q, *model.rises(*distances.T), strict=True)
    ]
    # Without slips, the loss has the slope 1 - p in the logit if the first is nearer, and p otherwise.
    change = 2 * p * (1 - p) * [np.linalg.norm(gradient) for gradient in gradients]
    assert index == np.argmax(change)


@pytest.mark.parametrize("kernel", KERNELS)
def test_information_gain_chooses_the_most_information_about_the_anchor(kernel):
    learner = learned(kernel, 300)
    index, Q = best(InformationGain(n_candidates=None), learner, 4)
    history = learner.history_
    bits = anchor_information(
        learner.embedding(), history[history[:, 0] == 4, 1:], Q[:, 1:], model=learner.answer_model_
    )
    assert bits[index] == pytest.approx(bits.max())


def test_balanced_chooses_the_rarest_pair():
    learner = ERKLE(N, kernel=Dense()).partial_fit([(0, b, c) for b, c in zip(range(1, 9), range(2, 10), strict=True)])
    assert Balanced().choose(
        learner, 1, 0, (), Questions(N, listed=[(0, b, c) for b in range(1, 10) for c in range(1, b)])
    ).tolist() == [[0, 1, 9]]


def test_adaptive_scores_a_fifth_of_the_pairs_and_explores_as_often_as_it_should(monkeypatch):
    seen = scores_of(monkeypatch, Adaptive())
    learner = learned(LowRank(3, 1e-3), 300)
    Adaptive(explore=0.3).choose(learner, 200, 0)
    n_scored = [np.count_nonzero(scores >= 0) for scores in seen]
    assert {n for n in n_scored if n} <= {len(scores) // 5 + 1 for scores in seen}
    assert scipy.stats.binomtest(n_scored.count(0), 200, 0.3).pvalue > 0.01


@pytest.mark.parametrize("listed", [None, sample(6, 40, random_state=0)], ids=["all", "listed"])
def test_random_draws_all_remaining_questions_with_equal_probability(listed):
    questions, learner = Questions(6, listed=listed), ERKLE(6, kernel=Dense())
    left = [query for query in sample(6, 500, random_state=1).tolist() if questions.may_ask(questions.key(query))]
    for query in left[:8]:
        if questions.may_ask(questions.key(query)):
            questions.take(query)
    rng = np.random.default_rng(0)
    drawn = Counter(key for _ in range(400) for key in keys(Random().choose(learner, 2, rng, left[8:11], questions), 6))
    wanted = {questions.key(query) for query in left} - {questions.key(query) for query in left[8:11]}
    assert drawn.keys() == {key for key in wanted if questions.may_ask(key)}
    assert scipy.stats.chisquare(list(drawn.values())).pvalue > 0.01


REFUSED = [
    ({"n_queries": -1}, "n_queries is -1.* 0"),
    ({"n_queries": 1.5}, "n_queries is 1.5"),
    ({"n_queries": math.nan}, "n_queries is nan"),
    *(({"random_state": value}, f"random_state is {value!r}") for value in ("x", -1, 0.5)),
    *(
        ({"pending": [row]}, f"pending .*{value}")
        for row, value in (
            ((0, 1), r"shape \(1, 2\)"),
            ((0, 1, N), "object 10 .row 0..* 10 objects"),
            ((0, 1, 1), "object 1"),
            ((0, 1, math.nan), "object nan"),
            ((0.5, 1, 2), "0.5"),
            (("a", "b", "c"), ""),
        )
    ),
    ({"questions": Questions(N + 1)}, r"11 objects.* 10.* Questions\(10\)"),
    ({"questions": [(0, 1, 2)]}, r"questions is .* Questions\(n_objects\)"),
]


@pytest.mark.parametrize("strategy", ALL)
def test_bad_arguments_are_refused_in_a_sentence_that_names_them(strategy):
    for arguments, values in REFUSED:
        with pytest.raises((TypeError, ValueError), match=values) as caught:
            strategy.choose(learned(LowRank(3, 1e-3), 1), **{"n_queries": 1, "random_state": 0, **arguments})
        assert_is_a_sentence(caught)


@pytest.mark.parametrize(
    ("strategy", "values"),
    [
        (Uncertainty(n_candidates=0), "n_candidates is 0.* 1"),
        (InformationGain(n_candidates=-5), "n_candidates is -5.* 1"),
        (Adaptive(explore=math.nan), "explore is nan"),
        (Adaptive(explore=5), "explore is 5"),
    ],
)
def test_bad_settings_of_a_strategy_are_refused_in_a_sentence(strategy, values):
    with pytest.raises(ValueError, match=values) as caught:
        strategy.choose(learned(LowRank(3, 1e-3), 1), 1)
    assert_is_a_sentence(caught)


def test_pending_answers_settle_a_part_of_the_variance_of_the_questions_with_their_objects(monkeypatch):
    learner, given = learned(LowRank(3, 1e-3), 300), []
    monkeypatch.setattr(module, "information", lambda *arguments: given.append(arguments) or np.zeros(len(Q)))
    Q = sample(N, 50, random_state=1)
    distances = learner.distances(Q)
    logits = learner.answer_model_.logit(*distances.T)
    for pending in ([], [(0, 1, 2), (1, 2, 0)]):
        module._information(learner, Q, distances, logits, Tally(learner, Questions(N, None), pending))
    (means, variance, nothing), (same_means, rest, unsettled) = given
    np.testing.assert_array_equal(means, same_means)
    assert (variance > 0.0).all()
    assert not nothing.any()
    np.testing.assert_allclose(rest + unsettled, variance, rtol=1e-12)
    concerned = np.isin(Q, [0, 1, 2]).any(axis=1)
    assert 0 < concerned.sum() < len(Q)
    np.testing.assert_array_equal(unsettled > 0.0, concerned)


@by_kernel
@settings(max_examples=10)
@given(st.integers(0, 100), st.integers(0, N - 1))
def test_rarity_orders_pairs_by_questions_with_the_anchor_and_then_by_all_questions(kernel, seed, anchor):
    learner = learned(kernel, 60, flipped=0.0)
    known = [] if kernel == Dense() else learner.history_.tolist()
    pending = sample(N, 15, random_state=seed)
    Q = sample(N, 200, random_state=seed + 1)
    Q = Q[Q[:, 0] == anchor]
    asked = [*known, *pending.tolist()]
    together = Counter((row[0], other) for row in asked for other in row[1:])
    overall = learner.n_appearances_ + np.bincount(pending.ravel(), minlength=N)
    expected = [(-together[anchor, b] - together[anchor, c], -overall[b] - overall[c]) for _, b, c in Q.tolist()]
    order = np.argsort(Tally(learner, Questions(N, None), pending).rarity(anchor, Q[:, 1:]), kind="stable")
    assert order.tolist() == sorted(range(len(Q)), key=expected.__getitem__)


@pytest.mark.parametrize(
    ("history", "latest", "rarer"),
    [
        # One question with the anchor weighs more than any number of other questions.
        ([(0, 1, 5)], 300_000, (3, 4)),
        # Only the latest answers count.
        ([(0, 3, 4), (0, 1, 2), (0, 1, 2)], 2, (3, 4)),
        ([(0, 1, 2), (0, 3, 4), (0, 3, 4)], 2, (1, 2)),
    ],
)
def test_questions_with_the_anchor_outweigh_others_and_only_the_latest_count(history, latest, rarer):
    learner = SimpleNamespace(
        n_anchored_=np.zeros(6, np.int64),
        n_appearances_=np.array([1, 1, 0, 10, 10, 0]),
        history_=np.array(history, np.int32),
    )
    first, second = Tally(learner, Questions(6, None), (), latest).rarity(0, np.array([[1, 2], [3, 4]]))
    assert (first > second) == (rarer == (1, 2))
    assert first != second


@pytest.mark.parametrize(
    ("n_answers", "flipped", "n_scored"), [(3, 0.0, [5]), (60, 0.3, [5]), (2000, 0.0, range(8, 13))]
)
def test_adaptive_scores_the_rarest_pairs_and_more_of_them_when_it_is_certain(
    n_answers, flipped, n_scored, monkeypatch
):
    scored, original = [], module._information
    monkeypatch.setattr(module, "_information", lambda *args: scored.append(args[1]) or original(*args))
    learner = learned(LowRank(), n_answers, 12, flipped)
    for seed in range(10):
        Adaptive(explore=0.0).choose(learner, 1, seed)
        anchor, Q = scored[-1][0, 0], scored[-1]
        together = Counter(other for row in learner.history_.tolist() if row[0] == anchor for other in row[1:])
        counts = [(together[b] + together[c], learner.n_appearances_[[b, c]].sum()) for _, b, c in Q.tolist()]
        assert counts == sorted(counts)
        assert len(Q) in n_scored


def test_balanced_asks_about_every_object_with_an_anchor_before_it_repeats_one():
    learner, n = ERKLE(9, kernel=LowRank(2)), 9
    for per_anchor in (4, 8):
        for _ in range(9 * 4):
            [query] = Balanced().choose(learner, 1, 0)
            learner.learn_one(query)
        together = Counter((anchor, other) for anchor, *pair in learner.history_.tolist() for other in pair)
        assert set(together.values()) == {per_anchor // 4}
        assert len(together) == n * (n - 1)

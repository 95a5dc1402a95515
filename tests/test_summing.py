"""Laws of sums in parts: parts stay as they are, and neither threads nor the arrival of answers change a sum."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle import ERKLE, STE, AnswerModel, LowRank, TripletEmbedding, summing
from erkle._compiled.fitting import NO_PRIOR, Penalty, objective
from erkle.online.models import minimising
from erkle.online.models.fit_progress import told_to
from erkle.summing import Here, held, in_groups, in_pairs
from erkle.triplets import sample
from parts import LOSSES, SquaredHinge, answers, named

MODEL, PENALTY = AnswerModel(1.5, 0.4, 0.1), Penalty(0.3, 0.2)
N = 12


@pytest.fixture
def small(monkeypatch):
    """Parts of 40 answers, from 100 answers on."""
    monkeypatch.setattr(summing, "_PART", 40)
    monkeypatch.setattr(summing, "IN_PARTS_FROM", 100)


def in_one_piece(monkeypatch):
    monkeypatch.setattr(summing, "IN_PARTS_FROM", 1 << 60)


def objective_in_parts(T, lapses, X):
    terms = minimising.Terms(MODEL, lapses, PENALTY, NO_PRIOR)
    G = np.empty_like(X)
    return minimising._objective(Here().hold(in_groups(T)).given(lapses), terms, X, G), G


def example(n_answers):
    rng = np.random.default_rng(0)
    T = sample(N, n_answers, 0).astype(np.int32)
    return T, 0.2 * rng.random(n_answers), rng.standard_normal((N, 4))


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_full_parts_never_change_and_keep_their_group_while_answers_arrive(sizes):
    before, after = sizes
    T = sample(N, 60, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summing, "_PART", 3)
        patch.setattr(summing, "_GROUPS", 4)
        first, then = in_groups(T[:before]), in_groups(T[:after])
    arrived = {part.number: (group[0].number, part) for group in then for part in group}
    for group in first:
        for part in group:
            home, same = arrived[part.number]
            assert home == group[0].number
            if len(part.T) == 3:
                assert np.array_equal(part.T, same.T)
                assert np.array_equal(part.order, same.order)
    order = np.concatenate([part.order for group in then for part in group])
    assert np.array_equal(np.sort(order), np.arange(after))
    assert np.array_equal(np.concatenate([part.T for group in then for part in group]), T[order])


@given(st.integers(1, 200), st.sampled_from([1, 2, 4]))
def test_neighbours_in_the_order_of_groups_have_their_share_of_the_parts(n_parts, n_workers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summing, "_PART", 1)
        sizes = [len(group) for group in in_groups(sample(N, n_parts, 0))]
    assert sum(sizes) == n_parts
    shares = [sum(share) for share in np.array_split(sizes, n_workers)] if n_parts >= 16 else [1]
    assert max(shares) - min(shares) <= 1


def level_by_level(sums):
    while len(sums) > 1:
        sums = ["(" + "+".join(sums[i : i + 2]) + ")" if i + 1 < len(sums) else sums[i] for i in range(0, len(sums), 2)]
    return sums[0]


@pytest.mark.parametrize("n", range(1, 20))
def test_neighbours_are_added_first(n):
    sums = [str(i) for i in range(n)]
    assert in_pairs(iter(sums), lambda one, other: f"({one}+{other})") == level_by_level(sums)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("n_answers", [1, 40, 41, 1000])
def test_any_number_of_threads_gives_the_same_bits(n_answers, monkeypatch):
    found = []
    for n_threads in (1, 2, 5):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", n_threads)
        value, G = objective_in_parts(*example(n_answers))
        found.append((value, G.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("small")
def test_the_sum_of_parts_is_the_objective():
    T, lapses, X = example(1000)
    expected = np.empty_like(X)
    total = objective(MODEL, T, lapses, PENALTY, NO_PRIOR, X, expected)
    value, G = objective_in_parts(T, lapses, X)
    assert value == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(G, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.usefixtures("small")
def test_the_same_value_for_all_answers_need_not_be_an_array():
    T, _, X = example(500)
    sums = [
        held(T).given(own).sum(minimising._add_answers, X.shape, MODEL, PENALTY, X, np.exp(X[:, -1]))
        for own in (0.1, np.full(500, 0.1))
    ]
    assert sums[0][0] == sums[1][0]
    assert np.array_equal(sums[0][1], sums[1][1])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("loss", [*LOSSES, *named([SquaredHinge()])])
def test_a_batch_learner_of_many_answers_learns_the_same_whatever_their_order(loss, monkeypatch):
    T = answers(N, 500, flipped=0.1)
    shuffled = np.random.default_rng(0).permutation(T)
    fits = [TripletEmbedding(N, loss=loss, random_state=0, max_iter=2000).fit(given) for given in (T, shuffled)]
    assert np.array_equal(fits[0].embedding_, fits[1].embedding_)
    in_one_piece(monkeypatch)
    whole = TripletEmbedding(N, loss=loss, random_state=0, max_iter=2000).fit(T)
    assert fits[0].objective_ == pytest.approx(whole.objective_, rel=1e-3)
    assert fits[0].objectives_[0] == pytest.approx(whole.objectives_[0], rel=1e-12)


@pytest.mark.usefixtures("small")
def test_a_listener_hears_of_each_iteration_of_fits_of_many_answers_and_of_no_others():
    heard = []
    learner = ERKLE(N, kernel=LowRank(2, 0.01, 0.5), random_state=0)
    with told_to(heard.append):
        learner.fit(answers(N, 90))
        assert heard == []
        learner.partial_fit(answers(N, 60, seed=1))
    learner.consolidate()
    n_fitted = sorted({step.n_answers for step in heard})
    assert n_fitted
    assert n_fitted[-1] <= 150
    for n_answers in n_fitted:
        shares = [step.share for step in heard if step.n_answers == n_answers]
        assert shares[0] == 0.0
        assert shares == sorted(shares)
        assert shares[-1] < 1.0


@pytest.mark.usefixtures("small")
def test_a_loss_that_cannot_be_compiled_is_named():
    class Textual(type(STE())):
        def value(self, d_near, d_far):
            return "no"

    with pytest.raises(TypeError, match=r"Textual\.value"):
        TripletEmbedding(N, loss=Textual()).fit(answers(N, 200))

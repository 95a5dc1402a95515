"""Known errors on synthetic data: those of the paper, and those of answers with slips."""

import numpy as np
import pytest

from erkle import ERKLE, GNMDS, STE, Constant, Dense, LowRank, PassiveAggressive, metrics
from erkle.online.models.fit_proposals import FitProposals
from erkle.triplets import sample

SEEDS = (0, 1)


def questions_of(n):
    """All questions: every anchor with every pair of other objects."""
    a, b, c = np.meshgrid(*3 * [np.arange(n)], indexing="ij")
    keep = (b < c) & (a != b) & (a != c)
    return np.stack([a[keep], b[keep], c[keep]], axis=1)


def synthetic(seed):
    """The paper's small data set, 100 points in 50 dimensions: 10,000 answers to learn, and all others to test."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 50))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    T = questions_of(100)
    swap = D[T[:, 0], T[:, 1]] > D[T[:, 0], T[:, 2]]
    T[swap, 1:] = T[swap, :0:-1]
    T = rng.permutation(T)
    return T[:10_000], T[10_000:]


@pytest.fixture(scope="module")
def data():
    return [synthetic(seed) for seed in SEEDS]


def test_the_data_set_has_all_questions(data):
    train, test = data[0]
    assert len(train) + len(test) == 485_100


@pytest.mark.parametrize(
    ("loss", "step", "passes", "claim"),
    [
        (GNMDS(), PassiveAggressive(), 1, 0.19),
        (GNMDS(), PassiveAggressive(), 10, 0.15),
        (STE(), Constant(1.0), 1, 0.21),
        (STE(), Constant(1.0), 10, 0.15),
    ],
    ids=["PA-ERKLE-1", "PA-ERKLE-10", "STE-ERKLE-1", "STE-ERKLE-10"],
)
def test_the_error_is_the_known_one(loss, step, passes, claim, data):
    errors = []
    for seed, (train, test) in zip(SEEDS, data, strict=True):
        learner = ERKLE(100, kernel=Dense(), loss=loss, step=step, passes=passes, random_state=seed).fit(train)
        errors.append(metrics.triplet_error(learner.kernel_matrix(), test))
    assert np.mean(errors) == pytest.approx(claim, abs=0.01)


def planar(n, size, wrong, seed):
    """Answers about points in the plane, of which a share is turned round, and as many correct ones to test."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, 2)), sample(n, 2 * size, rng)
    a, b, c = X[T.T]
    turned = (np.arange(2 * size) < size) & (rng.random(2 * size) < wrong)
    swap = (((a - b) ** 2).sum(axis=1) > ((a - c) ** 2).sum(axis=1)) ^ turned
    T[swap, 1:] = T[swap, :0:-1]
    return T[:size], T[size:]


def test_if_a_tenth_of_the_answers_is_turned_round_the_lapse_is_found_and_the_error_falls_by_half(monkeypatch):
    found, ratio = [], []
    for seed in range(3):
        train, test = planar(20, 3000, 0.1, seed)
        kernel = LowRank(2, 1e-4, 0.1)
        learner = ERKLE(20, kernel=kernel, random_state=0).fit(train)
        assert learner.lapse_.rate == pytest.approx(0.1, abs=0.03)
        assert learner.lapse_.low < 0.1 < learner.lapse_.high
        assert learner.selection_[0].setting["answers"] == "estimated"
        found.append(1 - learner.score(test))
        with monkeypatch.context() as patch:
            # Without neighbours, only the ratio model is fitted, which has no slips.
            patch.setattr(FitProposals, "neighbours", lambda *arguments: ())
            ratio.append(1 - ERKLE(20, kernel=kernel, random_state=0).fit(train).score(test))
    assert np.mean(found) < 0.5 * np.mean(ratio)
    assert np.mean(found) < 0.02


@pytest.mark.parametrize(("wrong", "size"), [(0.0, 1500), (0.1, 1500), (0.2, 3000)])
def test_the_default_learner_finds_the_share_of_slips(wrong, size):
    """The more slips there are, the more answers it takes to distinguish slips from distances that differ little."""
    train, _ = planar(15, size, wrong, seed=0)
    assert ERKLE(15, random_state=0).fit(train).lapse_.rate == pytest.approx(wrong, abs=0.03)

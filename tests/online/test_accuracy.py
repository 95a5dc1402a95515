"""The known errors on the paper's small synthetic data set: 100 points in 50 dimensions, 10,000 answers."""

import numpy as np
import pytest

from erkle import ERKLE, GNMDS, STE, Constant, Dense, PassiveAggressive, metrics

SEEDS = (0, 1)


def questions_of(n):
    """All questions: every anchor with every pair of other objects."""
    a, b, c = np.meshgrid(*3 * [np.arange(n)], indexing="ij")
    keep = (b < c) & (a != b) & (a != c)
    return np.stack([a[keep], b[keep], c[keep]], axis=1)


def synthetic(seed):
    """Answers without mistakes: 10,000 to learn, and all others to test."""
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

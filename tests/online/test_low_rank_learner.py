"""Laws of a learner with a low-rank kernel: which parameters it accepts and which it refuses."""

import math
import re

import numpy as np
import pytest

from erkle import ERKLE, GNMDS, TSTE, Constant, Dense, LowRank, PassiveAggressive, PassiveAggressiveI
from parts import answers, assert_is_a_sentence

WRONG = {
    "rank 0": (LowRank(0), "rank is 0"),
    "rank negative": (LowRank(-3), "rank is -3"),
    "rank a fraction": (LowRank(2.5), "rank is 2.5"),
    "rank None": (LowRank(None), "rank is None"),
    "rank a word": (LowRank("x"), "rank is 'x'"),
    "trace negative": (LowRank(3, -1.0), "trace is -1.0"),
    "trace nan": (LowRank(3, math.nan), "trace is nan"),
    "trace of a chosen rank": (LowRank(trace=0.1), "trace is 0.1"),
    "consolidate negative": (LowRank(consolidate=-0.1), "consolidate is -0.1"),
    "consolidate nan": (LowRank(consolidate=math.nan), "consolidate is nan"),
    "consolidate a word": (LowRank(consolidate="maybe"), "consolidate is 'maybe'"),
    "consolidate None": (LowRank(3, 0.1, None), "consolidate is None"),
}
OWN = [{"loss": GNMDS()}, {"loss": TSTE()}, {"step": PassiveAggressive()}, {"step": Constant(1.0)}]
OWN += [{"direction": "gradient"}, {"direction": "canonical"}]


@pytest.mark.parametrize(("kernel", "words"), WRONG.values(), ids=WRONG)
def test_a_low_rank_kernel_with_a_wrong_field_is_refused(kernel, words):
    learner = ERKLE(6, kernel=kernel)
    with pytest.raises(ValueError, match=f"^{re.escape(words)}") as info:
        learner.fit([(0, 1, 2)])
    assert_is_a_sentence(info)
    assert not learner.__sklearn_is_fitted__()


@pytest.mark.parametrize(
    "kernel", [LowRank(), LowRank(consolidate="off"), LowRank(consolidate=0.1), LowRank(3, consolidate=0.1)], ids=str
)
@pytest.mark.parametrize("parameters", OWN, ids=str)
def test_a_kernel_that_chooses_its_moves_refuses_a_loss_a_step_and_a_direction(parameters, kernel):
    [(name, value)] = parameters.items()
    with pytest.raises(ValueError, match=f"^{name} is {re.escape(repr(value))}") as info:
        ERKLE(6, kernel=kernel, **parameters).fit([(0, 1, 2)])
    assert_is_a_sentence(info)


@pytest.mark.parametrize("kernel", [LowRank(3), LowRank(3, consolidate="off"), LowRank(3, consolidate=0)], ids=str)
def test_a_kernel_of_given_rank_without_fits_follows_the_learners_rule(kernel):
    T = answers(6, 50)
    learner = ERKLE(6, kernel=kernel, step=PassiveAggressiveI(C=0.01)).fit(T)
    assert not np.array_equal(learner.kernel_matrix(), ERKLE(6, kernel=kernel).fit(T).kernel_matrix())


@pytest.mark.parametrize("kernel", [LowRank(), LowRank(consolidate="off"), LowRank(3), LowRank(3, 1e-3, 0.2)], ids=str)
def test_passes_have_an_effect_on_every_low_rank_kernel(kernel):
    T = answers(9, 250)

    def kernels(passes):
        # Two kernels in a row, because right after a fit of all answers the number of passes makes no difference.
        learner = ERKLE(9, kernel=kernel, passes=passes, random_state=0)
        return np.stack([learner.fit(T[:-1]).kernel_matrix(), learner.partial_fit(T[-1:]).kernel_matrix()])

    assert not np.array_equal(kernels(passes=3), kernels(passes=1))


@pytest.mark.parametrize("kernel", [LowRank(50), LowRank(np.int64(50)), LowRank(50, 0.01, 0.1)])
def test_a_rank_above_the_number_of_objects_is_reduced_to_it(kernel):
    T = answers(6, 100)
    learner, same = (ERKLE(6, kernel=spec, random_state=0).fit(T) for spec in (kernel, kernel._replace(rank=6)))
    np.testing.assert_array_equal(learner.kernel_matrix(), same.kernel_matrix())
    assert learner.get_params()["kernel"] is kernel
    assert learner.score(T) > 0.9


def test_the_matrix_of_too_many_objects_is_refused_but_not_their_embedding(tmp_path):
    n = 20_001
    learner = ERKLE(n, kernel=LowRank(2)).fit(answers(9, 200) * 2000)
    with pytest.raises(ValueError, match=r"20001 objects.* 3 GB.*embedding"):
        _ = learner.kernel_matrix()
    assert learner.embedding().shape == (n, 2)
    assert learner.embedding(3).shape == (n, 3)
    assert not learner.embedding(3)[:, 2].any()
    learner.save(tmp_path / "learner.npz")
    loaded = ERKLE.load(tmp_path / "learner.npz")
    np.testing.assert_array_equal(loaded.embedding(), learner.embedding())
    with np.load(tmp_path / "learner.npz") as file:
        assert "kernel" not in file
        assert file["map"].shape == (n, 2)


def test_the_embedding_has_the_distances_of_the_kernel():
    learner = ERKLE(10, kernel=LowRank(3)).fit(answers(10, 300))
    X, K = learner.embedding(), learner.kernel_matrix()
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, np.diag(K)[:, None] + np.diag(K) - 2 * K, atol=1e-9)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)


def test_a_new_kernel_takes_effect_with_the_next_fit():
    T = answers(8, 100)
    learner = ERKLE(8, kernel=Dense()).fit(T).set_params(kernel=LowRank(2))
    assert learner.embedding().shape == (8, 7)
    assert learner.fit(T).embedding().shape == (8, 2)
    learner.set_params(kernel=Dense())
    assert learner.embedding().shape == (8, 2)

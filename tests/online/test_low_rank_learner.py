"""Laws of a learner with a low-rank kernel: what it may be asked for, and what it says of what it cannot be."""

import math
import re

import numpy as np
import pytest

from erkle import ERKLE, GNMDS, TSTE, Constant, Inverse, LowRank, PassiveAggressive
from parts import LOSSES, STEPS, answers

WRONG = {
    "rank 0": ({"kernel": LowRank(0)}, "rank is 0; pass an integer of at least 1: a kernel of rank 0 knows nothing."),
    "rank negative": ({"kernel": LowRank(-3)}, "rank is -3; pass an integer of at least 1"),
    "rank a fraction": ({"kernel": LowRank(2.5)}, "rank is 2.5; pass an integer of at least 1"),
    "rank None": ({"kernel": LowRank(None)}, "rank is None; pass an integer"),
    "rank a word": ({"kernel": LowRank("x")}, "The rank is 'x'; pass an integer of at least 1, or \"auto\"."),
    "trace negative": ({"kernel": LowRank(3, -1.0)}, "trace is -1.0; pass a finite number of at least 0"),
    "trace nan": ({"kernel": LowRank(3, math.nan)}, "trace is nan; pass a finite number of at least 0"),
    "trace of a chosen rank": (
        {"kernel": LowRank(trace=0.1)},
        'LowRank("auto") chooses its weight of the trace; leave',
    ),
    "consolidate negative": ({"kernel": LowRank(consolidate=-0.1)}, "consolidate is -0.1; pass a finite number of at"),
    "consolidate nan": ({"kernel": LowRank(consolidate=math.nan)}, "consolidate is nan; pass a finite number of at"),
    "consolidate a word": ({"kernel": LowRank(consolidate="maybe")}, "consolidate is 'maybe'; pass 'auto' or 'off'."),
    "consolidate None": ({"kernel": LowRank(3, 0.1, None)}, "consolidate is None; pass a finite number of at least 0"),
    "a word": ({"kernel": "dense"}, "kernel is 'dense'; pass LowRank(...), or None for the exact kernel."),
    "the class": ({"kernel": LowRank}, "kernel is <class"),
    "a tuple": ({"kernel": ("auto", None, "auto")}, "kernel is ('auto', None, 'auto'); pass LowRank(...)"),
    "an initial kernel": (
        {"kernel": LowRank(3), "initial_kernel": np.eye(6)},
        "A low-rank kernel starts at 0; leave initial_kernel at None, or pass kernel=None.",
    ),
}
OWN = [{"loss": loss.values[0]} for loss in LOSSES if loss.id != "GNMDS"]
OWN += [{"step": step.values[0]} for step in STEPS if step.id != "PassiveAggressive"]
# As tuples these are the defaults.
OWN += [{"loss": TSTE(1.0)}, {"step": Constant(1.0)}, {"step": Inverse(1.0)}]
OWN += [{"loss": GNMDS(2.0)}, {"step": PassiveAggressive(2.0)}, {"direction": "gradient"}]


@pytest.mark.parametrize(("parameters", "words"), WRONG.values(), ids=WRONG)
def test_a_kernel_that_cannot_be_is_refused_in_one_sentence(parameters, words):
    learner = ERKLE(6, **parameters)
    with pytest.raises(ValueError, match=f"^{re.escape(words)}") as info:
        learner.fit([(0, 1, 2)])
    assert str(info.value).endswith(".")
    assert "\n" not in str(info.value)
    assert not learner.__sklearn_is_fitted__()


@pytest.mark.parametrize("consolidate", ["auto", "off", 0.1])
@pytest.mark.parametrize("parameters", OWN, ids=str)
def test_a_learner_that_chooses_is_given_no_loss_step_or_direction(parameters, consolidate):
    with pytest.raises(
        ValueError, match=r"^LowRank\(\"auto\"\) chooses its own loss and step; leave them out, or pass"
    ):
        ERKLE(6, kernel=LowRank(consolidate=consolidate), **parameters).fit([(0, 1, 2)])


@pytest.mark.parametrize("parameters", OWN, ids=str)
def test_a_learner_of_a_rank_that_fits_is_given_none_either(parameters):
    words = (
        r'^Fits have a loss and a step of their own; leave yours out, or pass kernel=LowRank\(3, consolidate="off"\)\.$'
    )
    with pytest.raises(ValueError, match=words):
        ERKLE(6, kernel=LowRank(3, consolidate=0.1), **parameters).fit([(0, 1, 2)])
    for without in ("auto", "off", 0):
        ERKLE(6, kernel=LowRank(3, consolidate=without), **parameters).fit([(0, 1, 2)])


@pytest.mark.parametrize("kernel", [LowRank(), LowRank(consolidate="off"), LowRank(3), LowRank(3, 1e-3, 0.2)], ids=str)
def test_passes_count_for_every_kernel_but_tol_and_projection_only_for_the_exact_one(kernel):
    T = answers(9, 250)

    def kernels(**options):
        # Of two moments in a row, for right after a fit it makes no difference how often an answer was learned.
        learner = ERKLE(9, kernel=kernel, random_state=0, **options)
        return np.stack([learner.fit(T[:-1]).kernel_, learner.partial_fit(T[-1:]).kernel_])

    plain, tight, literal, thrice = kernels(), kernels(tol=1e-9), kernels(projection="eigh"), kernels(passes=3)
    np.testing.assert_array_equal(tight, plain)
    np.testing.assert_array_equal(literal, plain)
    assert not np.array_equal(thrice, plain)


@pytest.mark.parametrize("kernel", [LowRank(50), LowRank(np.int64(50)), LowRank(50, 0.01, 0.1)])
def test_a_rank_beyond_the_number_of_objects_is_that_number(kernel):
    T = answers(6, 100)
    learner, same = (ERKLE(6, kernel=spec, random_state=0).fit(T) for spec in (kernel, kernel._replace(rank=6)))
    np.testing.assert_array_equal(learner.kernel_, same.kernel_)
    assert learner.get_params()["kernel"] is kernel
    assert learner.score(T) > 0.9


def test_the_matrix_of_too_many_objects_is_refused_but_not_their_map(tmp_path):
    n = 20_001
    learner = ERKLE(n, kernel=LowRank(2)).fit(answers(9, 200) * 2000)
    with pytest.raises(ValueError, match=r"^The kernel of 20001 objects would take 3 GB; use embedding_ .*\.$"):
        _ = learner.kernel_
    assert learner.embedding_.shape == learner.embedding().shape == (n, 2)
    assert learner.embedding(3).shape == (n, 3)
    assert not learner.embedding(3)[:, 2].any()
    learner.save(tmp_path / "learner.npz")
    loaded = ERKLE.load(tmp_path / "learner.npz")
    np.testing.assert_array_equal(loaded.embedding_, learner.embedding_)
    with np.load(tmp_path / "learner.npz") as file:
        assert "kernel" not in file
        assert file["map"].shape == (n, 2)


def test_the_map_has_the_kernels_distances():
    learner = ERKLE(10, kernel=LowRank(3)).fit(answers(10, 300))
    X, K = learner.embedding_, learner.kernel_
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, np.diag(K)[:, None] + np.diag(K) - 2 * K, atol=1e-9)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)


def test_a_kernel_set_anew_takes_effect_with_the_next_fit():
    T = answers(8, 100)
    learner = ERKLE(8).fit(T).set_params(kernel=LowRank(2))
    assert learner.embedding_.shape == (8, 7)
    assert learner.fit(T).embedding_.shape == (8, 2)
    learner.set_params(kernel=None)
    assert learner.embedding_.shape == (8, 2)

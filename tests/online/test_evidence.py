"""Laws of the evidence: its sums equal NumPy's, its temperature is right, and confidence is calibrated."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle import ERKLE, STE, Constant, Dense, LowRank
from erkle._compiled import evidence as compiled
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.selection.evidence import TEMPERATURES, Evidence
from erkle.triplets import sample
from parts import answers

values = st.lists(st.one_of(st.floats(-50, 50), st.sampled_from([0.0, -1e-300, 1e6, -1e6])), max_size=30)
KERNELS = {
    "exact": Dense(),
    "one": LowRank(3),
    "race": LowRank(consolidate="off"),
    "fits": LowRank(),
    "one with fits": LowRank(3, 1e-3, 0.1),
}
KERNEL = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def weights_of(numbers, discount):
    """The weight of each answer after all answers."""
    keep = 1 - discount / (numbers + discount)
    return np.array([np.prod(keep[i + 1 :]) for i in range(len(numbers))])


@given(excess=values, first=st.integers(1, 1000), discount=st.sampled_from([3.0, 8.0]))
def test_the_sums_equal_numpys(excess, first, discount):
    x = np.array(excess)
    evidence = Evidence(discount)
    evidence.add(x, first)
    weights = weights_of(np.arange(first, first + len(x)), discount)
    losses = np.logaddexp(0.0, x[:, None] / TEMPERATURES)
    np.testing.assert_allclose(evidence.sums[:-2], weights @ losses, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(evidence.sums[-2], weights @ (x >= 0.0))
    np.testing.assert_allclose(evidence.weight, weights.sum())
    assert evidence.discounted_loss == evidence.sums[:-2].min()
    if len(x):
        assert evidence.loss == pytest.approx(evidence.discounted_loss / weights.sum())
        assert evidence.error == pytest.approx(weights @ (x >= 0.0) / weights.sum())
        assert evidence.temperature == TEMPERATURES[np.argmin(evidence.sums[:-2] + 2.0 * np.log(TEMPERATURES) ** 2)]


@given(excess=values, cut=st.integers(0, 30))
def test_any_split_of_the_answers_gives_the_same_evidence_to_the_last_bit(excess, cut):
    x = np.array(excess)
    whole, split = Evidence(), Evidence()
    whole.add(x, 1)
    split.add(x[:cut], 1)
    split.add(x[cut:], 1 + len(x[:cut]))
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(split.arrays()[name], array)


@given(excess=values)
def test_compiled_and_python_give_the_same_evidence(excess):
    fast, slow = Evidence(), Evidence()
    prior = np.log(TEMPERATURES) ** 2
    for evidence, function in ((fast, compiled.add_answers), (slow, compiled.add_answers.py_func)):
        function(np.array(excess), 5, evidence.discount, TEMPERATURES, prior, evidence.sums, evidence.bins)
    np.testing.assert_allclose(fast.sums, slow.sums, rtol=1e-12)
    np.testing.assert_allclose(fast.bins, slow.bins, rtol=1e-12)


def test_the_excess_of_a_map_equals_that_of_its_kernel():
    X, T = np.random.default_rng(0).normal(size=(9, 4)), sample(9, 200, 1)
    expected = LowRankKernel.of_map(X[:, :-1], 3, 0.0, X[:, -1]).excess(T)
    for function in (compiled.excess_of_map, compiled.excess_of_map.py_func):
        excess = np.empty(len(T))
        function(X, T, excess)
        np.testing.assert_allclose(excess, expected, atol=1e-12)


@given(excess=values)
def test_every_answer_is_in_one_bin_of_confidence(excess):
    x = np.array(excess)
    evidence = Evidence()
    evidence.add(x, 1)
    n_answers, confidence, accuracy = evidence.reliability()
    assert n_answers.sum() == len(x)
    filled = n_answers > 0
    assert np.isnan(confidence[~filled]).all()
    lower = 0.5 + 0.05 * np.arange(10)
    assert (confidence[filled] >= lower[filled] - 1e-12).all()
    assert (confidence[filled] <= lower[filled] + 0.05 + 1e-12).all()
    right = np.count_nonzero(x < 0.0) + 0.5 * np.count_nonzero(x == 0.0)
    assert n_answers[filled] @ accuracy[filled] == pytest.approx(right)
    error = evidence.reliability().calibration_error
    assert 0.0 <= error <= 1.0 if len(x) else math.isnan(error)


@given(excess=values.filter(bool))
def test_confidence_uses_the_temperature_before_each_answer(excess):
    evidence, total = Evidence(), 0.0
    for number, x in enumerate(excess, 1):
        total += 1.0 / (1.0 + math.exp(-min(abs(x) / evidence.temperature, 700.0)))
        evidence.add(np.array([x]), number)
    assert evidence.bins[:, 1].sum() == pytest.approx(total)


def test_recent_answers_count_most():
    evidence = Evidence()
    evidence.add(np.concatenate([np.full(840, 2.0), np.full(160, -2.0)]), 1)
    assert evidence.error == pytest.approx(0.5, abs=0.05)
    assert evidence.weight == pytest.approx(1000 / 4, rel=0.05)


@pytest.mark.parametrize("temperature", [0.2, 1.0, 5.0])
def test_the_temperature_of_simulated_answers_is_found_and_gives_calibrated_confidence(temperature):
    rng = np.random.default_rng(0)
    size = np.abs(rng.normal(scale=3.0 * temperature, size=20_000))
    right = rng.random(len(size)) < 1.0 / (1.0 + np.exp(-size / temperature))
    evidence = Evidence()
    evidence.add(np.where(right, -size, size), 1)
    assert abs(math.log(evidence.temperature / temperature)) < 0.3
    assert evidence.reliability().calibration_error < 0.02


def test_a_copy_with_a_handicap_is_independent():
    evidence = Evidence(8.0)
    evidence.add(np.array([-1.0, 2.0, 0.5]), 1)
    copy = evidence.with_handicap(1.5)
    assert copy.discounted_loss == pytest.approx(evidence.discounted_loss + 1.5)
    assert (copy.temperature, copy.error, copy.discount) == (evidence.temperature, evidence.error, 8.0)
    before = evidence.discounted_loss
    copy.add(np.array([3.0]), 4)
    assert evidence.discounted_loss == before


def test_without_answers_there_is_no_evidence():
    evidence = Evidence()
    assert evidence.temperature == 1.0
    assert math.isnan(evidence.error)
    assert math.isnan(evidence.loss)
    assert math.isnan(evidence.reliability().calibration_error)


# In a learner.


def noisy_answers(n, size, seed, scale=3.0):
    """Simulated answers with the probabilities of STE."""
    rng = np.random.default_rng(seed)
    X, T = scale**0.5 * rng.normal(size=(n, 2)), sample(n, size, rng)
    a, b, c = X[T.T]
    excess = ((a - b) ** 2).sum(axis=1) - ((a - c) ** 2).sum(axis=1)
    swap = rng.random(size) < 1.0 / (1.0 + np.exp(-excess))
    T[swap, 1:] = T[swap, :0:-1]
    return T


@KERNEL
def test_probabilities_are_calibrated_and_agree_with_predictions(kernel):
    T = noisy_answers(20, 3000, seed=1)
    learner = ERKLE(20, kernel=kernel, random_state=0).fit(T[:2500])
    asked = sample(20, 500, 3)
    probabilities = learner.predict_proba(asked)
    assert probabilities.shape == (500, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities[:, 1] > 0.5, learner.predict(asked))
    decisions = learner.decision_function(asked) / learner.temperature_
    np.testing.assert_allclose(probabilities[:, 1], 1.0 / (1.0 + np.exp(-decisions)))
    assert learner.reliability_.n_answers.sum() == 2500
    assert learner.reliability_.calibration_error < 0.05
    # The same holds for new answers.
    near = learner.predict_proba(T[2500:])[:, 1]
    assert abs(np.maximum(near, 1 - near).mean() - np.mean(near > 0.5)) < 0.06


@KERNEL
def test_the_evidence_is_about_predictions_before_each_answer(kernel):
    T = answers(8, 150, flipped=0.2)
    learner = ERKLE(8, kernel=kernel, passes=2, random_state=0)
    decisions = learner.prequential(T)
    evidence = Evidence()
    evidence.add(-decisions, 1)
    np.testing.assert_allclose(learner._model.evidence.sums, evidence.sums, rtol=1e-9)
    assert learner.temperature_ == evidence.temperature


def test_a_learner_without_answers_gives_probabilities_of_one_half():
    learner = ERKLE(5).fit([])
    np.testing.assert_array_equal(learner.predict_proba([(0, 1, 2)]), [[0.5, 0.5]])
    assert learner.temperature_ == 1.0


def test_the_temperature_corrects_for_steps_that_are_too_long():
    T = noisy_answers(15, 2000, seed=2)
    learner = ERKLE(15, loss=STE(), step=Constant(5.0), kernel=LowRank(2)).fit(T)
    assert learner.temperature_ > 2.0
    assert learner.reliability_.calibration_error < 0.08

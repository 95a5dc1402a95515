"""Laws of the evidence: its sums equal NumPy's, its answer model is the likeliest one, and confidence is calibrated."""

import copy
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from erkle import ERKLE, STE, AnswerModel, Constant, Dense, LowRank
from erkle._compiled import evidence as compiled
from erkle.answer_models import RATIO
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.selection import evidence as module
from erkle.online.selection.evidence import Evidence
from erkle.triplets import sample
from parts import answers, in_python

squared = st.one_of(st.floats(0, 50), st.sampled_from([0.0, 1e-300, 1e6, 1e300]))
predictions = st.lists(st.tuples(squared, squared), max_size=30).map(lambda rows: np.array(rows).reshape(-1, 2))
MODEL = AnswerModel(1.5, 0.4, 0.1)
KERNELS = {
    "exact": Dense(),
    "one": LowRank(3),
    "race": LowRank(consolidate="off"),
    "fits": LowRank(),
    "one with fits": LowRank(3, 1e-3, 0.1),
}
KERNEL = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def simulated(model, size, seed=0, spread=4.0):
    """Squared distances (near, far) of answers that people with this answer model give."""
    rng = np.random.default_rng(seed)
    distances = rng.exponential(spread, size=(size, 2))
    turned = rng.random(size) > model.probability(*distances.T)
    return np.where(turned[:, None], distances[:, ::-1], distances)


def evidence_of(distances, first=1, **parameters):
    evidence = Evidence(**parameters)
    evidence.add(distances, first)
    return evidence


def assert_same(one, other):
    """Both continue alike to the last bit."""
    for name, array in one.arrays().items():
        assert other.arrays()[name].tobytes() == array.tobytes(), name


# Sums.


def weights_of(numbers, discount):
    """The weight of each answer after all answers, if there are few."""
    keep = 1 - discount / (numbers + discount)
    return np.array([np.prod(keep[i + 1 :]) for i in range(len(numbers))])


@given(distances=predictions, first=st.integers(1, 1000), discount=st.sampled_from([3.0, 8.0]))
def test_the_sums_equal_numpys(distances, first, discount):
    evidence = Evidence(discount, MODEL)
    likely = evidence.add(distances, first)
    near, far = distances.T
    weights = weights_of(np.arange(first, first + len(near)), discount)
    with np.errstate(over="ignore"):
        losses = -np.log(MODEL.probability(near, far))
    np.testing.assert_allclose(evidence.discounted_loss, weights @ losses, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(evidence.weight, weights.sum())
    np.testing.assert_allclose(likely, scipy.special.expit(MODEL.logit(near, far)), atol=1e-9)
    if len(near):
        assert evidence.loss == pytest.approx(evidence.discounted_loss / weights.sum())
        assert evidence.error == pytest.approx(weights @ (near >= far) / weights.sum())


def test_recent_answers_count_most():
    right, wrong = [1.0, 3.0], [3.0, 1.0]
    evidence = evidence_of(np.array([wrong] * 840 + [right] * 160))
    assert evidence.error == pytest.approx(0.5, abs=0.05)
    assert evidence.weight == pytest.approx(1000 / 4, rel=0.05)


def test_in_a_long_stream_the_weight_is_capped_and_old_answers_lose_theirs():
    evidence = Evidence(fixed=RATIO)
    evidence.add(np.tile([3.0, 1.0], (1000, 1)), 10**7)
    first = evidence.error
    evidence.add(np.tile([1.0, 3.0], (200_000, 1)), 10**7 + 1000)
    assert first == 1.0
    assert evidence.error < 1e-3
    assert evidence.weight == pytest.approx(20_000, rel=0.01)


@given(distances=predictions)
def test_every_answer_is_in_one_bin_of_confidence(distances):
    evidence = evidence_of(distances)
    n_answers, confidence, accuracy = evidence.reliability()
    assert n_answers.sum() == len(distances)
    filled = n_answers > 0
    assert np.isnan(confidence[~filled]).all()
    lower = 0.5 + 0.05 * np.arange(10)
    assert (confidence[filled] >= lower[filled] - 1e-12).all()
    assert (confidence[filled] <= lower[filled] + 0.05 + 1e-12).all()
    near, far = distances.T
    right = np.count_nonzero(near < far) + 0.5 * np.count_nonzero(near == far)
    assert n_answers[filled] @ accuracy[filled] == pytest.approx(right)
    error = evidence.reliability().calibration_error
    assert 0.0 <= error <= 1.0 if len(distances) else math.isnan(error)


@given(distances=predictions.filter(len))
def test_confidence_uses_the_answer_model_before_each_answer(distances):
    evidence, total = Evidence(), 0.0
    for number, pair in enumerate(distances, 1):
        probability = float(evidence.answer_model.probability(*pair))
        total += max(probability, 1.0 - probability)
        evidence.add(pair[None], number)
    assert evidence.bins[:, 1].sum() == pytest.approx(total)


# Streams.


@pytest.mark.parametrize("fixed", [None, MODEL], ids=["estimated", "fixed"])
@settings(max_examples=40)
@given(seed=st.integers(0, 100), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_any_split_of_the_predictions_gives_the_same_evidence_to_the_last_bit(fixed, seed, cuts):
    distances = simulated(MODEL, 400, seed)
    whole, split = evidence_of(distances, fixed=fixed), Evidence(fixed=fixed)
    done, likely = 0, []
    for cut in [*sorted(cuts), 400]:
        likely.append(split.add(distances[done:cut], done + 1))
        done = cut
        # A saved evidence continues like the original.
        split = Evidence.from_arrays(copy.deepcopy(split.arrays()), fixed=fixed)
    assert_same(whole, split)
    assert whole.answer_model == split.answer_model
    assert whole.lapse == split.lapse
    np.testing.assert_array_equal(Evidence(fixed=fixed).add(distances, 1), np.concatenate(likely))


@given(distances=predictions)
def test_compiled_and_python_give_the_same_sums(distances):
    fast, slow = Evidence(), Evidence()
    lapses, results = np.resize([np.nan, 0.0, 0.3, 0.5], len(distances)), []
    for evidence, function in ((fast, compiled.add_answers), (slow, compiled.add_answers.py_func)):
        results.append(np.empty(len(distances)))
        function(distances, lapses, 5, 3.0, MODEL, evidence.sums, evidence.bins, evidence.window, results[-1])
    np.testing.assert_allclose(fast.sums, slow.sums, rtol=1e-9)
    np.testing.assert_allclose(fast.bins, slow.bins, rtol=1e-9)
    np.testing.assert_array_equal(fast.window, slow.window)
    np.testing.assert_allclose(*results, atol=1e-12)


def test_compiled_code_makes_no_named_tuple_for_python():
    # Numba would call Python for it, and Ctrl-C there crashes the process.
    assert type(compiled.parameters_at(np.zeros(3))) is tuple


def test_compiled_and_python_give_the_same_estimate(monkeypatch):
    fast, slow = (Evidence(fixed=RATIO) for _ in range(2))
    for evidence in (fast, slow):
        evidence.add(simulated(MODEL, 300), 1)
        evidence.fixed = None
    fast.estimate()
    in_python(monkeypatch, compiled)
    slow.estimate()
    # In Python, the single precision of the window spreads to other numbers.
    np.testing.assert_allclose(fast.answer_model, slow.answer_model, rtol=1e-5)
    np.testing.assert_allclose(fast.lapse, slow.lapse, rtol=1e-5)


@pytest.mark.parametrize("shifted", [True, False])
def test_the_distances_of_a_map_equal_those_of_its_kernel(shifted):
    X, T = np.random.default_rng(0).normal(size=(9, 4)), sample(9, 200, 1)
    shifts = np.exp(X[:, -1]) if shifted else np.zeros(9)
    expected = LowRankKernel.of_map(X[:, :-1], 3, 0.0, shifts).distances(T)
    for function in (compiled.distances_of_map, compiled.distances_of_map.py_func):
        distances = np.empty((len(T), 2))
        function(X, shifted, T, distances)
        np.testing.assert_allclose(distances, expected, atol=1e-9)


# The window.


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 6000, 8192])
def test_the_window_keeps_the_latest_predictions(size):
    distances = np.stack([np.arange(size), np.arange(size) + 0.5], axis=1)
    evidence = Evidence(fixed=RATIO)
    evidence.add(distances, 1)
    kept = evidence.arrays()["window"]
    assert len(evidence.window) == 4096
    np.testing.assert_array_equal(kept[np.argsort(kept[:, 0])], distances[-4096:])


def test_an_estimate_depends_only_on_the_window():
    latest, older = simulated(MODEL, 4096), (simulated(MODEL, 3000, 1), simulated(RATIO, 3000, 2))
    models = []
    for before in older:
        evidence = evidence_of(np.concatenate([before, latest]))
        evidence.estimate()
        evidence.estimate()
        models.append(evidence.answer_model)
    np.testing.assert_allclose(*models, rtol=1e-3)


# The estimate.


def parameters_of(model):
    """What the prior is about: log sensitivity, logit of the power, logit of twice the lapse."""
    return np.array([math.log(model.sensitivity), *scipy.special.logit([model.power, 2.0 * model.lapse])])


def log_posterior(at, distances, discount):
    """The logarithm of prior times likelihood, where answer j of n counts (j/n)^discount."""
    sensitivity, power, twice = math.exp(at[0]), *scipy.special.expit(at[1:])
    number = np.arange(1, len(distances) + 1)
    likely = naive.probability((sensitivity, power, 0.5 * twice), *distances.T)
    off = (at - module._PRIOR_MEAN) / module._PRIOR_SPREAD
    return (number / len(distances)) ** discount @ np.log(likely) - 0.5 * off @ off


@pytest.mark.parametrize("discount", [3.0, 8.0])
@pytest.mark.parametrize("size", [0, 3, 30, 300, 4000])
@pytest.mark.parametrize("model", [MODEL, RATIO, AnswerModel(0.5, 1.0), AnswerModel(3.0, 0.5, 0.3)], ids=repr)
def test_the_estimate_is_the_maximum_of_the_posterior(model, size, discount):
    distances = simulated(model, size).astype(np.float32).astype(float)
    evidence = evidence_of(distances, discount=discount)
    evidence.estimate()
    best = scipy.optimize.minimize(
        lambda at: -log_posterior(at, distances, discount),
        module._PRIOR_MEAN,
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 2000},
    )
    found = parameters_of(evidence.answer_model)
    assert log_posterior(found, distances, discount) == pytest.approx(-best.fun, abs=1e-3)
    np.testing.assert_allclose(found, best.x, atol=0.05)


RECOVERED = [MODEL, AnswerModel(2.0, 0.5, 0.02), AnswerModel(3.0, 0.15, 0.2), AnswerModel(1.0, 0.8, 0.1)]


@pytest.mark.parametrize("model", RECOVERED, ids=repr)
def test_the_answer_model_of_simulated_people_is_recovered_and_gives_calibrated_confidence(model):
    """Within the statistical error: answers say little about the power if they are noisy."""
    errors, off = [], []
    near, far = simulated(model, 1000, seed=100).T
    for seed in range(12):
        evidence = evidence_of(simulated(model, 4096, seed))
        spread = np.sqrt(np.diag(evidence.arrays()["answer_model"][1:]))
        errors.append((parameters_of(evidence.answer_model) - parameters_of(model)) / spread)
        off.append(evidence.answer_model.probability(near, far) - model.probability(near, far))
        assert evidence.lapse.rate == pytest.approx(evidence.answer_model.lapse)
        assert evidence.reliability().calibration_error < 0.04
    assert np.abs(errors).max() < 3.5
    assert np.sqrt(np.mean(np.square(errors), axis=0)).max() < 2.0
    assert np.mean(np.abs(off)) < 0.03


def test_the_interval_of_the_lapse_holds_as_often_as_it_says():
    model, covered = AnswerModel(2.0, 0.5, 0.1), []
    for seed in range(60):
        low, high = evidence_of(simulated(model, 1500, seed)).lapse[1:]
        covered.append(low <= model.lapse <= high)
    assert np.mean(covered) > 0.88


def test_more_answers_make_the_interval_of_the_lapse_narrower():
    lapses = [np.array(evidence_of(simulated(MODEL, size)).lapse) for size in (100, 600, 4000)]
    low, high = scipy.special.logit(2.0 * np.transpose(lapses)[1:])
    assert (np.diff(high - low) < 0.0).all()


@pytest.mark.parametrize(
    "distances",
    [
        np.zeros((300, 2)),
        np.tile([0.0, 1e300], (300, 1)),
        np.tile([1e300, 0.0], (300, 1)),
        np.tile([1e-300, 1e-30], (300, 1)),
        np.tile([5.0, 5.0], (300, 1)),
        np.tile([[1e30, 0.0], [0.0, 1e30]], (150, 1)),
    ],
    ids=["0", "certain", "all wrong", "tiny", "ties", "contradictions"],
)
def test_whatever_the_distances_are_the_answer_model_stays_in_its_ranges(distances):
    evidence = evidence_of(distances)
    sensitivity, power, lapse = evidence.answer_model
    assert 1e-3 < sensitivity < 1e3
    assert 0.0 <= power <= 1.0
    assert 0.0 <= lapse < 0.5
    assert 0.0 <= evidence.lapse.low <= lapse <= evidence.lapse.high <= 0.5
    assert math.isfinite(evidence.discounted_loss)


def test_an_estimate_is_made_again_whenever_there_are_a_tenth_more_answers():
    evidence, changed, model = Evidence(), [], Evidence().answer_model
    for number, pair in enumerate(simulated(MODEL, 400), 1):
        evidence.add(pair[None], number)
        if evidence.answer_model != model:
            changed.append(number)
            model = evidence.answer_model
    assert changed[:3] == [10, 15, 20]
    growth = np.diff(changed)
    assert (growth >= 5).all()
    assert (growth <= np.maximum(5, 0.1 * np.array(changed[1:]))).all()


# Copies.


def test_a_copy_with_a_handicap_is_independent():
    evidence = evidence_of(simulated(MODEL, 20), discount=8.0)
    other = evidence.copy(1.5)
    assert other.discounted_loss == pytest.approx(evidence.discounted_loss + 1.5)
    assert (other.answer_model, other.error, other.discount) == (evidence.answer_model, evidence.error, 8.0)
    assert (evidence.n_own, other.n_own) == (20, 0)
    before = copy.deepcopy(evidence)
    other.add(simulated(MODEL, 30, seed=1), 21)
    assert_same(before, evidence)
    assert (evidence.n_own, other.n_own) == (20, 30)


def test_a_copy_may_have_another_answer_model():
    evidence = evidence_of(simulated(MODEL, 50), fixed=RATIO)
    assert evidence.answer_model == evidence.copy(0.0, RATIO).answer_model == RATIO
    estimated = evidence.copy(0.0, None)
    estimated.estimate()
    expected = evidence_of(simulated(MODEL, 50))
    expected.estimate()
    np.testing.assert_allclose(estimated.answer_model, expected.answer_model, rtol=0.01)


def test_without_answers_there_is_no_evidence():
    evidence = Evidence()
    evidence.estimate()
    assert evidence.answer_model == Evidence().answer_model
    assert 0.0 < evidence.lapse.low < evidence.lapse.rate < evidence.lapse.high < 0.5
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
    swap = rng.random(size) < scipy.special.expit(excess)
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
    distances = learner.distances(asked)
    np.testing.assert_allclose(distances[:, 1] - distances[:, 0], learner.decision_function(asked), atol=1e-9)
    np.testing.assert_allclose(probabilities[:, 1], naive.probability(learner.answer_model_, *distances.T))
    assert learner.reliability_.n_answers.sum() == 2500
    assert learner.reliability_.calibration_error < 0.05
    # The same holds for new answers.
    near = learner.predict_proba(T[2500:])[:, 1]
    assert abs(np.maximum(near, 1 - near).mean() - np.mean(near > 0.5)) < 0.06


@KERNEL
def test_the_evidence_is_about_predictions_before_each_answer(kernel):
    T = answers(8, 150, flipped=0.2)
    learner, follower = (ERKLE(8, kernel=kernel, passes=2, random_state=0) for _ in range(2))
    decisions = learner.prequential(T)
    wrong, weights = decisions <= 0.0, weights_of(np.arange(1, 151), 3.0)
    found = learner._model.evidence
    assert found.error == pytest.approx(weights @ wrong / weights.sum())
    assert found.weight == pytest.approx(weights.sum())
    distances, losses = [], []
    for row in T:
        before = follower.knowledge()
        distances.append(before.distances([row])[0])
        losses.append(-np.log(before.predict_proba([row])[0, 1]))
        follower.learn_one(row)
    assert found.discounted_loss == pytest.approx(weights @ losses, rel=1e-6)
    np.testing.assert_allclose(np.subtract(*np.transpose(distances)), -decisions, atol=1e-8)
    if kernel in (KERNELS["exact"], KERNELS["one"]):
        np.testing.assert_allclose(found.arrays()["window"], distances, rtol=1e-5, atol=1e-6)


def test_a_learner_without_answers_gives_probabilities_of_one_half():
    learner = ERKLE(5).fit([])
    np.testing.assert_array_equal(learner.predict_proba([(0, 1, 2)]), [[0.5, 0.5]])
    assert learner.answer_model_ == Evidence().answer_model


def test_the_answer_model_corrects_for_steps_that_are_too_long():
    T = noisy_answers(15, 2000, seed=2)
    short, long = (ERKLE(15, loss=STE(), step=Constant(rate), kernel=LowRank(2)).fit(T) for rate in (0.1, 5.0))
    asked = sample(15, 300, 0)
    size = {learner: np.abs(learner.decision_function(asked)).mean() for learner in (short, long)}
    assert size[long] > 3.0 * size[short]
    certainty = {learner: np.abs(learner.predict_proba(asked)[:, 1] - 0.5).mean() for learner in (short, long)}
    assert certainty[long] < 1.1 * certainty[short]
    assert long.reliability_.calibration_error < 0.08

"""Laws of the learner as a scikit-learn estimator: it can be cloned, searched over and cross-validated."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, ParameterGrid, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from erkle import CKL, ERKLE, GNMDS, STE, Constant, Dense, InverseSqrt, LowRank, PassiveAggressive, PassiveAggressiveI
from erkle.triplets import orient, questions, sample
from parts import KERNELS, PAIRS, PROJECTIONS, Cooling, SquaredHinge, answers, state

T = answers(8, 300, flipped=0.1)

# X is an (m, 3) array with three different ids per row. Why some of scikit-learn's checks do not apply:
_FEATURES = "passes a matrix of features instead of rows of three different ids"
_WORDS = "expects scikit-learn's wording of an error; ours names the row and the remedy"
NOT_FOR_TRIPLETS = {
    "check_fit_score_takes_y": _FEATURES,
    "check_estimators_overwrite_params": _FEATURES,
    "check_dont_overwrite_parameters": _FEATURES,
    "check_estimators_fit_returns_self": _FEATURES,
    "check_readonly_memmap_input": _FEATURES,
    "check_n_features_in_after_fitting": _FEATURES,
    "check_n_features_in": _FEATURES,
    "check_estimators_dtypes": _FEATURES,
    "check_dtype_object": _FEATURES,
    "check_pipeline_consistency": _FEATURES,
    "check_estimators_pickle": _FEATURES,
    "check_f_contiguous_array_estimator": _FEATURES,
    "check_methods_sample_order_invariance": _FEATURES,
    "check_methods_subset_invariance": _FEATURES,
    "check_dict_unchanged": _FEATURES,
    "check_fit_idempotent": _FEATURES,
    "check_fit_check_is_fitted": _FEATURES,
    "check_fit2d_predict1d": _FEATURES,
    "check_positive_only_tag_during_fit": _WORDS,
    "check_complex_data": _WORDS,
    "check_estimators_nan_inf": _WORDS,
    "check_fit2d_1sample": _WORDS,
    "check_fit2d_1feature": _WORDS,
    "check_estimators_empty_data_messages": "an empty stream is valid and leaves the kernel as it is",
    "check_parameters_default_constructible": "allows only plain defaults; a kernel is a NamedTuple",
}


@pytest.fixture(scope="module")
def checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_estimator(ERKLE(n_objects=5), expected_failed_checks=NOT_FOR_TRIPLETS, on_skip=None, on_fail=None)


def test_every_check_of_scikit_learn_that_applies_passes(checks):
    failed = {check["check_name"]: check["exception"] for check in checks if check["status"] == "failed"}
    assert not failed
    assert sum(check["status"] == "passed" for check in checks) >= 13


def test_only_checks_that_fail_are_excluded(checks):
    excluded = {check["check_name"] for check in checks if check["status"] == "xfail"}
    assert excluded == set(NOT_FOR_TRIPLETS)


# The same laws for triplets, where scikit-learn's checks do not apply.


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_fit_returns_the_learner_and_leaves_its_parameters_alone(projection):
    learner = ERKLE(8, kernel=Dense(projection=projection, initial=np.eye(8)), passes=2, random_state=0)
    before = copy.deepcopy(learner.get_params())
    assert learner.fit(T) is learner
    assert learner.partial_fit(T) is learner
    after = learner.get_params()
    np.testing.assert_array_equal(after.pop("kernel").initial, before.pop("kernel").initial)
    assert after == before
    assert learner.n_features_in_ == 3
    check_is_fitted(learner)


def test_attributes_added_by_fit_end_in_an_underscore_or_are_private():
    learner = ERKLE(8, kernel=Dense())
    before = set(vars(learner))
    added = set(vars(learner.fit(T))) - before
    assert all(name.startswith("_") != name.endswith("_") for name in added)


@pytest.mark.parametrize("kernel", [pytest.param(Dense(), id="dense"), *KERNELS])
def test_predicting_creates_no_state(kernel):
    learner = ERKLE(8, kernel=kernel, random_state=0).fit(T)
    before, known = dict(vars(learner)), state(learner)
    learner.predict(T), learner.predict_one(T[0]), learner.predict_proba(T), learner.score(T)
    learner.kernel_matrix(), learner.embedding(), learner.embedding(2)
    assert state(learner) == known
    assert vars(learner).keys() == before.keys()
    assert all(vars(learner)[name] is before[name] for name in before)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_the_prediction_for_a_row_does_not_depend_on_other_rows(method):
    act = getattr(ERKLE(8, kernel=Dense()).fit(T), method)
    order = np.random.default_rng(0).permutation(len(T))
    np.testing.assert_array_equal(act(T[order]), act(T)[order])
    np.testing.assert_array_equal(np.concatenate([act(piece) for piece in np.array_split(T, 7)]), act(T))
    assert act(T[:1]).shape == (1,)
    assert act(T[:0]).shape == (0,)


def test_the_layout_and_type_of_the_array_have_no_effect(tmp_path):
    expected = state(ERKLE(8, kernel=Dense()).fit(T))
    np.save(tmp_path / "T.npy", T)
    read_only = T.copy()
    read_only.flags.writeable = False
    forms = [
        T.tolist(),
        [tuple(row) for row in T],
        T.astype(np.int32),
        T.astype(np.uint8),
        T.astype(float),
        np.asfortranarray(T),
        np.repeat(T, 2, axis=0)[::2],
        T[::-1][::-1],
        T.byteswap().view(T.dtype.newbyteorder()),
        np.load(tmp_path / "T.npy", mmap_mode="r"),
        read_only,
    ]
    for form in forms:
        learner = ERKLE(8, kernel=Dense()).fit(form)
        assert state(learner) == expected
        learner.predict(form)


def test_the_triplets_given_are_not_changed():
    mine, y = T.copy(), np.zeros(len(T), bool)
    learner = ERKLE(8, kernel=Dense(), passes=2).fit(mine, y)
    learner.partial_fit(mine).score(mine, y)
    np.testing.assert_array_equal(mine, T)
    assert not y.any()
    mine[:] = 0  # the learner has its own copy for replay
    assert (learner._replay.history[len(T) :] == T).all()
    learner.partial_fit(T)


def test_sparse_matrices_are_refused_with_the_remedy():
    learner = ERKLE(8, kernel=Dense()).fit(T)
    for act in (learner.fit, learner.partial_fit, learner.predict, learner.score):
        with pytest.raises(TypeError, match=r"sparse.*toarray"):
            act(sparse.csr_array(T))


def test_tags_declare_that_rows_hold_ids():
    tags = get_tags(ERKLE(8, kernel=Dense()))
    assert tags.input_tags.categorical
    assert tags.input_tags.positive_only
    assert not tags.target_tags.required


# Cloning, copying and searching.


@pytest.mark.parametrize(("loss", "step"), [*PAIRS, pytest.param(SquaredHinge(), Cooling(), id="user's")])
def test_a_clone_has_the_same_parameters_and_is_not_fitted(loss, step):
    learner = ERKLE(8, kernel=Dense(tol=1e-3), loss=loss, step=step, passes=2, direction="gradient", random_state=4)
    copied = clone(learner)
    assert copied.get_params() == learner.get_params()
    assert not copied.__sklearn_is_fitted__()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_clone_of_a_low_rank_learner_learns_the_same(kernel):
    learner = ERKLE(8, kernel=kernel, random_state=4).fit(T)
    copied = clone(learner)
    assert copied.get_params() == learner.get_params()
    assert not copied.__sklearn_is_fitted__()
    assert state(copied.fit(T)) == state(learner)


@pytest.mark.parametrize("load", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_copy_of_a_low_rank_learner_is_independent(load, kernel):
    learner = ERKLE(8, passes=2, random_state=0, kernel=kernel).fit(T[:120])
    copied = load(learner)
    before = state(learner)
    copied.partial_fit(T[120:])
    assert state(learner) == before
    assert state(copied) == state(learner.partial_fit(T[120:]))


@pytest.mark.parametrize("load", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_a_copy_is_independent(load, projection):
    learner = ERKLE(8, kernel=Dense(projection=projection), passes=3, random_state=0).fit(T[:200])
    copied = load(learner)
    before = state(learner)
    copied.partial_fit(T[200:])
    assert state(learner) == before
    assert state(copied) == state(learner.partial_fit(T[200:]))


def test_joblib_can_save_and_load_a_learner(tmp_path):
    learner = ERKLE(8, kernel=Dense()).fit(T)
    joblib.dump(learner, tmp_path / "learner.joblib")
    assert state(joblib.load(tmp_path / "learner.joblib")) == state(learner)
    unfitted = pickle.loads(pickle.dumps(ERKLE(8, kernel=Dense(), loss=STE())))
    assert unfitted.get_params() == ERKLE(8, kernel=Dense(), loss=STE()).get_params()


def test_repr_shows_the_parameters_that_were_set():
    shown = repr(ERKLE(8, kernel=Dense(), loss=STE(), step=Constant(0.5), passes=2))
    for part in ("kernel=Dense(", "loss=STE()", "n_objects=8", "passes=2", "step=Constant(rate=0.5)"):
        assert part in shown
    assert repr(ERKLE(8)) == "ERKLE(n_objects=8)"


def test_a_grid_search_over_steps_and_passes_keeps_answers_to_a_question_in_one_fold():
    many = answers(8, 600, flipped=0.1)
    grid = {"step": [PassiveAggressive(), PassiveAggressiveI(C=0.02), PassiveAggressiveI(C=1e-9)], "passes": [1, 3]}
    search = GridSearchCV(ERKLE(8, kernel=Dense(), random_state=0), grid, cv=GroupKFold(4))
    search.fit(many, groups=questions(many))
    assert len(search.cv_results_["params"]) == 6
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_params_["step"] != PassiveAggressiveI(C=1e-9)
    assert search.best_score_ > 0.7
    best = ERKLE(8, kernel=Dense(), random_state=0).set_params(**search.best_params_).fit(many)
    assert state(search.best_estimator_) == state(best)
    assert search.predict(many[:5]).tolist() == best.predict(many[:5]).tolist()


def test_a_grid_search_can_compare_kernels():
    many = answers(8, 400, flipped=0.1)
    grid = {"kernel": [Dense(), LowRank(3), LowRank()]}
    search = GridSearchCV(ERKLE(8, kernel=Dense(), random_state=0), grid, cv=GroupKFold(2)).fit(
        many, groups=questions(many)
    )
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert isinstance(search.best_params_["kernel"], LowRank)
    best = ERKLE(8, kernel=Dense(), random_state=0).set_params(**search.best_params_).fit(many)
    assert state(search.best_estimator_) == state(best)


def test_cross_validation_takes_questions_and_answers():
    rng = np.random.default_rng(0)
    y = rng.random(len(T)) < 0.5
    asked = orient(T, y)
    groups = questions(asked)
    plain = cross_val_score(ERKLE(8, kernel=Dense()), T, groups=groups, cv=GroupKFold(3))
    with_y = cross_val_score(ERKLE(8, kernel=Dense()), asked, y, groups=groups, cv=GroupKFold(3))
    assert plain.mean() > 0.7
    np.testing.assert_allclose(with_y, plain)
    predicted = cross_val_predict(ERKLE(8, kernel=Dense()), asked, y, groups=groups, cv=GroupKFold(3))
    assert np.mean(predicted == y) == pytest.approx(plain.mean(), abs=0.01)


def test_cross_validation_can_run_in_parallel_processes():
    scores = [
        cross_val_score(ERKLE(8, kernel=Dense(), random_state=0).set_params(**parameters), T, cv=2, n_jobs=jobs)
        for jobs in (1, 2)
        for parameters in ParameterGrid({"loss": [STE()], "step": [Constant(0.1)]})
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_a_learner_can_be_the_last_step_of_a_pipeline():
    pipeline = make_pipeline("passthrough", ERKLE(8, kernel=Dense()))
    assert state(pipeline.fit(T)[-1]) == state(ERKLE(8, kernel=Dense()).fit(T))
    assert pipeline.set_params(erkle__passes=2).fit(T).score(T) > 0.7


@pytest.mark.parametrize(
    ("name", "value"), [("step", Constant(0.3)), ("loss", CKL()), ("direction", "gradient"), ("step", InverseSqrt(2.0))]
)
def test_a_part_set_between_two_calls_takes_effect_with_the_next_answer(name, value):
    start = {"loss": STE(), "step": Constant(1.0)}
    learner = ERKLE(8, kernel=Dense(), **start).fit(T[:100]).set_params(**{name: value}).partial_fit(T[100:])
    unchanged = ERKLE(8, kernel=Dense(), **start).fit(T)
    assert np.abs(learner.kernel_matrix() - unchanged.kernel_matrix()).max() > 1e-3
    # This equals a learner with the new part that starts from the old kernel.
    old = ERKLE(8, kernel=Dense(tol=1e-8), **start).fit(T[:100])
    new = ERKLE(8, kernel=Dense(tol=1e-8, initial=old.kernel_matrix()), **{**start, name: value}).fit([])
    new._replay.seen = 100
    new.partial_fit(T[100:])
    exact = old.set_params(**{name: value}).partial_fit(T[100:])
    np.testing.assert_allclose(
        exact.kernel_matrix(), new.kernel_matrix(), atol=1e-6 * np.abs(new.kernel_matrix()).max()
    )


def test_parameters_are_checked_only_by_fit():
    learner = ERKLE(
        -3, kernel=Dense(tol=object(), projection=[]), loss="nonsense", step=None, passes="many", direction=7
    )
    assert clone(learner).get_params()["n_objects"] == -3
    learner.set_params(n_objects=8, loss=GNMDS(), step=PassiveAggressive(), passes=1)
    learner.set_params(direction="canonical", kernel=Dense()).fit(T)
    assert learner.score(T) > 0.7


def test_the_score_is_the_share_of_correct_predictions():
    learner = ERKLE(8, kernel=Dense()).fit(T)
    some = sample(8, 100, 5)
    assert learner.score(some) == np.mean(learner.predict(some))
    assert learner.score(some, np.zeros(100)) == np.mean(learner.predict(some[:, [0, 2, 1]]))

"""Laws of the learner: it equals the naive algorithm, and it stays usable whatever input it gets."""

import math
import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import naive
from erkle import (
    CKL,
    ERKLE,
    GNMDS,
    STE,
    TSTE,
    Constant,
    Dense,
    LowRank,
    PassiveAggressive,
    PassiveAggressiveI,
    PassiveAggressiveII,
    metrics,
)
from erkle._compiled.overloads import is_built_in
from erkle.kernels import upkeep
from erkle.triplets import sample
from parts import (
    DIRECTIONS,
    OTHER_PAIRS,
    PAIRS,
    PROJECTIONS,
    Cooling,
    SquaredHinge,
    answers,
    assert_is_a_sentence,
    directions_of,
    loop_in_python,
    precise,
    relative,
    state,
)


def smallest_share(learner):
    """The smallest eigenvalue of the stored kernel, as a share of the largest."""
    values = np.linalg.eigvalsh(learner._model.kernel.unprojected())
    return values[0] / values[-1]


def assert_learns_like_the_naive_one(T, loss, step, direction, projection="inverse", passes=1, each=100):
    n = int(T.max()) + 1
    learner = ERKLE(
        n,
        kernel=precise(projection),
        loss=loss,
        step=step,
        direction=direction,
        passes=passes,
        random_state=3,
    )
    for start in range(0, len(T), each):
        learner.partial_fit(T[start : start + each])
        assert smallest_share(learner) >= -1e-8
    expected, active = naive.erkle(T.tolist(), np.eye(n), loss, step, direction, passes, seed=3)
    assert relative(learner.kernel_matrix(), expected) < 1e-6
    # A replayed or repeated answer may lie exactly at its margin, where rounding decides whether it moves the kernel.
    assert abs(learner.counters_.n_active - active) <= (0.002 if passes == 1 else 0.03) * active + 1
    assert learner.n_triplets_seen_ == len(T)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("loss", "step"), PAIRS)
def test_with_a_small_tolerance_the_kernel_is_the_naive_one(loss, step, direction):
    assert_learns_like_the_naive_one(answers(30, 1000, flipped=0.1), loss, step, direction)


@pytest.mark.parametrize(("loss", "step"), OTHER_PAIRS)
def test_with_the_loop_in_python_the_kernel_is_the_naive_one(loss, step, monkeypatch):
    loop_in_python(monkeypatch, "dense")
    for direction in directions_of(loss, step):
        assert_learns_like_the_naive_one(answers(15, 400, flipped=0.1), loss, step, direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("loss", "step"), PAIRS)
def test_the_literal_projection_also_gives_the_naive_kernel(loss, step, direction):
    assert_learns_like_the_naive_one(answers(20, 500, flipped=0.1), loss, step, direction, projection="eigh")


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("loss", "step"), [(GNMDS(), PassiveAggressive()), (STE(), Constant(1.0)), (CKL(), Constant())]
)
def test_several_passes_learn_like_the_naive_ones(loss, step, direction, projection):
    T = answers(20, 300, flipped=0.1)
    assert_learns_like_the_naive_one(T, loss, step, direction, projection=projection, passes=3, each=20)


def test_a_users_loss_and_step_learn_like_the_naive_ones():
    for direction in DIRECTIONS:
        assert_learns_like_the_naive_one(answers(20, 500, flipped=0.1), SquaredHinge(), Cooling(), direction)


def test_a_users_loss_or_step_is_never_cached_on_disk():
    assert is_built_in(STE(), Constant())
    assert not is_built_in(SquaredHinge(), Constant())
    assert not is_built_in(STE(), Cooling())


def points(n, width, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    T = sample(n, 15_000, rng)
    swap = D[T[:, 0], T[:, 1]] > D[T[:, 0], T[:, 2]]
    T[swap, 1:] = T[swap, :0:-1]
    return T[:5000], T[5000:]


def test_with_the_default_tolerance_the_kernel_is_close_to_the_exact_one_and_predicts_as_well():
    train, test = points(60, 30, seed=0)
    fast, literal = ERKLE(60, kernel=Dense()), ERKLE(60, kernel=Dense(projection="eigh"))
    for start in range(0, len(train), 1000):
        fast.partial_fit(train[start : start + 1000])
        assert np.linalg.eigvalsh(fast._model.kernel.unprojected())[0] >= -1e-3
    literal.partial_fit(train)
    assert relative(fast.kernel_matrix(), literal.kernel_matrix()) < 1e-3
    assert abs(fast.score(test) - literal.score(test)) <= 0.0005
    P = np.tril(fast._model.kernel._state.P.lower)
    P = P + np.tril(P, -1).T
    shifted = fast._model.kernel.unprojected() + fast._model.kernel._state.memory["sigma"] * np.eye(60)
    np.testing.assert_allclose(P @ shifted, np.eye(60), atol=1e-9)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 15),
    rate=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    direction=st.sampled_from(DIRECTIONS),
    tol=st.sampled_from([0.5, 1e-2]),
)
def test_the_kernel_matrix_is_a_positive_semidefinite_copy(seed, n, rate, direction, tol):
    learner = ERKLE(n, kernel=Dense(tol=tol), loss=STE(), step=Constant(rate), direction=direction).fit(
        sample(n, 100, seed)
    )
    K = learner.kernel_matrix()
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -n * 1e-15 * values[-1]
    np.testing.assert_array_equal(K, K.T)
    K[:] = 0.0
    assert learner.kernel_matrix().any()


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_reading_does_not_change_the_learner(projection):
    T = answers(10, 300, flipped=0.2)
    read, untouched = (ERKLE(10, kernel=Dense(projection=projection), passes=2, random_state=0) for _ in range(2))
    for start in range(0, 300, 30):
        read.partial_fit(T[start : start + 30])
        untouched.partial_fit(T[start : start + 30])
        read.kernel_matrix(), read.embedding(), read.embedding(2), read.score(T), read.predict_one((0, 1, 2))
        read.decision_function(T), read.prequential_error_
    assert state(read) == state(untouched)


def test_the_embedding_has_the_distances_of_the_kernel():
    learner = ERKLE(10, kernel=Dense()).fit(answers(10, 300))
    X, K = learner.embedding(), learner.kernel_matrix()
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, np.diag(K)[:, None] + np.diag(K) - 2 * K, atol=1e-9)
    np.testing.assert_allclose(learner.embedding(2), X[:, :2])


def test_decisions_are_differences_of_squared_distances():
    learner = ERKLE(10, kernel=Dense(tol=1e-8)).fit(answers(10, 300))
    T = sample(10, 50, 1)
    np.testing.assert_allclose(
        learner.decision_function(T), metrics.decision_values(learner.kernel_matrix(), T), atol=1e-6
    )
    np.testing.assert_array_equal(learner.predict(T), learner.decision_function(T) > 0)
    assert learner.score(T) == pytest.approx(1 - metrics.triplet_error(learner.kernel_matrix(), T))
    assert [learner.predict_one(row) for row in T] == learner.predict(T).tolist()


@pytest.mark.parametrize("passes", [1, 3])
def test_prequential_decisions_are_made_just_before_each_answer_is_learned(passes):
    T = answers(10, 200, flipped=0.2)
    learner, follower = (ERKLE(10, kernel=Dense(), passes=passes, random_state=1) for _ in range(2))
    decisions = learner.prequential(T)
    for row, decision in zip(T, decisions, strict=True):
        before = follower.decision_function([row])[0] if follower.__sklearn_is_fitted__() else 0.0
        assert decision == pytest.approx(before, abs=1e-12)
        follower.learn_one(row)
    assert learner.prequential_error_ == metrics.prequential_error(decisions)[-1]
    assert learner.prequential_error_ == follower.prequential_error_
    assert learner._n_mistakes == np.count_nonzero(decisions <= 0)


def test_a_tie_counts_as_a_mistake_so_the_first_answer_is_always_one():
    learner = ERKLE(5, kernel=Dense())
    assert learner.predict_one((0, 1, 2)) is False
    assert math.isnan(learner.knowledge().prequential_error_)
    learner.learn_one((0, 1, 2))
    assert learner.prequential_error_ == 1.0
    learner.learn_one((0, 1, 2))
    assert learner.prequential_error_ == 0.5
    assert ERKLE(5, kernel=Dense()).fit(np.empty((0, 3), int)).score(sample(5, 20, 0)) == 0.0


def test_questions_with_answers_equal_oriented_triplets():
    T = answers(8, 100)
    yes = np.random.default_rng(0).random(100) < 0.5
    questions = np.where(yes[:, None], T, T[:, [0, 2, 1]])
    plain = ERKLE(8, kernel=Dense()).fit(T)
    for y in (yes, yes.astype(int), np.where(yes, 1, -1), yes.tolist(), yes.astype(float)):
        asked = ERKLE(8, kernel=Dense()).fit(questions, y)
        assert state(asked) == state(plain)
        assert asked.score(questions, y) == plain.score(T)
    one_by_one = ERKLE(8, kernel=Dense())
    for question, answer in zip(questions, yes, strict=True):
        one_by_one.learn_one(question, bool(answer))
    assert state(one_by_one) == state(plain)


def test_nothing_to_learn_leaves_the_initial_kernel():
    for nothing in ([], np.empty((0, 3), int), np.empty((0, 3))):
        learner = ERKLE(4, kernel=Dense()).fit(nothing)
        np.testing.assert_array_equal(learner.kernel_matrix(), np.eye(4))
        assert learner.n_triplets_seen_ == 0
        assert learner.prequential(nothing).shape == (0,)


def test_reading_an_unfitted_learner_is_an_error():
    looks = ("n_objects_", "n_triplets_seen_", "counters_", "history_", "curve_", "selection_")
    for look in (*looks, "answer_model_", "lapse_", "participants_", "reliability_"):
        with pytest.raises(NotFittedError, match="partial_fit"):
            getattr(ERKLE(4), look)
    for compute in ("kernel_matrix", "embedding"):
        with pytest.raises(NotFittedError, match="partial_fit"):
            getattr(ERKLE(4), compute)()
    for act in ("decision_function", "distances", "predict", "predict_proba", "score"):
        with pytest.raises(NotFittedError, match="partial_fit"):
            getattr(ERKLE(4, kernel=Dense()), act)([(0, 1, 2)])
    with pytest.raises(NotFittedError, match="partial_fit"):
        ERKLE(4, kernel=Dense()).save("nowhere.npz")
    assert not hasattr(ERKLE(4, kernel=Dense()), "no_such_name")


# Adding objects.


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("passes", [1, 3])
def test_adding_objects_later_equals_having_them_from_the_start(projection, passes):
    few, all_of_them = answers(8, 150, flipped=0.2), answers(12, 300, flipped=0.2)
    settings = {"kernel": precise(projection), "passes": passes, "random_state": 0}
    grown = ERKLE(8, **settings).fit(few).add_objects(3).add_objects().partial_fit(all_of_them)
    full = ERKLE(12, **settings).fit(few).partial_fit(all_of_them)
    assert grown.n_objects_ == 12
    assert relative(grown.kernel_matrix(), full.kernel_matrix()) < 1e-6
    assert grown.n_triplets_seen_ == full.n_triplets_seen_ == 450


def test_objects_may_be_added_before_the_first_answer():
    learner = ERKLE(3, kernel=Dense()).add_objects(np.int64(2))
    learner.learn_one((0, 3, 4))
    assert learner.predict_one((0, 3, 4))
    assert learner.kernel_matrix().shape == (5, 5)


@pytest.mark.parametrize("n_new", [-1, 1.5, "2", True])
def test_a_bad_number_of_new_objects_is_refused(n_new):
    with pytest.raises(ValueError, match=rf"^n_new is {n_new!r}; .* at least 0"):
        ERKLE(3, kernel=Dense()).add_objects(n_new)


# Bad input.

BAD_TRIPLETS = {
    "out of range": ([(0, 1, 6)], "object 6 (row 0)"),
    "late": ([(0, 1, 2), (0, 1, 29)], "object 29 (row 1)"),
    "negative": ([(0, -1, 2)], "object -1 (row 0)"),
    "repeated": ([(0, 1, 2), (0, 1, 1)], "object 1 twice (row 1: 0, 1, 1)"),
    "fractions": ([(0, 1, 2.5)], "object 2.5 (row 0)"),
    "nan": ([(0, 1, math.nan)], "object nan (row 0)"),
    "infinite": ([(0, 1, math.inf)], "object inf (row 0)"),
    "strings": ([("a", "b", "c")], "but ids are whole numbers"),
    "booleans": ([(True, False, True)], "of type bool"),
    "objects": ([(0, 1, None)], "of type object"),
    "complex": ([(0, 1, 2j)], "of type complex128"),
    "two columns": ([(0, 1)], "have shape (1, 2)"),
    "four columns": ([(0, 1, 2, 3)], "have shape (1, 4)"),
    "one row": ((0, 1, 2), "have shape (3,)"),
    "a number": (5, "have shape ()"),
    "three axes": (np.zeros((2, 3, 3), int), "have shape (2, 3, 3)"),
    "unequal rows": ([(0, 1, 2), (0, 1)], "rows of unequal lengths"),
}
METHODS = ["fit", "partial_fit", "prequential", "decision_function", "distances", "predict", "predict_proba", "score"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("X", "words"), BAD_TRIPLETS.values(), ids=BAD_TRIPLETS)
def test_bad_triplets_are_refused_and_leave_the_learner_as_it_was(X, words, method):
    T = answers(6, 60)
    for passes in (1, 3):
        learner = ERKLE(6, kernel=Dense(), passes=passes, random_state=0).fit(T[:40])
        before = state(learner)
        with pytest.raises(ValueError, match=f"^Triplets .*{re.escape(words)}"):
            getattr(learner, method)(X)
        assert state(learner) == before
        learner.partial_fit(T[40:])
        assert state(learner) == state(ERKLE(6, kernel=Dense(), passes=passes, random_state=0).fit(T))


@pytest.mark.parametrize("method", ["fit", "partial_fit", "prequential", "score"])
@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([True], "have shape (1,)"),
        ([True, False, True], "have shape (3,)"),
        ([[True], [False]], "have shape (2, 1)"),
        (True, "have shape ()"),
        ([0, 2], "hold 2 (row 1)"),
        ([0, -1], "hold"),
        ([0.5, 1.0], "hold 0.5"),
        ([math.nan, 1.0], "hold nan"),
        (["yes", "no"], "are of type <U3"),
        ([None, True], "are of type object"),
    ],
)
def test_bad_answers_are_refused_and_leave_the_learner_as_it_was(y, words, method):
    learner = ERKLE(6, kernel=Dense()).fit(answers(6, 60))
    before = state(learner)
    with pytest.raises(ValueError, match=f"^Answers {re.escape(words)}"):
        getattr(learner, method)([(0, 1, 2), (3, 4, 5)], y)
    assert state(learner) == before


@pytest.mark.parametrize("triplet", [(0, 1), (0, 1, 2, 3), [(0, 1, 2)], 7])
def test_one_triplet_is_three_ids(triplet):
    learner = ERKLE(6, kernel=Dense())
    for act in (learner.learn_one, learner.predict_one):
        with pytest.raises(ValueError, match=re.escape(str(np.shape(triplet)))):
            act(triplet)
    with pytest.raises(ValueError, match="object 6"):
        learner.learn_one((0, 1, 6))


def test_scoring_no_triplets_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        ERKLE(6, kernel=Dense()).fit(answers(6, 9)).score(np.empty((0, 3), int))


# Bad parameters.


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_objects", [0, -1, 2, 2.5, 5.0, "5", None, True, math.nan]),
        ("passes", [0, -1, 1.0, "2", None, True]),
        ("kernel", [None, "dense", Dense, LowRank, ("auto", None, "auto")]),
        ("direction", ["up", "", 1, ["canonical"], "Canonical"]),
    ],
)
def test_an_error_names_the_bad_parameter(parameter, values):
    for value in values:
        learner = ERKLE(**{"n_objects": 5, "kernel": Dense(), parameter: value})  # __init__ checks nothing
        with pytest.raises(ValueError, match=rf"^{parameter} is .*; pass [^\n]*\.$"):
            learner.fit([(0, 1, 2)])
        assert not learner.__sklearn_is_fitted__()


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("tol", [0.0, -1e-3, 1e-13, 0.6, math.nan, math.inf, "1e-2", None, True, 1e-2j, [1e-2]]),
        ("projection", ["lapack", "", None, 1, ["eigh"]]),
    ],
)
def test_an_error_names_the_bad_field_of_dense(field, values):
    for value in values:
        learner = ERKLE(5, kernel=Dense(**{field: value}))
        with pytest.raises(ValueError, match=rf"^{field} is .*; pass [^\n]*\.$"):
            learner.fit([(0, 1, 2)])
        assert not learner.__sklearn_is_fitted__()


@pytest.mark.parametrize("step", [None, PassiveAggressive(), PassiveAggressiveI(), PassiveAggressiveII()])
@pytest.mark.parametrize("loss", [STE(), TSTE(1.0), GNMDS(2.0), SquaredHinge()])
@pytest.mark.parametrize("kernel", [Dense(), LowRank(2)])
def test_a_loss_that_the_step_ignores_is_refused(kernel, loss, step):
    learner = ERKLE(5, kernel=kernel, loss=loss, step=step)
    with pytest.raises(ValueError, match=f"^loss is {re.escape(repr(loss))}") as info:
        learner.fit([(0, 1, 2)])
    assert_is_a_sentence(info)


def test_a_tolerance_without_effect_is_refused():
    with pytest.raises(ValueError, match=r"tol is 1e-08.*eigh"):
        ERKLE(5, kernel=Dense(tol=1e-8, projection="eigh")).fit([(0, 1, 2)])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (np.eye(4), r"has shape \(4, 4\)"),
        (np.ones(5), r"has shape \(5,\)"),
        (1.0, r"has shape \(\)"),
        (np.diag([1, 1, 1, 1, math.nan]), "has entries that are not finite"),
        (np.diag([1, 1, 1, 1, math.inf]), "has entries that are not finite"),
        (1e-200 * np.eye(5), "has entries up to 1e-200"),
        (1e200 * np.eye(5), r"has entries up to 1e\+200"),
        (np.eye(5) + np.eye(5, k=1), "is not symmetric"),
        (np.diag([1, 1, 1, 1, -0.5]), "has the eigenvalue -0.5"),
        (np.ones((5, 5)) - 2 * np.eye(5), "has the eigenvalue -2"),
        (-np.eye(5), "has the eigenvalue -1"),
        ([["a"] * 5] * 5, "is not an array of numbers"),
        ([[1.0], [1.0, 2.0]], "is not an array of numbers"),
        (1j * np.eye(5), "is not an array of numbers"),
    ],
)
def test_a_bad_initial_kernel_is_refused(kernel, words):
    with pytest.raises(ValueError, match=f"^The initial kernel {words}"):
        ERKLE(5, kernel=Dense(initial=kernel)).fit([(0, 1, 2)])


@pytest.mark.parametrize(
    "kernel",
    [
        np.zeros((5, 5)),
        np.ones((5, 5)),
        np.eye(5, dtype=int),
        np.eye(5).tolist(),
        np.diag([1e-9, 1, 1, 1, -1e-10]),
        np.asfortranarray(np.diag([3.0, 2, 1, 0, 0])),
        np.eye(5, dtype=np.float32),
    ],
)
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_any_positive_semidefinite_initial_kernel_is_accepted(kernel, projection):
    given_out = np.array(kernel, dtype=float)
    learner = ERKLE(5, kernel=Dense(projection=projection, initial=kernel)).fit([])
    np.testing.assert_allclose(learner.kernel_matrix(), given_out, atol=1e-9)
    learner.partial_fit(answers(5, 50))
    np.testing.assert_array_equal(np.array(kernel, dtype=float), given_out)
    assert np.linalg.eigvalsh(learner.kernel_matrix())[0] >= -1e-12
    assert learner.score(answers(5, 50)) > 0.8


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("step", Constant(-1.0), ValueError), ("loss", STE, TypeError), ("direction", "up", ValueError)],
)
def test_a_bad_part_set_between_calls_is_refused_and_leaves_the_learner_as_it_was(name, value, error, passes):
    T = answers(6, 60)
    learner = ERKLE(6, kernel=Dense(), passes=passes, random_state=0).fit(T[:40])
    before, good = state(learner), learner.get_params()[name]
    learner.set_params(**{name: value})
    for act in (learner.partial_fit, learner.fit):
        with pytest.raises(error):
            act(T[40:])
        assert state(learner) == before
    learner.set_params(**{name: good}).partial_fit(T[40:])
    assert state(learner) == state(ERKLE(6, kernel=Dense(), passes=passes, random_state=0).fit(T))


# Overflow and interruption.


# One loss and one step with several faults, because each class of a loss and a step is compiled by itself.

FINE, NAN, STEEP, RAISING = 1.0, 2.0, 3.0, 4.0
CONSTANT, AGGRESSIVE, BACKWARDS = 1.0, 2.0, 3.0


class BadLoss(NamedTuple):
    """Slopes that are bad for some distances.

    If an answer holds by more than a hundred, they are NaN or raise an error. If it is very wrong, steep slopes
    overflow.
    """

    fault: float

    def value(self, d_near, d_far):
        return 0.0

    def slopes(self, d_near, d_far):
        if self.fault == STEEP:
            return math.exp(d_near - d_far), -math.exp(d_near - d_far)
        if d_far - d_near > 100.0:
            if self.fault == NAN:
                return math.inf - math.inf, -1.0
            if self.fault == RAISING:
                raise ArithmeticError("too far")
        return 1.0, -1.0


class BadStep(NamedTuple):
    """A constant step, a passive-aggressive step that ignores the slope, or one that turns negative at answer 30."""

    kind: float
    size: float = 1.0

    def magnitude(self, j, excess, slope, fall):
        if self.kind == CONSTANT:
            return self.size * slope
        if self.kind == AGGRESSIVE:
            return max(0.0, excess + self.size) / fall
        return 0.1 if j < 30 else -0.1


far_apart = np.diag([0.0, 1e4, 0.0, 1e4, 0.0, 1e4])


@pytest.mark.parametrize(
    ("parameters", "at_answer"),
    [
        ({"loss": STE(), "step": Constant(1e200)}, 1),
        ({"loss": GNMDS(), "step": PassiveAggressive(margin=1e200)}, 1),
        ({"loss": BadLoss(NAN), "step": BadStep(AGGRESSIVE, 2e4), "direction": "gradient"}, None),
        ({"loss": BadLoss(NAN), "step": BadStep(CONSTANT, 3.0)}, None),
        ({"loss": BadLoss(STEEP), "step": BadStep(AGGRESSIVE), "initial": far_apart, "direction": "gradient"}, None),
        ({"loss": BadLoss(FINE), "step": BadStep(BACKWARDS)}, 30),
    ],
    ids=["rate", "margin", "nan with PA", "nan", "infinite with PA", "negative"],
)
def test_a_move_that_is_not_finite_or_negative_is_refused_and_nothing_is_lost(parameters, at_answer):
    T = sample(6, 400, 0)
    parameters = dict(parameters)
    initial, name = parameters.pop("initial", None), type(parameters["loss"]).__name__
    for projection in PROJECTIONS:
        kernel = Dense(projection=projection, initial=initial)
        learner = ERKLE(6, kernel=kernel, **parameters)
        with pytest.raises(FloatingPointError, match=rf"{name}.* answer \d+") as info:
            learner.partial_fit(T)
        number = int(re.search(r"answer (\d+)", str(info.value))[1])
        assert at_answer in (None, number)
        assert learner.n_triplets_seen_ == number - 1
        assert np.isfinite(learner.kernel_matrix()).all()
        # It has learned exactly the answers before, and can learn others.
        prefix = ERKLE(6, kernel=kernel, **parameters).partial_fit(T[: number - 1])
        assert state(learner) == state(prefix)
        learner.set_params(loss=GNMDS(), step=PassiveAggressive()).partial_fit(T[number:])
        assert np.isfinite(learner.kernel_matrix()).all()


def test_an_error_that_a_users_loss_raises_reaches_the_caller_and_nothing_is_lost():
    T = sample(6, 400, 0)
    parameters = {"kernel": Dense(), "loss": BadLoss(RAISING), "step": BadStep(CONSTANT, 3.0)}
    learner = ERKLE(6, **parameters)
    with pytest.raises(ArithmeticError, match="too far"):
        learner.partial_fit(T)
    assert 0 < learner.n_triplets_seen_ < 400
    assert state(learner) == state(ERKLE(6, **parameters).fit(T[: learner.n_triplets_seen_]))


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_after_an_interruption_the_counters_match_what_was_learned(projection, passes, monkeypatch):
    T = answers(8, 700, flipped=0.3)
    settings = {"kernel": Dense(projection=projection), "passes": passes, "random_state": 0}
    learner = ERKLE(8, **settings).fit(T[:50])
    method = "_build_inverse" if projection == "inverse" else "_project"
    with monkeypatch.context() as patch:
        patch.setattr(upkeep, method, interrupt)
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(T[50:])
    seen = learner.n_triplets_seen_
    assert 50 < seen < 700
    follower = ERKLE(8, **settings)
    decisions = follower.prequential(T[:seen])
    assert learner._n_mistakes == np.count_nonzero(decisions <= 0)
    # The draws for answers that were not learned are undone, so both generators have the same state.
    assert learner._replay.rng.bit_generator.state == follower._replay.rng.bit_generator.state
    np.testing.assert_array_equal(learner._replay.history, follower._replay.history)
    if passes == 1:
        assert learner.counters_.n_active == follower.counters_.n_active
        learner.partial_fit(T[seen:])
        assert relative(learner.kernel_matrix(), ERKLE(8, **settings).fit(T).kernel_matrix()) < 1e-3
    else:
        learner.partial_fit(T[seen:])
        assert learner.n_triplets_seen_ == 700
        assert learner.score(T[:50]) > 0.5


def interrupt(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "out",
    [np.zeros(4), np.zeros(6), np.zeros((5, 1)), np.zeros(5, np.float32), np.zeros(5, bool), [0.0] * 5, None, 1.0],
    ids=["short", "long", "column", "float32", "bool", "list", "none", "number"],
)
def test_a_wrong_array_for_the_predictions_is_refused_before_anything_is_learned(out):
    T, learner = sample(6, 5, 0), ERKLE(6, kernel=Dense())
    if out is None:
        out = np.zeros(5)
        out.flags.writeable = False
    with pytest.raises(ValueError, match=r"\(5,\)"):
        learner.prequential(T, out=out)
    assert learner.partial_fit([]).n_triplets_seen_ == 0
    good = np.zeros(5)
    assert learner.prequential(T, out=good) is good


class Uncompilable(NamedTuple):
    def value(self, d_near, d_far):
        return 0.0

    def slopes(self, d_near, d_far):
        return eval("1.0"), -1.0


def test_an_error_names_the_loss_that_cannot_be_compiled():
    learner = ERKLE(5, kernel=Dense(), loss=Uncompilable(), step=Constant(0.1))
    with pytest.raises(TypeError, match=r"^Uncompilable\.slopes"):
        learner.fit([(0, 1, 2)])
    assert learner.n_triplets_seen_ == 0
    learner.set_params(loss=GNMDS()).partial_fit([(0, 1, 2)])
    assert learner.predict_one((0, 1, 2))


def test_one_answer_is_true_or_false_in_every_spelling_of_fit():
    for no in (False, np.False_, 0, -1):
        learner = ERKLE(5, kernel=Dense())
        learner.learn_one((0, 1, 2), no)
        assert learner.predict_one((0, 2, 1))
    for answer in ("no", math.nan, 2, None):
        with pytest.raises((ValueError, TypeError)):
            ERKLE(5, kernel=Dense()).learn_one((0, 1, 2), answer)

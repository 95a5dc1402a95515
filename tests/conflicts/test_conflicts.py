"""Laws of conflicts: what counting says, what must not matter, and who may be blamed."""

import re
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import triplets
from erkle.conflicts import agreement_with, contradicted, find, floor
from erkle.datasets import flip
from erkle.metrics import triplet_error

seeded = settings(deadline=None, derandomize=True)

answer = st.permutations(range(4)).map(lambda order: tuple(order[:3]))
rows = st.lists(st.tuples(answer, st.sampled_from(["ann", "bob", "cid", None])), max_size=40)


def apart(rows):
    """Answers and workers of rows."""
    return triplets.check([answer for answer, _ in rows]), [worker for _, worker in rows]


def naive_questions(T):
    """How many said (b, c) of each question (a, b, c), b < c."""
    counts = defaultdict(lambda: [0, 0])
    for a, b, c in T.tolist():
        counts[a, min(b, c), max(b, c)][b > c] += 1
    return dict(counts)


def naive_workers(rows):
    """Of each worker: answers, those the others have an opinion on, those that agree with it."""
    table = defaultdict(lambda: [0, 0, 0])
    for (a, b, c), worker in rows:
        others = Counter(said for said, who in rows if who != worker)
        balance = others[a, b, c] - others[a, c, b]
        table[worker or ""] = [x + y for x, y in zip(table[worker or ""], (1, balance != 0, balance > 0), strict=True)]
    return {name: table[name] for name in sorted(table)}


def panel(n_workers, n_questions, wrong, seed):
    """Everybody answers the same questions; wrong[i] is the share of wrong answers of worker i."""
    rng = np.random.default_rng(seed)
    T = triplets.sample(30, n_questions, random_state=seed)
    shares = np.full(n_workers, 0.15)
    shares[: len(wrong)] = wrong
    answers = np.concatenate([flip(T, share, random_state=rng) for share in shares])
    return answers, np.repeat([f"w{i}" for i in range(n_workers)], n_questions)


@seeded
@given(rows, st.integers(0, 5))
def test_questions_are_what_counting_says(rows, n_worst):
    T, _ = apart(rows)
    found, counts = find(T, n_worst=n_worst), naive_questions(T)
    minorities = [min(said) for said in counts.values()]
    assert found.n_answers == len(T)
    assert found.n_questions == len(counts)
    assert found.n_repeated == len(T) - len(counts)
    assert found.n_contradicted == np.count_nonzero(minorities)
    assert found.n_unsatisfiable == sum(minorities)
    disputed = sorted(
        (question for question in counts if min(counts[question])),
        key=lambda question: (-min(counts[question]), -sum(counts[question]), question),
    )[:n_worst]
    assert found.questions.tolist() == [list(question) for question in disputed]
    assert found.counts.tolist() == [counts[question] for question in disputed]


@seeded
@given(rows)
def test_workers_are_what_counting_says(rows):
    table, expected = find(*apart(rows)).workers, naive_workers(rows)
    assert table.names.tolist() == list(expected)
    n_answers, n_shared, n_agreeing = np.array(list(expected.values()), dtype=int).reshape(-1, 3).T
    assert table.n_answers.tolist() == n_answers.tolist()
    assert table.n_shared.tolist() == n_shared.tolist()
    for i, shared in enumerate(n_shared):
        others = n_shared.sum() - shared
        assert table.agreement[i] == (n_agreeing[i] / shared if shared else pytest.approx(np.nan, nan_ok=True))
        assert table.expected[i] == (
            (n_agreeing.sum() - n_agreeing[i]) / others if others else pytest.approx(np.nan, nan_ok=True)
        )


@seeded
@given(st.data(), rows)
def test_the_order_of_the_answers_does_not_matter(data, rows):
    shuffled = data.draw(st.permutations(rows))
    one, other = find(*apart(rows)), find(*apart(shuffled))
    np.testing.assert_equal(other._asdict() | {"workers": None}, one._asdict() | {"workers": None})
    np.testing.assert_equal(other.workers._asdict(), one.workers._asdict())


@seeded
@given(rows)
def test_turning_all_answers_round_changes_only_who_said_what(rows):
    T, workers = apart(rows)
    one, other = find(T, workers), find(T[:, [0, 2, 1]], workers)
    np.testing.assert_equal(other.counts, one.counts[:, ::-1])
    np.testing.assert_equal(other._replace(counts=None, workers=None), one._replace(counts=None, workers=None))
    np.testing.assert_equal(other.workers._asdict(), one.workers._asdict())


@seeded
@given(rows)
def test_the_floor_and_the_contradicted_answers_are_what_counting_says(rows):
    T, _ = apart(rows)
    answers = [tuple(row) for row in T.tolist()]
    counts = Counter(answers)
    minority = sum(min(k, counts.get((a, c, b), 0)) for (a, b, c), k in counts.items() if b < c)
    assert find(T).floor == floor(T) == minority / max(1, len(T))
    assert contradicted(T).tolist() == [(a, c, b) in counts for a, b, c in answers]


def test_without_answers_no_kernel_is_wrong():
    nothing = np.empty((0, 3), np.int64)
    assert find(nothing).floor == floor(nothing) == 0.0
    assert contradicted(nothing).tolist() == []


def test_no_kernel_is_below_the_floor_and_one_is_on_it():
    # On a line: 0 at 0, 1 at 1, 2 at 3. Two of six answers are in the minority of their question.
    T = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0], [2, 0, 1]]
    X = np.random.default_rng(0).normal(size=(500, 3, 2))
    floor = find(T).floor
    assert floor == pytest.approx(1 / 3)
    assert min(triplet_error(x @ x.T, T) for x in X) >= floor
    assert triplet_error(np.outer([0, 1, 3], [0, 1, 3]), T) == floor


def test_a_cycle_over_several_questions_is_not_counted():
    T = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    X = np.random.default_rng(0).normal(size=(200, 3, 2))
    assert find(T).floor == 0
    assert min(triplet_error(x @ x.T, T) for x in X) > 0


def test_ids_of_any_size_will_do():
    T = triplets.sample(9, 500, random_state=0)
    one, other = find(T), find(T + 2**40)
    np.testing.assert_equal(other.questions, one.questions + 2**40)
    np.testing.assert_equal(other._replace(questions=None), one._replace(questions=None))


@pytest.mark.parametrize("seed", range(10))
def test_who_guesses_is_flagged_and_nobody_else(seed):
    table = find(*panel(8, 150, [0.5], seed)).workers
    assert table.names[table.flagged].tolist() == ["w0"]


@pytest.mark.parametrize("seed", range(10))
def test_of_equally_good_workers_none_is_flagged(seed):
    assert not find(*panel(8, 150, [], seed)).workers.flagged.any()


def test_one_slip_beside_perfect_colleagues_is_no_reason_to_flag():
    T, workers = panel(3, 100, [0, 0, 0], seed=0)
    T[0] = T[0, [0, 2, 1]]
    table = find(T, workers).workers
    assert table.agreement.tolist() == [0.99, 1.0, 1.0]
    assert not table.flagged.any()


def test_fewer_than_ten_shared_answers_are_no_reason_to_flag():
    decisions = np.where(np.arange(1000) < 9, -1.0, 1.0)
    assert not agreement_with(decisions, np.where(np.arange(1000) < 9, "few", "rest")).flagged.any()
    decisions[9] = -1.0
    assert agreement_with(decisions, np.where(np.arange(1000) < 10, "few", "rest")).flagged.any()


def test_of_two_workers_who_disagree_none_is_flagged():
    table = find(*panel(2, 200, [0, 1], seed=0)).workers
    assert table.agreement.tolist() == [0, 0]
    assert not table.flagged.any()


def test_repeating_oneself_is_no_agreement():
    table = find([[0, 1, 2]] * 20 + [[0, 2, 1]] * 2, ["ann"] * 20 + ["bob", "cid"]).workers
    assert table.agreement.tolist() == [0, 0, 0]
    assert find([[0, 1, 2]] * 20, ["ann"] * 20).workers.n_shared.tolist() == [0]


def test_missing_workers_are_one_that_is_never_flagged():
    T, workers = panel(8, 150, [0.5], seed=0)
    for missing in (None, np.nan, "", "NA"):
        given = [missing if worker == "w0" else worker for worker in workers]
        table = find(T, given).workers
        assert table.names.tolist() == ["", *(f"w{i}" for i in range(1, 8))]
        assert table.agreement[0] < 0.6
        assert not table.flagged.any()
        assert "None of 7 workers" in str(table)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, np.float32, object])
def test_workers_may_be_numbers_and_have_their_order(kind):
    T, workers = panel(12, 20, [], seed=0)
    numbers = np.array([int(worker[1:]) for worker in workers], dtype=kind)
    table = find(T, numbers).workers
    assert sorted(table.names.tolist(), key=int) == [str(i) for i in range(12)]
    if kind is not object:
        assert table.names.tolist() == [str(i) for i in range(12)]
        numbers = numbers.astype(float)
        numbers[:20] = np.nan
        assert find(T, numbers).workers.names.tolist() == [*(str(i) for i in range(1, 12)), ""]


def test_a_learner_stands_in_for_the_others():
    rng = np.random.default_rng(0)
    workers = np.repeat(np.arange(20), 100)
    right = rng.random(2000) < np.where(workers == 7, 0.5, 0.8)
    table = agreement_with(np.where(right, 1.0, -1.0), workers)
    assert table.names[table.flagged].tolist() == ["7"]
    np.testing.assert_allclose(table.agreement, right.reshape(20, 100).mean(axis=1))
    np.testing.assert_allclose(table.expected[7], np.delete(right.reshape(20, 100), 7, axis=0).mean())
    assert re.fullmatch(r"1 of 20 workers agrees with the learner less than .*: 7 \(0\.\d\d of 100\)\.", str(table))


def test_a_learner_without_an_opinion_judges_nobody():
    table = agreement_with([0.0, np.nan, 0.0], ["ann", "ann", "bob"])
    assert table.n_answers.tolist() == [2, 1]
    assert table.n_shared.tolist() == [0, 0]
    assert np.isnan(table.agreement).all()
    assert str(table) == "No worker can be judged: of 2 none has 10 answers to compare."


@pytest.mark.parametrize("workers", [None, []])
def test_no_answers_have_no_conflicts_and_no_floor(workers):
    found = find([], workers)
    assert found[:5] == (0, 0, 0, 0, 0)
    assert found.floor == 0.0
    assert found.questions.shape == (0, 3)
    assert found.counts.shape == (0, 2)
    assert str(found).startswith("There are no answers.")


@pytest.mark.parametrize(
    ("T", "sentence"),
    [
        ([[0, 1, 2]], "Of 1 answer none asks a question asked before."),
        ([[0, 1, 2]] * 2, "Of 2 answers 1 asks a question asked before; no question was answered both ways."),
        (
            [[0, 1, 2], [0, 2, 1]] * 600 + [[1, 0, 2], [1, 2, 0]],
            "Of 1,202 answers 1,200 ask a question asked before; 2 questions were answered both ways,"
            " so at least 50 % of the answers are wrong under any kernel.",
        ),
    ],
)
def test_the_summary_is_a_sentence(T, sentence):
    assert str(find(T, n_worst=0)) == sentence


def test_the_summary_calls_objects_by_their_labels():
    T, names = [[0, 1, 2]] * 3 + [[0, 2, 1]] * 4, ["Apple", "Pear", "Fig"]
    for labels in (names, triplets.Labels(names)):
        assert find(T).summary(labels).endswith("\n  is Apple more like Pear (3) or Fig (4)?")
    assert str(find(T)).endswith("\n  is 0 more like 1 (3) or 2 (4)?")


def test_the_summary_lists_the_worst_workers_first_and_not_all_of_many():
    n_bad, n_good = 12, 100
    workers = np.repeat(np.arange(n_bad + n_good), 100)
    right = np.arange(100) < np.where(np.arange(n_bad + n_good) < n_bad, 40 - np.arange(n_bad + n_good), 90)[:, None]
    text = str(agreement_with(np.where(right.ravel(), 1.0, -1.0), workers))
    assert text.startswith("12 of 112 workers agree with the learner less than chance explains: 11 (0.29 of 100), 10 ")
    assert text.endswith(", 2 (0.38 of 100), and 2 more.")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find([[0, 1, 2]], ["ann", "bob"]), r"shape \(2,\), but there are 1 answers"),
        (lambda: find([[0, 1, 2]], "ann"), r"shape \(\), but there are 1 answers"),
        (lambda: find([[0, 1, 1]]), "object 1 twice"),
        (lambda: find([[0, 1, 2]], n_worst=-1), "n_worst is -1; pass"),
        (
            lambda: find([[0, 1, 2], [0, 2, 1]]).summary(["Apple", "Pear"]),
            "Got 2 labels, but a question names object 2",
        ),
        (lambda: agreement_with([1.0], []), r"shape \(0,\), but there are 1 answers"),
        (lambda: agreement_with([[1.0]], ["ann"]), r"shape \(1, 1\), wanted one number"),
    ],
)
def test_bad_input_is_told_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()

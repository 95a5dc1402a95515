"""Tests of conflicts: counts equal a naive count, order does not matter, and only guessing participants are flagged."""

import re
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle import triplets
from erkle.conflicts import agreement_with, contradicted, find, floor
from erkle.datasets import flip
from erkle.metrics import triplet_error

answer = st.permutations(range(4)).map(lambda order: tuple(order[:3]))
rows = st.lists(st.tuples(answer, st.sampled_from(["ann", "bob", "cid", None])), max_size=40)


def unzipped(rows):
    """The answers and the participants of the rows."""
    return triplets.check([answer for answer, _ in rows]), [participant for _, participant in rows]


def naive_questions(T):
    """The number of answers (b, c) and (c, b) to each question (a, b, c), with b < c."""
    counts = defaultdict(lambda: [0, 0])
    for a, b, c in T.tolist():
        counts[a, min(b, c), max(b, c)][b > c] += 1
    return dict(counts)


def naive_participants(rows):
    """For each participant: all answers, those that can be compared with the others, those that agree with them."""
    table = defaultdict(lambda: [0, 0, 0])
    for (a, b, c), participant in rows:
        others = Counter(said for said, who in rows if who != participant)
        balance = others[a, b, c] - others[a, c, b]
        table[participant or ""] = [
            x + y for x, y in zip(table[participant or ""], (1, balance != 0, balance > 0), strict=True)
        ]
    return {name: table[name] for name in sorted(table)}


def panel(n_participants, n_questions, wrong, seed):
    """Answers of participants to the same questions; wrong[i] is participant i's share of wrong answers."""
    rng = np.random.default_rng(seed)
    T = triplets.sample(30, n_questions, random_state=seed)
    shares = np.full(n_participants, 0.15)
    shares[: len(wrong)] = wrong
    answers = np.concatenate([flip(T, share, random_state=rng) for share in shares])
    return answers, np.repeat([f"w{i}" for i in range(n_participants)], n_questions)


@given(rows, st.integers(0, 5))
def test_counts_of_questions_equal_a_naive_count(rows, n_worst):
    T, _ = unzipped(rows)
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


@given(rows)
def test_counts_of_participants_equal_a_naive_count(rows):
    table, expected = find(*unzipped(rows)).participants, naive_participants(rows)
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


@given(st.data(), rows)
def test_the_order_of_the_answers_does_not_matter(data, rows):
    shuffled = data.draw(st.permutations(rows))
    one, other = find(*unzipped(rows)), find(*unzipped(shuffled))
    np.testing.assert_equal(other._asdict() | {"participants": None}, one._asdict() | {"participants": None})
    np.testing.assert_equal(other.participants._asdict(), one.participants._asdict())


@given(rows)
def test_reversing_all_answers_changes_only_the_counts(rows):
    T, participants = unzipped(rows)
    one, other = find(T, participants), find(T[:, [0, 2, 1]], participants)
    np.testing.assert_equal(other.counts, one.counts[:, ::-1])
    np.testing.assert_equal(
        other._replace(counts=None, participants=None), one._replace(counts=None, participants=None)
    )
    np.testing.assert_equal(other.participants._asdict(), one.participants._asdict())


@given(rows)
def test_the_floor_and_the_contradicted_answers_equal_a_naive_count(rows):
    T, _ = unzipped(rows)
    answers = [tuple(row) for row in T.tolist()]
    counts = Counter(answers)
    minority = sum(min(k, counts.get((a, c, b), 0)) for (a, b, c), k in counts.items() if b < c)
    assert find(T).floor == floor(T) == minority / max(1, len(T))
    assert contradicted(T).tolist() == [(a, c, b) in counts for a, b, c in answers]


def test_without_answers_the_floor_is_zero():
    nothing = np.empty((0, 3), np.int64)
    assert find(nothing).floor == floor(nothing) == 0.0
    assert contradicted(nothing).tolist() == []


def test_no_kernel_is_below_the_floor_and_some_kernel_reaches_it():
    # Objects 0, 1, 2 lie on a line at 0, 1, 3. Two of the six answers are in the minority of their question.
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


def test_ids_may_have_any_size():
    T = triplets.sample(9, 500, random_state=0)
    one, other = find(T), find(T + 2**40)
    np.testing.assert_equal(other.questions, one.questions + 2**40)
    np.testing.assert_equal(other._replace(questions=None), one._replace(questions=None))


@pytest.mark.parametrize("seed", range(10))
def test_only_a_participant_who_guesses_is_flagged(seed):
    table = find(*panel(8, 150, [0.5], seed)).participants
    assert table.names[table.flagged].tolist() == ["w0"]


@pytest.mark.parametrize("seed", range(10))
def test_equally_good_participants_are_not_flagged(seed):
    assert not find(*panel(8, 150, [], seed)).participants.flagged.any()


def test_one_slip_among_perfect_participants_is_not_flagged():
    T, participants = panel(3, 100, [0, 0, 0], seed=0)
    T[0] = T[0, [0, 2, 1]]
    table = find(T, participants).participants
    assert table.agreement.tolist() == [0.99, 1.0, 1.0]
    assert not table.flagged.any()


def test_participants_with_fewer_than_ten_shared_answers_are_not_flagged():
    decisions = np.where(np.arange(1000) < 9, -1.0, 1.0)
    assert not agreement_with(decisions, np.where(np.arange(1000) < 9, "few", "rest")).flagged.any()
    decisions[9] = -1.0
    assert agreement_with(decisions, np.where(np.arange(1000) < 10, "few", "rest")).flagged.any()


def test_two_participants_who_disagree_are_not_flagged():
    table = find(*panel(2, 200, [0, 1], seed=0)).participants
    assert table.agreement.tolist() == [0, 0]
    assert not table.flagged.any()


def test_repeating_an_answer_does_not_count_as_agreement():
    table = find([[0, 1, 2]] * 20 + [[0, 2, 1]] * 2, ["ann"] * 20 + ["bob", "cid"]).participants
    assert table.agreement.tolist() == [0, 0, 0]
    assert find([[0, 1, 2]] * 20, ["ann"] * 20).participants.n_shared.tolist() == [0]


def test_unknown_participants_count_as_one_who_is_never_flagged():
    T, participants = panel(8, 150, [0.5], seed=0)
    for missing in (None, np.nan, "", "NA"):
        given = [missing if participant == "w0" else participant for participant in participants]
        table = find(T, given).participants
        assert table.names.tolist() == ["", *(f"w{i}" for i in range(1, 8))]
        assert table.agreement[0] < 0.6
        assert not table.flagged.any()
        assert "7 participants" in str(table)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, np.float32, object])
def test_numbered_participants_are_sorted_by_number(kind):
    T, participants = panel(12, 20, [], seed=0)
    numbers = np.array([int(participant[1:]) for participant in participants], dtype=kind)
    table = find(T, numbers).participants
    assert sorted(table.names.tolist(), key=int) == [str(i) for i in range(12)]
    if kind is not object:
        assert table.names.tolist() == [str(i) for i in range(12)]
        numbers = numbers.astype(float)
        numbers[:20] = np.nan
        assert find(T, numbers).participants.names.tolist() == [*(str(i) for i in range(1, 12)), ""]


def test_participants_are_compared_with_a_learner():
    rng = np.random.default_rng(0)
    participants = np.repeat(np.arange(20), 100)
    right = rng.random(2000) < np.where(participants == 7, 0.5, 0.8)
    table = agreement_with(np.where(right, 1.0, -1.0), participants)
    assert table.names[table.flagged].tolist() == ["7"]
    np.testing.assert_allclose(table.agreement, right.reshape(20, 100).mean(axis=1))
    np.testing.assert_allclose(table.expected[7], np.delete(right.reshape(20, 100), 7, axis=0).mean())
    assert re.fullmatch(r"1 of 20 participants .*: 7 \(\d\d % of 100 answers\)\.", str(table))


def test_answers_without_a_prediction_are_not_compared():
    table = agreement_with([0.0, np.nan, 0.0], ["ann", "ann", "bob"])
    assert table.n_answers.tolist() == [2, 1]
    assert table.n_shared.tolist() == [0, 0]
    assert np.isnan(table.agreement).all()
    assert re.search(r"\b2\b.*\b10\b", str(table))


@pytest.mark.parametrize("participants", [None, []])
def test_without_answers_there_are_no_conflicts(participants):
    found = find([], participants)
    assert found[:5] == (0, 0, 0, 0, 0)
    assert found.floor == 0.0
    assert found.questions.shape == (0, 3)
    assert found.counts.shape == (0, 2)


@pytest.mark.parametrize(
    ("T", "values"),
    [
        ([], []),
        ([[0, 1, 2]], ["1"]),
        ([[0, 1, 2]] * 2, ["1", "2"]),
        ([[0, 1, 2], [0, 2, 1]] * 600 + [[1, 0, 2], [1, 2, 0]], ["1,200", "1,202", "2", "50"]),
    ],
)
def test_the_summary_states_the_counts_in_a_sentence(T, values):
    sentence = str(find(T, n_worst=0))
    assert re.findall(r"[\d,]*\d", sentence) == values
    assert sentence.endswith(".")


def test_the_summary_names_objects_by_their_labels():
    T, names = [[0, 1, 2]] * 3 + [[0, 2, 1]] * 4, ["Apple", "Pear", "Fig"]
    for labels in (names, triplets.Labels(names)):
        assert find(T).summary(labels).endswith("Apple more like Pear (3) or Fig (4)?")
    assert str(find(T)).endswith("0 more like 1 (3) or 2 (4)?")


def test_the_summary_lists_the_ten_worst_participants_worst_first():
    n_bad, n_good = 12, 100
    participants = np.repeat(np.arange(n_bad + n_good), 100)
    right = np.arange(100) < np.where(np.arange(n_bad + n_good) < n_bad, 40 - np.arange(n_bad + n_good), 90)[:, None]
    text = str(agreement_with(np.where(right.ravel(), 1.0, -1.0), participants))
    assert re.findall(r"(\d+) \((\d+) % of 100 answers\)", text) == [(str(i), str(40 - i)) for i in range(11, 1, -1)]
    assert re.findall(r"\d+", text.partition(":")[0]) == ["12", "112"]
    assert text.endswith("2 more.")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find([[0, 1, 2]], ["ann", "bob"]), r"shape \(2,\).* 1 answers"),
        (lambda: find([[0, 1, 2]], "ann"), r"shape \(\).* 1 answers"),
        (lambda: find([[0, 1, 1]]), "object 1 twice"),
        (lambda: find([[0, 1, 2]], n_worst=-1), "n_worst is -1"),
        (lambda: find([[0, 1, 2], [0, 2, 1]]).summary(["Apple", "Pear"]), "2 labels.*object 2"),
        (lambda: agreement_with([1.0], []), r"shape \(0,\).* 1 answers"),
        (lambda: agreement_with([[1.0]], ["ann"]), r"shape \(1, 1\)"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

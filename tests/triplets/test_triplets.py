"""Tests of arrays of answers: `check`, questions, splits and samples."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle.triplets import (
    check,
    duplicates,
    held_out,
    orient,
    question_keys,
    questions,
    sample,
    split,
)
from erkle.triplets.splitting import splitmix64
from parts import assert_is_a_sentence

rows = st.lists(st.permutations(range(6)).map(lambda order: order[:3]), max_size=40)
cuts = st.lists(st.integers(0, 40), max_size=4).map(sorted)


def pieces(T, cuts):
    return np.split(T, [min(cut, len(T)) for cut in cuts])


@pytest.mark.parametrize(
    "given",
    [
        [[0, 1, 2], [3, 1, 0]],
        [[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]],
        ((0, 1, 2), (3, 1, 0)),
        np.array([[0, 1, 2], [3, 1, 0]], dtype=np.uint8),
        np.array([[0, 1, 2], [3, 1, 0]], dtype=np.uint64),
        np.array([[0, 1, 2], [3, 1, 0]], dtype=np.float16),
        np.array([[0, 1, 2], [3, 1, 0]], dtype=">i4"),
        np.array([[0, 1, 2], [3, 1, 0]], order="F"),
        np.array([[0, 1, 2], [9, 9, 9], [3, 1, 0]])[::2],
    ],
)
def test_any_array_of_whole_numbers_becomes_contiguous_int64(given):
    T = check(given, n_objects=4)
    assert T.dtype == np.int64
    assert T.flags.c_contiguous
    assert T.tolist() == [[0, 1, 2], [3, 1, 0]]


def test_a_valid_array_is_not_copied():
    T = sample(5, 4, random_state=0)
    assert np.shares_memory(check(T, 5), T)


@pytest.mark.parametrize("given", [[], np.empty((0, 3)), np.empty((0, 3), dtype=np.int32), np.empty(0)])
def test_an_empty_array_is_valid(given):
    assert check(given, n_objects=3).shape == (0, 3)


SHAPES = [
    (5, r"shape \(\)"),
    ([0, 1, 2], r"shape \(3,\)"),
    ([[0, 1]], r"shape \(1, 2\)"),
    (np.empty((0, 2)), r"shape \(0, 2\)"),
    ([[[0, 1, 2]]], r"shape \(1, 1, 3\)"),
    ([[0, 1, 2], [0, 1]], "unequal lengths"),
    (np.ones((2, 3), dtype=bool), "type bool"),
    ([["a", "b", "c"]], "type <U1"),
    ([[0, 1, None]], "type object"),
    ([[0, 1, 2**70]], "type object"),
    (np.ones((1, 3), dtype=complex), "type complex128"),
]


@pytest.mark.parametrize(("given", "words"), SHAPES)
def test_other_shapes_and_types_are_refused(given, words):
    with pytest.raises(ValueError, match=words) as caught:
        check(given)
    assert_is_a_sentence(caught)


ROWS = [
    ([0, 1, np.nan], "object nan (row 7)"),
    ([0, np.inf, 1], "object inf (row 7)"),
    ([0, 1.5, 2], "object 1.5 (row 7)"),
    ([0, 1, 1e300], "object 1e+300 (row 7)"),
    ([0, -1, 2], "object -1 (row 7)"),
    ([29, 1, 2], "object 29 (row 7), but there are 29 objects; pass n_objects=30"),
    ([0, 31, 2], "object 31 (row 7), but there are 29 objects; pass n_objects=32"),
    ([4, 4, 2], "object 4 twice (row 7: 4, 4, 2)"),
    ([4, 2, 4], "object 4 twice (row 7: 4, 2, 4)"),
    ([2, 4, 4], "object 4 twice (row 7: 2, 4, 4)"),
]


@pytest.mark.parametrize(("row", "words"), ROWS)
def test_the_first_wrong_row_is_named(row, words):
    T = [[0, 1, 2]] * 7 + [row, row]
    with pytest.raises(ValueError, match=r".") as caught:
        check(T, n_objects=29)
    assert words in str(caught.value)
    assert_is_a_sentence(caught)


@pytest.mark.parametrize(("row", "words"), ROWS)
def test_a_single_row_is_refused_with_the_same_error(row, words):
    with pytest.raises(ValueError, match=r".") as caught:
        check([row], n_objects=29)
    assert words.replace("row 7", "row 0") in str(caught.value)


def test_ids_above_the_range_of_int64_are_refused():
    with pytest.raises(ValueError, match="object 18446744073709551615"):
        check(np.array([[0, 1, 2**64 - 1]], dtype=np.uint64))


@given(st.lists(st.tuples(*[st.integers(-2, 6)] * 3), min_size=1, max_size=6), st.none() | st.integers(0, 6))
def test_check_accepts_exactly_the_valid_rows(T, n_objects):
    limit = 100 if n_objects is None else n_objects
    if all(len(set(row)) == 3 and min(row) >= 0 and max(row) < limit for row in T):
        assert check(T, n_objects).tolist() == [list(row) for row in T]
    else:
        with pytest.raises(ValueError, match=r"object .*\(row"):
            check(T, n_objects)


@pytest.mark.parametrize("answer", [[True, False], [1, 0], [1, -1], [1.0, -1.0], np.array([1, 0], np.uint8)])
def test_orient_exchanges_the_candidates_if_the_answer_is_no(answer):
    T = [[0, 1, 2], [3, 4, 5]]
    assert orient(T, answer).tolist() == [[0, 1, 2], [3, 5, 4]]
    assert T == [[0, 1, 2], [3, 4, 5]]


@given(rows, st.data())
def test_orienting_twice_restores_the_questions(T, data):
    answer = data.draw(st.lists(st.booleans(), min_size=len(T), max_size=len(T)))
    assert orient(orient(T, answer), answer).tolist() == check(T).tolist()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([True], r"shape \(1,\), but there are 2"),
        ([0, -1], r"hold -1 \(row 1\)"),
        ([1, 2], r"hold 2 \(row 1\)"),
        ([np.nan, 1], r"hold nan \(row 0\)"),
        (["b", "c"], "type <U1"),
    ],
)
def test_answers_that_are_neither_yes_nor_no_are_refused(answer, words):
    with pytest.raises(ValueError, match=words) as caught:
        orient([[0, 1, 2], [3, 4, 5]], answer)
    assert_is_a_sentence(caught)


def question(row):
    return row[0], frozenset(row[1:])


@given(rows, st.sampled_from([0, 2**21, 2**40]))
def test_keys_and_groups_are_equal_if_and_only_if_the_questions_are(T, shift):
    keys, groups = question_keys(check(T) + shift), questions(check(T) + shift)
    for i, one in enumerate(T):
        for j, other in enumerate(T):
            assert (keys[i] == keys[j]) == (groups[i] == groups[j]) == (question(one) == question(other))


def test_the_number_of_objects_determines_the_type_of_keys():
    few, many = question_keys([[0, 1, 2]], 2**21), question_keys([[0, 1, 2]], 2**21 + 1)
    assert few.dtype == np.uint64
    assert many.dtype == question_keys([[0, 1, 2**21]]).dtype


@given(rows)
def test_duplicates_repeat_an_earlier_row(T):
    answers = [tuple(row) for row in T]
    assert duplicates(T).tolist() == [row in answers[:i] for i, row in enumerate(answers)]


@given(rows, cuts, st.floats(0, 1), st.integers(-5, 2**70))
def test_any_split_of_a_stream_holds_out_the_same_rows(T, cuts, share, seed):
    T = check(T)
    chunked = [held_out(piece, share, seed) for piece in pieces(T, cuts)]
    assert np.concatenate(chunked).tolist() == held_out(T, share, seed).tolist()


@given(rows, st.floats(0, 1), st.integers(0, 9))
def test_no_question_is_on_both_sides_of_a_split(T, share, seed):
    train, test = split(T, share, seed)
    assert len(train) + len(test) == len(T)
    assert not {question(row) for row in train.tolist()} & {question(row) for row in test.tolist()}


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_the_share_of_held_out_rows_is_as_expected(share, seed):
    mask = held_out(sample(1000, 20_000, random_state=seed), share, seed)
    assert abs(mask.mean() - share) < 4 * np.sqrt(share * (1 - share) / len(mask))


def test_the_share_holds_for_every_anchor_and_seeds_are_independent():
    T = sample(30, 60_000, random_state=0)
    first, second = held_out(T, 0.5, random_state=0), held_out(T, 0.5, random_state=1)
    shares = np.bincount(T[:, 0], weights=first) / np.bincount(T[:, 0])
    assert np.abs(shares - 0.5).max() < 0.12
    assert abs((first & second).mean() - 0.25) < 0.02


def test_larger_shares_contain_smaller_ones_and_0_and_1_are_exact():
    T = sample(50, 1000, random_state=0)
    assert not held_out(T, 0).any()
    assert held_out(T, 1).all()
    assert not (held_out(T, 0.2) & ~held_out(T, 0.3)).any()


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(ValueError, match=r"share is .* 0 to 1") as caught:
        split([[0, 1, 2]], share)
    assert_is_a_sentence(caught)


def test_the_hash_is_splitmix64():
    # The first output of the reference implementation (Vigna, splitmix64.c) from state 1234567.
    assert splitmix64(np.array([1234567], dtype=np.uint64)).tolist() == [6457827717110365317]


def test_the_split_of_a_seed_never_changes():
    T = [(a, b, c) for a, b, c in permutations(range(6), 3) if b < c]
    assert np.packbits(held_out(T, 0.3, random_state=7)).tolist() == [70, 86, 16, 44, 170, 161, 56, 208]


@pytest.mark.parametrize("n_objects", [3, 4, 5])
def test_samples_are_uniform_over_all_ordered_triples(n_objects):
    size = 24_000
    counts = Counter(map(tuple, sample(n_objects, size, random_state=0).tolist()))
    triples = list(permutations(range(n_objects), 3))
    assert set(counts) == set(triples)
    expected = size / len(triples)
    chi2 = sum((counts[t] - expected) ** 2 / expected for t in triples)
    assert chi2 < len(triples) + 5 * np.sqrt(2 * len(triples))


def test_a_seed_or_a_generator_determines_the_sample():
    rng = np.random.default_rng(3)
    assert sample(9, 5, 3).tolist() == sample(9, 5, rng).tolist() != sample(9, 5, rng).tolist()
    assert check(sample(10**6, 0), 10**6).shape == (0, 3)


@pytest.mark.parametrize(("n_objects", "size"), [(2, 1), (0, 0), (3, -1)])
def test_impossible_samples_are_refused(n_objects, size):
    with pytest.raises(ValueError, match=r"(n_objects|size) is") as caught:
        sample(n_objects, size)
    assert_is_a_sentence(caught)

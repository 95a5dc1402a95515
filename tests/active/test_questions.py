"""The questions that may be asked are those of a plain dict of counts, and all have the same probability."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle.active import Questions
from parts import assert_is_a_sentence

RNG = np.random.default_rng(0)


def every(n):
    """All questions (anchor, first, second) with first < second."""
    return [(a, b, c) for a in range(n) for b, c in combinations(range(n), 2) if a not in (b, c)]


def same(query):
    anchor, *pair = query
    return (anchor, *sorted(pair))


class Naive:
    """A dict with how often each question may still be asked."""

    def __init__(self, n, times=1, listed=None, excluded=(), left_out=None):
        often = Counter(every(n) if listed is None else map(same, listed))
        forbidden = set(map(same, left_out or []))
        self.left = {
            query: (times or math.inf) * count
            for query, count in often.items()
            if query not in forbidden and not set(query) & set(excluded)
        }
        self.taken = Counter()

    def count(self, query, by):
        self.taken[same(query)] += by
        if same(query) in self.left:
            self.left[same(query)] -= by

    def open(self, without=()):
        return {query for query, left in self.left.items() if left > 0} - set(without)


@st.composite
def arguments_of_questions(draw):
    n = draw(st.sampled_from([3, 4, 5, 5, 12]))
    some = st.lists(st.permutations(range(n)).map(lambda order: tuple(order[:3])), max_size=12)
    return {
        "n_objects": n,
        "times": draw(st.sampled_from([1, 2, None])),
        "listed": draw(st.none() | some),
        "excluded": draw(st.sets(st.integers(0, n - 1), max_size=n - 3)),
        "left_out": draw(st.none() | some),
    }


def assert_same(questions, open_queries, but=()):
    n = questions.n_objects
    anchors = Counter(anchor for anchor, *_ in open_queries)
    assert questions.remaining([questions.key(query) for query in but]).tolist() == [
        anchors[anchor] for anchor in range(n)
    ]
    for anchor in range(n):
        pairs = questions.propose(anchor, n * n, RNG, [questions.key(query) for query in but])
        proposed = [same((anchor, *pair)) for pair in pairs.tolist()]
        assert len(set(proposed)) == len(proposed) == anchors[anchor]
        assert set(proposed) <= open_queries
        few = questions.propose(anchor, 2, RNG, [questions.key(query) for query in but]).tolist()
        assert min(1, anchors[anchor]) <= len(few) <= min(2, anchors[anchor])
        assert {same((anchor, *pair)) for pair in few} <= open_queries


@settings(max_examples=60)
@given(arguments_of_questions(), st.data())
def test_the_questions_that_may_be_asked_are_those_of_plain_counts(given, data):
    n = given.pop("n_objects")
    questions, naive, without = Questions(n, **given), Naive(n, **given), set()
    view = questions
    query = st.sampled_from(sorted(naive.left) or every(n)) | st.sampled_from(every(n))
    for _ in range(data.draw(st.integers(0, 8))):
        action, (anchor, *pair) = data.draw(st.sampled_from(["take", "take", "give back", "without"])), data.draw(query)
        asked = (anchor, *data.draw(st.permutations(pair)))
        if action == "take":
            data.draw(st.sampled_from([questions, view])).take(asked)
            naive.count(asked, 1)
        elif action == "without":
            without.add(same(asked))
            view = view.without([questions.key(asked)])
        elif naive.taken[same(asked)]:
            data.draw(st.sampled_from([questions, view])).give_back(asked)
            naive.count(asked, -1)
        else:
            with pytest.raises(ValueError, match="has not been asked"):
                questions.give_back(asked)
    but = data.draw(st.sets(query, max_size=4))
    assert_same(questions, naive.open())
    assert_same(view, naive.open(without))
    assert_same(view, naive.open(without | but), but)
    assert {query for query in every(n) if view.may_ask(view.key(query))} == naive.open(without)


@pytest.mark.parametrize("listed", [None, every(12)], ids=["all", "listed"])
def test_the_last_remaining_question_is_found(listed):
    questions = Questions(12, listed=listed)
    *others, last = (query for query in every(12) if query[0] == 4)
    for query in others:
        questions.take(query)
    for _ in range(20):
        assert questions.propose(4, 1, RNG).tolist() == [list(last[1:])]
    questions.take(last)
    assert questions.propose(4, 1, RNG).shape == (0, 2)
    assert questions.propose(5, 1, RNG).shape == (1, 2)


KINDS = {
    "few": Questions(5),
    "many": Questions(13),
    "some excluded": Questions(20, excluded=range(7)),
    "listed": Questions(5, listed=every(5)),
    "some left out": Questions(13, left_out=[(12, 11, b) for b in range(10)]),
}


@pytest.mark.parametrize("n_pairs", [1, 3])
@pytest.mark.parametrize("questions", KINDS.values(), ids=KINDS)
def test_all_pairs_are_proposed_with_equal_probability(questions, n_pairs):
    anchor, rng = questions.n_objects - 1, np.random.default_rng(1)
    wanted = {tuple(sorted(pair)) for pair in questions.propose(anchor, 1000, rng).tolist()}
    drawn = [questions.propose(anchor, n_pairs, rng).tolist() for _ in range(10 * len(wanted))]
    assert all(len(set(map(tuple, pairs))) == n_pairs for pairs in drawn)
    counts = Counter(tuple(sorted(pair)) for pairs in drawn for pair in pairs)
    assert counts.keys() == wanted
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 0.01


def test_a_key_depends_on_the_question_but_not_on_the_order_of_the_candidates():
    questions = Questions(5)
    keys = [questions.key(query) for query in every(5)]
    assert keys == questions.keys([(a, c, b) for a, b, c in every(5)]).tolist()
    assert len(set(keys)) == len(keys)


def test_counts_of_questions_that_were_given_back_are_deleted():
    questions = Questions(5, times=None)
    for query in every(5):
        questions.take(query)
        questions.take(query)
        questions.give_back(query)
    assert len(questions._taken) == len(every(5))
    for query in every(5):
        questions.give_back(query)
        with pytest.raises(ValueError, match="has not been asked"):
            questions.give_back(query)
        assert questions.may_ask(questions.key(query))
    assert not questions._taken


def test_taking_a_question_that_is_not_listed_changes_nothing():
    questions = Questions(5, listed=[(0, 1, 2)])
    questions.take((3, 1, 2))
    assert questions.remaining().tolist() == [1, 0, 0, 0, 0]


REFUSED = [
    (lambda: Questions(2), "n_objects is 2.* 3"),
    (lambda: Questions(2_000_001), "n_objects is 2000001.* 2,000,000"),
    (lambda: Questions(5.0), "n_objects is 5.0"),
    (lambda: Questions(5, times=0), "times is 0.* 1"),
    (lambda: Questions(5, times=math.nan), "times is nan.* 1"),
    (lambda: Questions(5, excluded=[0, 5]), r"excluded is \[0, 5\].* 0 to 4"),
    (lambda: Questions(5, excluded=[-1]), r"excluded is \[-1\].* 0 to 4"),
    (lambda: Questions(5, excluded=[[1, 2], [3]]), r"excluded is \[\[1, 2\], \[3\]\]"),
    (lambda: Questions(5, excluded=[1.5]), r"excluded is \[1.5\]"),
    (lambda: Questions(5, excluded=[math.nan]), r"excluded is \[nan\]"),
    (lambda: Questions(5, excluded=[True, False]), r"excluded is \[True, False\]"),
    (lambda: Questions(5, excluded=3), "excluded is 3"),
    (lambda: Questions(5, excluded=range(5)), "5 of 5 objects"),
    (lambda: Questions(5, excluded=[0, 1, 1, 2]), "3 of 5 objects"),
    (lambda: Questions(5, listed=[(0, 1)]), r"shape \(1, 2\)"),
    (lambda: Questions(5, listed=[(0, 1, 5)]), "object 5 .row 0..* 5 objects"),
    (lambda: Questions(5, left_out=[(0, 1, 1)]), "object 1 twice"),
    (lambda: Questions(5, left_out=[(0, 1, math.nan)]), "object nan"),
    (lambda: Questions(5).take((0, 1, 5)), "object 5 .row 0..* 5 objects"),
    (lambda: Questions(5).take((0, -1, 2)), "object -1"),
    (lambda: Questions(5).take((0, 1)), r"shape \(1, 2\)"),
    (lambda: Questions(5).give_back((0, 1, 1)), "object 1 twice"),
    (lambda: Questions(5).propose(5, 1, RNG), "anchor is 5.* 0 to 4"),
    (lambda: Questions(5).propose(-1, 1, RNG), "anchor is -1.* 0 to 4"),
    (lambda: Questions(5).propose(0, 0, RNG), "n_pairs is 0.* 1"),
]


def test_bad_arguments_are_refused_in_a_sentence_that_names_them():
    for call, values in REFUSED:
        with pytest.raises(ValueError, match=values) as caught:
            call()
        assert_is_a_sentence(caught)

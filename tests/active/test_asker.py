"""Laws of an asker: who is asked what, what is out, and what is drawn at random."""

import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import ERKLE, Dense, LowRank
from erkle.active import STRATEGIES, Adaptive, Asker, Balanced, Questions, Random, Uncertainty
from parts import answers, assert_is_a_sentence, named

KERNEL = LowRank(3, 1e-3)
CHOOSY = named([Adaptive(), Balanced(), Uncertainty()])


def on_a_line(asked):
    """The answer of somebody who sees the objects on a line."""
    head, o1, o2 = asked.query
    return abs(head - o1) < abs(head - o2)


def keys(asker, several):
    return [asker.questions.key(asked.query) for asked in several]


@pytest.mark.parametrize("strategy", CHOOSY)
def test_a_share_of_questions_is_drawn_at_random_from_all_of_them(strategy):
    learner = ERKLE(5, kernel=KERNEL).fit(answers(5, 60))
    asker = Asker(Questions(5, times=None), strategy, holdout=0.6, random_state=0)
    drawn, n_asked = Counter(), 1500
    for _ in range(n_asked):
        [asked] = asker.ask(learner)
        drawn.update(keys(asker, [asked]) * asked.held_out)
        asker.give_back(asked)
    assert scipy.stats.binomtest(drawn.total(), n_asked, 0.6).pvalue > 0.01
    assert len(drawn) == 30
    assert scipy.stats.chisquare(list(drawn.values())).pvalue > 0.01


@pytest.mark.parametrize(("holdout", "expected"), [(0.0, 0), (1.0, 60)])
def test_no_or_every_question_can_be_drawn_at_random(holdout, expected):
    asker = Asker(Questions(6), holdout=holdout, random_state=0)
    assert sum(asked.held_out for asked in asker.ask(ERKLE(6, kernel=KERNEL), 60)) == expected


def test_what_a_random_strategy_asks_is_all_drawn_at_random():
    asked = Asker(Questions(6), Random(), holdout=0.0, random_state=0).ask(ERKLE(6, kernel=Dense()), 9)
    assert all(one.held_out for one in asked)


def test_neither_order_nor_numbers_tell_what_was_drawn_at_random():
    learner, places = ERKLE(6, kernel=KERNEL), Counter()
    asker = Asker(Questions(6, times=None), Balanced(), holdout=0.5, random_state=0)
    for _ in range(300):
        several = asker.ask(learner, 4)
        assert [asked.number for asked in several] == sorted(asked.number for asked in several)
        places.update(place for place, asked in enumerate(several) if asked.held_out)
        for asked in several:
            asker.give_back(asked)
    assert scipy.stats.binomtest(places.total(), 1200, 0.5).pvalue > 0.01
    assert scipy.stats.chisquare([places[place] for place in range(4)]).pvalue > 0.01


def test_who_is_asked_nothing_is_not_remembered():
    learner, asker = ERKLE(3, kernel=Dense()), Asker(Questions(3), Balanced(), random_state=0)
    assert len(asker.ask(learner, 3, "Ann")) == 3
    assert all(asker.ask(learner, 1, person) == [] for person in range(100))
    assert list(asker._asked) == ["Ann"]


@pytest.mark.parametrize("strategy", CHOOSY)
def test_a_hundred_people_at_once_get_a_hundred_questions_about_all_heads(strategy):
    learner = ERKLE(12, kernel=KERNEL)
    asker = Asker(Questions(12, times=None), strategy, holdout=0.0, random_state=0)
    several = [asked for person in range(100) for asked in asker.ask(learner, participant=person)]
    assert len(set(keys(asker, several))) == len(asker.out) == 100
    assert set(Counter(asked.query[0] for asked in several).values()) == {8, 9}
    assert [asked.participant for asked in several] == list(range(100))
    assert len({asked.number for asked in several}) == 100


def test_either_candidate_may_stand_first():
    asker = Asker(Questions(12), random_state=0)
    several = asker.ask(ERKLE(12, kernel=KERNEL), 200)
    assert scipy.stats.binomtest(sum(o1 < o2 for _, o1, o2 in (asked.query for asked in several)), 200).pvalue > 0.01


@pytest.mark.parametrize("strategy", CHOOSY)
@pytest.mark.parametrize("times", [1, 3, None])
def test_a_whole_study_asks_everything_as_often_as_it_may_and_nobody_twice(strategy, times):
    people = ["Ann", "Bob", "Cid", "Dee"]
    learner, asker = ERKLE(5, kernel=KERNEL), Asker(Questions(5, times), strategy, random_state=0)
    asked_of = {person: [] for person in people}
    several = True
    while several:
        several = [asked for person in people for asked in asker.ask(learner, 2, person)]
        for asked in several:
            asker.answer(learner, asked, on_a_line(asked))
            asked_of[asked.participant].append(asker.questions.key(asked.query))
    assert all(len(set(asked)) == len(asked) for asked in asked_of.values())
    counts = Counter(key for asked in asked_of.values() for key in asked)
    assert len(counts) == 30
    assert set(counts.values()) == {times or len(people)}
    assert learner.n_triplets_seen_ == counts.total() == learner.n_anchored_.sum()
    assert learner.n_appearances_.sum() == 3 * counts.total()
    assert not asker.out


EVERY = Questions(4).keys([(a, b, c) for a in range(4) for b in range(4) for c in range(b) if a not in (b, c)]).tolist()
event = st.tuples(st.sampled_from(["ask", "ask", "answer", "give back"]), st.integers(0, 2), st.integers(1, 3))


@settings(max_examples=50)
@given(st.lists(event, max_size=30), st.sampled_from([1, 2, None]), st.integers(0, 99))
def test_whatever_people_do_nothing_is_asked_too_often_or_lost(events, times, seed):
    learner, asker = ERKLE(4, kernel=KERNEL), Asker(Questions(4, times), Balanced(), 0.3, seed)
    heard, counted, answered = {person: set() for person in range(3)}, Counter(), []
    for action, person, number in events:
        if action == "ask":
            before = set(keys(asker, asker.out.values()))
            free = [key for key in EVERY if key not in heard[person] and counted[key] < (times or math.inf)]
            several = asker.ask(learner, number, person)
            assert len(several) == min(number, len(free))
            # What is out is asked of somebody else only where nothing else is left.
            again = before.intersection(keys(asker, several))
            assert not again or len(several) > len(set(free) - before)
            assert heard[person].isdisjoint(keys(asker, several))
            heard[person].update(keys(asker, several))
            counted.update(keys(asker, several))
        elif asker.out:
            asked = list(asker.out.values())[number % len(asker.out)]
            if action == "answer":
                asker.answer(learner, asked, on_a_line(asked))
                answered.append(asked)
            else:
                asker.give_back(asked)
                counted.subtract(keys(asker, [asked]))
    assert max(counted.values(), default=0) <= (times or math.inf)
    assert counted.total() == len(asker.out) + len(answered)
    learner.partial_fit([])
    heads = Counter(asked.query[0] for asked in answered)
    assert learner.n_anchored_.tolist() == [heads[head] for head in range(4)]
    held_out = [asked for asked in answered if asked.held_out]
    assert len(asker.wrong) == len(held_out) == asker.curve.n_answers.sum()
    assert sum(asker.wrong) == asker.curve.n_wrong.sum()


def test_what_is_given_back_is_asked_again_but_of_somebody_else():
    learner, asker = ERKLE(3, kernel=Dense()), Asker(Questions(3), Balanced(), random_state=0)
    several = asker.ask(learner, 9, "Ann")
    assert len(several) == 3
    assert asker.ask(learner, 1, "Bob") == asker.ask(learner) == []
    asker.give_back(several[1])
    assert asker.ask(learner, 9, "Ann") == []
    [again] = asker.ask(learner, 9, "Bob")
    assert keys(asker, [again]) == keys(asker, several[1:2])
    assert again.number not in {asked.number for asked in several}


def test_where_nothing_else_is_left_a_question_that_is_out_is_asked_of_somebody_else():
    learner, asker = ERKLE(3, kernel=Dense()), Asker(Questions(3, times=None), Balanced(), random_state=0)
    ann, bob = (asker.ask(learner, 9, person) for person in ("Ann", "Bob"))
    assert sorted(keys(asker, ann)) == sorted(keys(asker, bob)) == sorted(set(keys(asker, ann)))
    assert asker.ask(learner, 1, "Ann") == []


def test_nobody_in_particular_is_never_asked_what_is_out():
    asker = Asker(Questions(3, times=None), random_state=0)
    learner = ERKLE(3, random_state=0)
    assert len(asker.ask(learner, 5)) == 3
    assert asker.ask(learner, 5) == []


def test_errors_are_those_before_learning_of_what_was_drawn_at_random():
    learner, asker = ERKLE(6, kernel=KERNEL), Asker(Questions(6), holdout=0.5, random_state=1)
    wrong = []
    for _ in range(40):
        [asked] = asker.ask(learner)
        right = learner.predict_one(asked.query) == on_a_line(asked)
        # Equal distances are no answer of hers: before the first one everything is wrong.
        tie = learner.knowledge().decision_function([asked.query])[0] == 0
        wrong += [bool(tie or not right)] * asked.held_out
        asker.answer(learner, asked, on_a_line(asked))
    assert asker.wrong == wrong
    assert 0 < sum(wrong) < len(wrong)


def test_a_question_is_settled_once_and_only_where_it_was_asked():
    learner, asker, other = (
        ERKLE(5, kernel=Dense()),
        Asker(Questions(5), Balanced(), random_state=0),
        Asker(Questions(5), Balanced()),
    )
    answered, given_back = asker.ask(learner, 2)
    asker.answer(learner, answered, True)
    asker.give_back(given_back)
    [foreign] = other.ask(learner)
    [own] = asker.ask(learner)
    for settle in (asker.give_back, lambda asked: asker.answer(learner, asked, True)):
        for asked in (answered, given_back, foreign, own._replace(query=(4, 3, 2), held_out=not own.held_out)):
            with pytest.raises(
                ValueError, match=f"^Question {asked.number} is not out: it has been answered"
            ) as caught:
                settle(asked)
            assert_is_a_sentence(caught)
    assert learner.n_triplets_seen_ == 1


def test_an_answer_that_is_none_leaves_the_question_out():
    learner, asker = ERKLE(5, kernel=Dense()), Asker(Questions(5), Balanced(), random_state=0)
    [asked] = asker.ask(learner)
    for nothing in (math.nan, 2, "no", None):
        with pytest.raises(ValueError, match="pass True or False") as caught:
            asker.answer(learner, asked, nothing)
        assert_is_a_sentence(caught)
    assert list(asker.out.values()) == [asked]
    asker.answer(learner, asked, np.bool_(True))
    assert learner.n_triplets_seen_ == 1


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_can_be_given_by_its_name(name):
    by_name, by_value = (Asker(Questions(6), given, random_state=0) for given in (name, STRATEGIES[name]))
    assert by_name.strategy is by_value.strategy
    learner = ERKLE(6, kernel=KERNEL)
    assert by_name.ask(learner) == by_value.ask(learner)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Adaptive, r"^The strategy is the class Adaptive; pass a value, Adaptive\(\)\.$"),
        (None, r"^The strategy is None; pass a value such as Adaptive\(\), or a name"),
        (0.1, r"^The strategy is 0\.1; pass a value"),
    ],
)
def test_what_is_no_strategy_is_refused_before_anything_is_asked(given, words):
    with pytest.raises(TypeError, match=words) as caught:
        Asker(Questions(5), given)
    assert_is_a_sentence(caught)


WRONG = [
    (lambda: Asker(Questions(5), "best"), "strategy is 'best'; pass 'adaptive' or 'random' or 'balanced'"),
    (lambda: Asker(Questions(5), random_state="x"), "random_state is 'x'; pass None, an integer of at least 0"),
    (lambda: Asker(Questions(5), random_state=-1), "random_state is -1; pass None, an integer of at least 0"),
    (lambda: Asker(Questions(5), holdout=1.5), "holdout is 1.5; pass a share from 0 to 1"),
    (lambda: Asker(Questions(5), holdout=math.nan), "holdout is nan; pass a share from 0 to 1"),
    (lambda: Asker(Questions(5)).ask(ERKLE(5, kernel=Dense()), -1), "n_queries is -1; pass an integer of at least 0"),
    (lambda: Asker(Questions(5)).ask(ERKLE(5, kernel=Dense()), 0.5), "n_queries is 0.5; pass an integer of at least 0"),
    (lambda: Asker(Questions(5)).ask(ERKLE(5, kernel=Dense()), 10**30), "ask at most 1,000,000 questions at once"),
    (lambda: Asker(5), r"questions is 5; pass Questions\(n_objects\)"),
    (lambda: Adaptive().choose(ERKLE(5, kernel=Dense()), 1, questions=[(0, 1, 2)]), r"pass Questions\(n_objects\)"),
    (
        lambda: Asker(Questions(5)).ask(ERKLE(5, kernel=Dense()), 1, ["Ann"]),
        r"participant is \['Ann'\]; pass a name or a number",
    ),
    (
        lambda: Asker(Questions(5)).answer(ERKLE(5, kernel=Dense()), 3, True),
        "Got 3; pass one of the questions that ask has returned",
    ),
    (
        lambda: Asker(Questions(5)).ask(ERKLE(6, kernel=Dense())),
        "about 5 objects, the learner about 6; pass Questions.6.",
    ),
]


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_bad_input_is_told_in_a_sentence(call, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    assert_is_a_sentence(caught)

"""An asker remembers who was asked what and what is pending, and draws a share of questions at random."""

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
CHOOSING = named([Adaptive(), Balanced(), Uncertainty()])


def on_a_line(asked):
    """The answer of a participant who sees the objects on a line."""
    anchor, first, second = asked.query
    return abs(anchor - first) < abs(anchor - second)


def keys(asker, several):
    return [asker.questions.key(asked.query) for asked in several]


@pytest.mark.parametrize("strategy", CHOOSING)
def test_a_share_of_questions_is_drawn_at_random_from_all_questions(strategy):
    learner = ERKLE(5, kernel=KERNEL).fit(answers(5, 60))
    asker = Asker(Questions(5, times=None), strategy, holdout=0.6, random_state=0)
    drawn, n_asked = Counter(), 400
    for _ in range(n_asked):
        [asked] = asker.ask(learner)
        drawn.update(keys(asker, [asked]) * asked.held_out)
        asker.give_back(asked)
    assert scipy.stats.binomtest(drawn.total(), n_asked, 0.6).pvalue > 0.01
    assert len(drawn) == 30
    assert scipy.stats.chisquare(list(drawn.values())).pvalue > 0.01


@pytest.mark.parametrize(("holdout", "expected"), [(0.0, 0), (1.0, 60)])
def test_the_share_can_be_0_or_1(holdout, expected):
    asker = Asker(Questions(6), holdout=holdout, random_state=0)
    assert sum(asked.held_out for asked in asker.ask(ERKLE(6, kernel=KERNEL), 60)) == expected


def test_all_questions_of_the_random_strategy_are_held_out():
    asked = Asker(Questions(6), Random(), holdout=0.0, random_state=0).ask(ERKLE(6, kernel=Dense()), 9)
    assert all(one.held_out for one in asked)


def test_neither_order_nor_numbers_show_which_questions_are_held_out():
    learner, places = ERKLE(6, kernel=KERNEL), Counter()
    asker = Asker(Questions(6, times=None), Balanced(), holdout=0.5, random_state=0)
    for _ in range(100):
        several = asker.ask(learner, 4)
        assert [asked.number for asked in several] == sorted(asked.number for asked in several)
        places.update(place for place, asked in enumerate(several) if asked.held_out)
        for asked in several:
            asker.give_back(asked)
    assert scipy.stats.binomtest(places.total(), 400, 0.5).pvalue > 0.01
    assert scipy.stats.chisquare([places[place] for place in range(4)]).pvalue > 0.01


def test_participants_who_are_asked_nothing_are_not_remembered():
    learner, asker = ERKLE(3, kernel=Dense()), Asker(Questions(3), Balanced(), random_state=0)
    assert len(asker.ask(learner, 3, "Ann")) == 3
    assert all(asker.ask(learner, 1, person) == [] for person in range(100))
    assert list(asker._asked) == ["Ann"]


@pytest.mark.parametrize("strategy", CHOOSING)
def test_a_hundred_participants_at_once_get_different_questions_about_all_anchors(strategy):
    learner = ERKLE(12, kernel=KERNEL)
    asker = Asker(Questions(12, times=None), strategy, holdout=0.0, random_state=0)
    several = [asked for person in range(100) for asked in asker.ask(learner, participant=person)]
    assert len(set(keys(asker, several))) == len(asker.pending) == 100
    assert set(Counter(asked.query[0] for asked in several).values()) == {8, 9}
    assert [asked.participant for asked in several] == list(range(100))
    assert len({asked.number for asked in several}) == 100


@pytest.mark.parametrize("strategy", CHOOSING)
@pytest.mark.parametrize("times", [1, 3, None])
def test_a_whole_study_asks_every_question_as_often_as_allowed_and_nobody_twice(strategy, times):
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
    assert not asker.pending


EVERY = Questions(4).keys([(a, b, c) for a in range(4) for b in range(4) for c in range(b) if a not in (b, c)]).tolist()
event = st.tuples(st.sampled_from(["ask", "ask", "answer", "give back"]), st.integers(0, 2), st.integers(1, 3))


@settings(max_examples=30)
@given(st.lists(event, max_size=30), st.sampled_from([1, 2, None]), st.integers(0, 99))
def test_no_question_is_asked_too_often_or_lost_whatever_participants_do(events, times, seed):
    learner, asker = ERKLE(4, kernel=KERNEL), Asker(Questions(4, times), Balanced(), 0.3, seed)
    asked_of, counted, answered = {person: set() for person in range(3)}, Counter(), []
    for action, person, number in events:
        if action == "ask":
            before = set(keys(asker, asker.pending.values()))
            free = [key for key in EVERY if key not in asked_of[person] and counted[key] < (times or math.inf)]
            several = asker.ask(learner, number, person)
            assert len(several) == min(number, len(free))
            # A pending question is only asked of another participant if no other question is left.
            again = before.intersection(keys(asker, several))
            assert not again or len(several) > len(set(free) - before)
            assert asked_of[person].isdisjoint(keys(asker, several))
            asked_of[person].update(keys(asker, several))
            counted.update(keys(asker, several))
        elif asker.pending:
            asked = list(asker.pending.values())[number % len(asker.pending)]
            if action == "answer":
                asker.answer(learner, asked, on_a_line(asked))
                answered.append(asked)
            else:
                asker.give_back(asked)
                counted.subtract(keys(asker, [asked]))
    assert max(counted.values(), default=0) <= (times or math.inf)
    assert counted.total() == len(asker.pending) + len(answered)
    learner.partial_fit([])
    anchors = Counter(asked.query[0] for asked in answered)
    assert learner.n_anchored_.tolist() == [anchors[anchor] for anchor in range(4)]
    held_out = [asked for asked in answered if asked.held_out]
    assert len(asker.held_out_wrong) == len(held_out) == asker.curve.n_answers.sum()
    assert sum(asker.held_out_wrong) == asker.curve.n_wrong.sum()


def test_a_question_that_is_given_back_is_asked_again_but_not_of_the_same_participant():
    learner, asker = ERKLE(3, kernel=Dense()), Asker(Questions(3), Balanced(), random_state=0)
    several = asker.ask(learner, 9, "Ann")
    assert len(several) == 3
    assert asker.ask(learner, 1, "Bob") == asker.ask(learner) == []
    asker.give_back(several[1])
    assert asker.ask(learner, 9, "Ann") == []
    [again] = asker.ask(learner, 9, "Bob")
    assert keys(asker, [again]) == keys(asker, several[1:2])
    assert again.number not in {asked.number for asked in several}


def test_a_pending_question_is_asked_of_another_participant_if_no_other_is_left():
    learner, asker = ERKLE(3, kernel=Dense()), Asker(Questions(3, times=None), Balanced(), random_state=0)
    ann, bob = (asker.ask(learner, 9, person) for person in ("Ann", "Bob"))
    assert sorted(keys(asker, ann)) == sorted(keys(asker, bob)) == sorted(set(keys(asker, ann)))
    assert asker.ask(learner, 1, "Ann") == []


def test_an_unknown_participant_is_never_asked_a_pending_question():
    asker = Asker(Questions(3, times=None), random_state=0)
    learner = ERKLE(3, kernel=KERNEL, random_state=0)
    assert len(asker.ask(learner, 5)) == 3
    assert asker.ask(learner, 5) == []


def test_errors_are_those_of_held_out_questions_before_they_are_learned():
    learner, asker = ERKLE(6, kernel=KERNEL), Asker(Questions(6), holdout=0.5, random_state=1)
    wrong = []
    for _ in range(40):
        [asked] = asker.ask(learner)
        right = learner.predict_one(asked.query) == on_a_line(asked)
        # A tie counts as wrong, so before the first answer every prediction is wrong.
        tie = learner.knowledge().decision_function([asked.query])[0] == 0
        wrong += [bool(tie or not right)] * asked.held_out
        asker.answer(learner, asked, on_a_line(asked))
    assert asker.held_out_wrong == wrong
    assert 0 < sum(wrong) < len(wrong)


def test_a_question_can_be_answered_or_given_back_once_and_only_to_its_own_asker():
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
            with pytest.raises(ValueError, match=f"Question {asked.number} is not pending") as caught:
                settle(asked)
            assert_is_a_sentence(caught)
    assert learner.n_triplets_seen_ == 1


def test_a_question_stays_pending_after_an_invalid_answer():
    learner, asker = ERKLE(5, kernel=Dense()), Asker(Questions(5), Balanced(), random_state=0)
    [asked] = asker.ask(learner)
    for answer in (math.nan, 2, "no", None):
        with pytest.raises(ValueError, match="True or False") as caught:
            asker.answer(learner, asked, answer)
        assert_is_a_sentence(caught)
    assert list(asker.pending.values()) == [asked]
    asker.answer(learner, asked, np.bool_(True))
    assert learner.n_triplets_seen_ == 1


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_can_be_given_by_its_name(name):
    assert Asker(Questions(6), name).strategy is STRATEGIES[name]


def ask(n_objects=5, *arguments):
    return Asker(Questions(5)).ask(ERKLE(n_objects, kernel=Dense()), *arguments)


REFUSED = [
    (lambda: Asker(Questions(5), "best"), "strategy is 'best'.* 'adaptive' or 'random' or 'balanced'"),
    (lambda: Asker(Questions(5), Adaptive), r"class Adaptive;.* Adaptive\(\)"),
    (lambda: Asker(Questions(5), None), r"strategy is None.* Adaptive\(\)"),
    (lambda: Asker(Questions(5), 0.1), "strategy is 0.1"),
    (lambda: Asker(Questions(5), random_state="x"), "random_state is 'x'"),
    (lambda: Asker(Questions(5), random_state=-1), "random_state is -1"),
    (lambda: Asker(Questions(5), holdout=1.5), "holdout is 1.5"),
    (lambda: Asker(Questions(5), holdout=math.nan), "holdout is nan"),
    (lambda: Asker(5), r"questions is 5.* Questions\(n_objects\)"),
    (lambda: ask(5, -1), "n_queries is -1.* 0"),
    (lambda: ask(5, 0.5), "n_queries is 0.5"),
    (lambda: ask(5, 10**30), f"n_queries is {10**30:,}.* 1,000,000"),
    (lambda: ask(5, 1, ["Ann"]), r"participant is \['Ann'\]"),
    (lambda: ask(6), r"5 objects.* 6.* Questions\(6\)"),
    (lambda: Asker(Questions(5)).answer(ERKLE(5, kernel=Dense()), 3, True), "Got 3"),
]


def test_bad_arguments_are_refused_in_a_sentence_that_names_them():
    for call, values in REFUSED:
        with pytest.raises((TypeError, ValueError), match=values) as caught:
            call()
        assert_is_a_sentence(caught)

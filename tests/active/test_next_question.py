"""The next questions depend only on the arguments, and respect what was asked and what is pending."""

from functools import cache

import numpy as np
import pytest
import scipy.stats

from erkle import ERKLE, LowRank
from erkle.active import Adaptive, Asker, Balanced, Questions, Random
from erkle.active.next_question import Ledger, next_questions
from parts import answers

N = 6
NOTHING_ASKED = Ledger()


@cache
def learner():
    """A learner that no test changes."""
    return ERKLE(N, kernel=LowRank(2), random_state=0).fit(answers(N, 30))


def ask(ledger=NOTHING_ASKED, n=1, holdout=0.0, seed=0, questions=None):
    rng = np.random.default_rng(seed)
    return next_questions(learner(), ledger, questions or Questions(N, None), Balanced(), rng, n, holdout)


def keys(choices):
    return Questions(N).keys([choice.query for choice in choices]).tolist()


def test_the_same_ledger_and_seed_give_the_same_questions():
    ledger = Ledger([(0, 1, 2), (3, 4, 5)], Questions(N).keys([(1, 2, 3)]).tolist())
    assert ask(ledger, 20, 0.3, seed=4) == ask(ledger, 20, 0.3, seed=4)


def test_asked_questions_are_never_chosen_and_pending_ones_only_if_no_other_is_left():
    every = keys(ask(n=1000))
    assert len(every) == len(set(every)) == 60
    pending = [choice.query for choice in ask(n=1000)][:40]
    ledger = Ledger(pending, every[:10])
    chosen = keys(ask(ledger, 1000))
    assert set(chosen) == set(every[10:])
    free = set(every[10:]) - set(Questions(N).keys(pending).tolist())
    assert set(keys(ask(ledger, len(free)))) == free


def test_without_knowledge_all_questions_are_random_and_none_is_held_out():
    found = next_questions(None, NOTHING_ASKED, Questions(N, None), Adaptive(), np.random.default_rng(0), 9)
    assert {choice.strategy for choice in found} == {Random()}
    assert not any(choice.held_out for choice in found)


def test_the_held_out_share_is_drawn_at_random():
    found = [choice for seed in range(200) for choice in ask(n=5, holdout=0.3, seed=seed)]
    assert scipy.stats.binomtest(sum(choice.held_out for choice in found), len(found), 0.3).pvalue > 0.01
    assert all(isinstance(choice.strategy, Random) == choice.held_out for choice in found)


def test_candidates_are_in_random_order():
    queries = [choice.query for seed in range(300) for choice in ask(seed=seed)]
    assert scipy.stats.binomtest(sum(first < second for _, first, second in queries), 300).pvalue > 0.01


def test_choosing_questions_does_not_take_them():
    questions = Questions(N, times=1)
    before = questions.remaining().tolist()
    ask(n=9, questions=questions)
    assert questions.remaining().tolist() == before


@pytest.mark.parametrize("holdout", [0.0, 0.4])
def test_an_asker_asks_the_next_questions(holdout):
    asker = Asker(Questions(N, None), Adaptive(), holdout, random_state=7)
    rng = np.random.default_rng(7)
    for person in ("Ann", "Bob", "Ann"):
        mine = [asked for asked in asker.pending.values() if asked.participant == person]
        ledger = Ledger([asked.query for asked in asker.pending.values()], keys(mine))
        expected = next_questions(learner(), ledger, asker.questions, Adaptive(), rng, 3, holdout)
        assert [asked.query for asked in asker.ask(learner(), 3, person)] == [choice.query for choice in expected]

"""Laws of the asking core: it depends on what is given to it, and on nothing else."""

from collections import Counter

import numpy as np
import pytest
import scipy.stats

from erkle import ERKLE
from erkle.active import Adaptive, Asker, Balanced, Questions, Random
from erkle.active.next_question import Ledger, next_questions
from parts import answers

N = 6


BALANCED = Balanced()
NOTHING_ASKED = Ledger()


def ask(ledger=NOTHING_ASKED, n=1, holdout=0.0, seed=0, strategy=BALANCED, knowledge="learned", questions=None):
    learner = ERKLE(N).fit(answers(N, 30)) if knowledge == "learned" else knowledge
    rng = np.random.default_rng(seed)
    return next_questions(learner, ledger, questions or Questions(N, None), strategy, rng, n, holdout)


def keys(choices):
    return Questions(N).keys([choice.query for choice in choices]).tolist()


def test_the_same_ledger_and_draws_give_the_same_questions():
    ledger = Ledger([(0, 1, 2), (3, 4, 5)], Questions(N).keys([(1, 2, 3)]).tolist())
    assert ask(ledger, 20, 0.3, seed=4) == ask(ledger, 20, 0.3, seed=4)


def test_what_was_asked_is_never_chosen_and_what_is_pending_only_at_the_end():
    every = keys(ask(n=1000))
    assert len(every) == len(set(every)) == 60
    pending = [choice.query for choice in ask(n=1000)][:40]
    ledger = Ledger(pending, every[:10])
    chosen = keys(ask(ledger, 1000))
    assert set(chosen) == set(every[10:])
    free = set(every[10:]) - set(Questions(N).keys(pending).tolist())
    assert set(keys(ask(ledger, len(free)))) == free


def test_without_knowledge_all_is_drawn_at_random_and_nothing_is_held_out():
    found = ask(n=9, knowledge=None, strategy=Adaptive())
    assert {choice.strategy for choice in found} == {Random()}
    assert not any(choice.held_out for choice in found)


def test_the_held_out_share_is_drawn_at_random():
    found = [choice for seed in range(200) for choice in ask(n=5, holdout=0.3, seed=seed)]
    assert scipy.stats.binomtest(sum(choice.held_out for choice in found), len(found), 0.3).pvalue > 0.01
    assert all(isinstance(choice.strategy, Random) == choice.held_out for choice in found)


def test_either_candidate_comes_first():
    first = Counter(o1 < o2 for seed in range(300) for _, o1, o2 in (choice.query for choice in ask(seed=seed)))
    assert scipy.stats.binomtest(first[True], 300).pvalue > 0.01


def test_questions_are_not_used_up_by_choosing():
    questions = Questions(N, times=1)
    before = questions.left().tolist()
    ask(n=9, questions=questions)
    assert questions.left().tolist() == before


@pytest.mark.parametrize("holdout", [0.0, 0.4])
def test_an_asker_asks_what_the_core_chooses(holdout):
    learner = ERKLE(N).fit(answers(N, 30))
    asker = Asker(Questions(N, None), Adaptive(), holdout, random_state=7)
    rng = np.random.default_rng(7)
    for person in ("Ann", "Bob", "Ann"):
        mine = [asked for asked in asker.out.values() if asked.participant == person]
        ledger = Ledger([asked.query for asked in asker.out.values()], keys(mine))
        expected = next_questions(learner, ledger, asker.questions, Adaptive(), rng, 3, holdout)
        assert [asked.query for asked in asker.ask(learner, 3, person)] == [choice.query for choice in expected]

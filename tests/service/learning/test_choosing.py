"""Laws of choosing in a study: every question is asked once, and its label says what chose it."""

from types import SimpleNamespace

import pytest

from erkle.active import STRATEGIES, Balanced, Questions
from erkle.active.knowledge import NothingKnown
from erkle.service.learning import Chooser
from erkle.service.learning.pending import Pending

N = 5


class Broken(Balanced):
    def _scores(self, knowledge, Q, tally, rng):
        raise RuntimeError("it is broken")


def learning(ready=True, not_learned_yet=()):
    return SimpleNamespace(
        view=NothingKnown(N), ready=ready, pending=Pending(), not_learned_yet=lambda: [*not_learned_yet]
    )


def keys(queries):
    return Questions(N).keys(queries).tolist()


def test_a_random_question_replaces_a_strategy_that_fails_or_a_learner_that_is_not_ready(monkeypatch):
    monkeypatch.setitem(STRATEGIES, "balanced", Broken())
    chooser = Chooser(N, "balanced")
    assert chooser.choose(learning(), []).strategy == "balanced/fallback/failed"
    assert chooser.choose(learning(ready=False), []).strategy == "balanced/fallback/not-ready"
    assert Chooser(N, "random").choose(learning(ready=False), []).strategy == "random"
    assert Chooser(N, "adaptive").choose(learning(), []).strategy == "adaptive"


def test_held_out_questions_are_random():
    chooser = Chooser(N, "balanced")
    assert not any(chooser.choose(learning(), []).held_out for _ in range(20))
    for _ in range(20):
        chosen = chooser.choose(learning(), [], holdout=1.0)
        assert (chosen.held_out, chosen.strategy) == (True, "random")


@pytest.mark.parametrize("by", ["choose", "at_random"])
def test_every_question_is_asked_once_and_those_that_others_answer_now_come_last(by):
    busy, asked = [(0, 1, 2), (1, 2, 3)], []
    choose = getattr(Chooser(N, "balanced", left_out=[(4, 0, 1)]), by)
    while (chosen := choose(learning(not_learned_yet=busy), asked)) is not None:
        asked.append(chosen.query)
    assert len(set(keys(asked))) == len(asked) == 29
    assert set(keys(asked[-2:])) == set(keys(busy))
    assert keys([(4, 0, 1)])[0] not in keys(asked)

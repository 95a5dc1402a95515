"""The next questions for one participant. `Asker`, the simulations and the service all call `next_questions`.

This module has no state. A `Ledger` lists the pending questions and those that the participant was asked. An `Asker`
keeps it in memory, and the service reads it from its database.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from erkle.active.knowledge import Knowledge, NothingKnown, knowledge_of
from erkle.active.questions import Query, Questions
from erkle.active.strategies import Random, Strategy


class Ledger(NamedTuple):
    """The questions so far that matter for the next question to one participant.

    Attributes
    ----------
    pending : sequence of (anchor, first, second)
        Questions to this or other participants that the learner has no answer to yet.
    asked : collection of int
        Keys (see `Questions.keys`) of the questions that this participant was asked before.
    """

    pending: Sequence[Query] = ()
    asked: Collection[int] = ()


class Choice(NamedTuple):
    """A question to ask.

    Attributes
    ----------
    query : (anchor, first, second)
        The candidates are in random order.
    strategy : Strategy
        The strategy that chose the question: the given one, or `Random`.
    held_out : bool
        Whether the question belongs to the held-out share, which is drawn at random.
    """

    query: Query
    strategy: Strategy
    held_out: bool


def next_questions(
    knowledge: Knowledge | None,
    ledger: Ledger,
    questions: Questions,
    strategy: Strategy,
    rng: np.random.Generator,
    n_queries: int = 1,
    holdout: float = 0.0,
) -> list[Choice]:
    """Choose questions that this participant has not been asked, in random order; fewer if no more are left.

    A pending question is only chosen if there is no other question left for this participant.

    Parameters
    ----------
    knowledge : Knowledge or None
        None if no learner is ready. All questions are then drawn at random.
    ledger : Ledger
    questions : Questions
        The questions that may be asked. The value is not changed.
    strategy : Strategy
    rng : Generator
    n_queries : int
    holdout : float
        Share of questions that are drawn at random, to measure the error on all questions.

    Examples
    --------
    >>> from erkle.active import Adaptive
    >>> ledger = Ledger(pending=[(0, 1, 2)], asked=Questions(3).keys([(1, 0, 2)]).tolist())
    >>> [choice] = next_questions(None, ledger, Questions(3), Adaptive(), np.random.default_rng(0))
    >>> choice.query, choice.strategy
    ((2, 0, 1), Random())
    """
    chooser = Random() if knowledge is None else strategy
    known = NothingKnown(questions.n_objects) if knowledge is None else knowledge_of(knowledge)
    allowed = questions.without(ledger.asked)
    n_random = int(rng.binomial(n_queries, holdout))
    found: list[Choice] = []
    for by, held_out, wanted in ((Random(), True, n_random), (chooser, False, n_queries)):
        for pending in (ledger.pending, ()):
            if len(found) < wanted:
                not_again = [*pending, *(choice.query for choice in found)]
                rows = by.choose(known, wanted - len(found), rng, not_again, allowed)
                found += [Choice(_shuffled(row.tolist(), rng), by, held_out) for row in rows]
    # The order must not show which questions are held out.
    rng.shuffle(found)
    return found


def _shuffled(row: list[int], rng: np.random.Generator) -> Query:
    """The question with its candidates in random order."""
    anchor, *pair = row
    rng.shuffle(pair)
    return anchor, pair[0], pair[1]

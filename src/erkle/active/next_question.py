"""The asking core: the next questions for one participant. `Asker`, simulations and the service all call it.

Nothing here remembers anything. What is pending and what the participant was asked come in as a `Ledger`: an `Asker`
keeps it in memory, and the service reads it from its database.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from erkle.active.knowledge import Knowledge, NothingKnown, known_by
from erkle.active.questions import Query, Questions
from erkle.active.strategies import Random, Strategy


class Ledger(NamedTuple):
    """What has been asked so far, as far as it matters for the next question to one participant.

    Attributes
    ----------
    pending : sequence of (head, o1, o2)
        Questions that anybody was asked and that the learner has no answer to yet.
    asked : collection of int
        Keys of the questions that this participant was asked before, by `Questions.keys`.
    """

    pending: Sequence[Query] = ()
    asked: Collection[int] = ()


class Choice(NamedTuple):
    """A question to ask.

    Attributes
    ----------
    query : (head, o1, o2)
        Which candidate comes first is drawn.
    strategy : Strategy
        What chose it: the strategy that was wanted, or `Random`.
    held_out : bool
        Whether it belongs to the held-out share, which is drawn at random.
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
    """Questions that this participant has not been asked, in random order; fewer if no more are left.

    Pending questions are left out. Only when nothing else is left are they asked of another participant, too.

    Parameters
    ----------
    knowledge : Knowledge or None
        None if no learner is ready: all questions are drawn at random then.
    ledger : Ledger
    questions : Questions
        What may be asked at all; it is not changed.
    strategy : Strategy
    rng : Generator
    n_queries : int
    holdout : float
        Share of the questions that are drawn at random instead, to measure the error on all questions.

    Examples
    --------
    >>> from erkle.active import Adaptive
    >>> ledger = Ledger(pending=[(0, 1, 2)], asked=Questions(3).keys([(1, 0, 2)]).tolist())
    >>> [choice] = next_questions(None, ledger, Questions(3), Adaptive(), np.random.default_rng(0))
    >>> choice.query, choice.strategy
    ((2, 0, 1), Random())
    """
    chooser = Random() if knowledge is None else strategy
    known = NothingKnown(questions.n_objects) if knowledge is None else known_by(knowledge)
    among = questions.without(ledger.asked)
    n_random = int(rng.binomial(n_queries, holdout))
    found: list[Choice] = []
    for by, held_out, wanted in ((Random(), True, n_random), (chooser, False, n_queries)):
        for pending in (ledger.pending, ()):
            if len(found) < wanted:
                out = [*pending, *(choice.query for choice in found)]
                rows = by.choose(known, wanted - len(found), rng, out, among)
                found += [Choice(_drawn(row.tolist(), rng), by, held_out) for row in rows]
    # Neither the order nor, later, the numbers show which questions are held out.
    rng.shuffle(found)
    return found


def _drawn(row: list[int], rng: np.random.Generator) -> Query:
    """The question with its first candidate drawn."""
    head, *pair = row
    rng.shuffle(pair)
    return head, pair[0], pair[1]

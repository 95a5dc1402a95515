"""An asker chooses the questions of a study and remembers which participant was asked which question."""

from collections import defaultdict
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from erkle.active.knowledge import Knowledge
from erkle.active.next_question import Ledger, next_questions
from erkle.active.questions import Query, Questions, check_questions
from erkle.active.strategies import STRATEGIES, Adaptive, Random, Strategy
from erkle.checks import one_of, random_generator, share, whole
from erkle.online import ERKLE
from erkle.online.record import Curve

# Largest number of questions that can be asked at once.
_MOST_AT_ONCE = 1_000_000


class Asked(NamedTuple):
    """A question that was asked.

    Attributes
    ----------
    number : int
        A number that no other question of the asker has.
    query : (anchor, first, second)
        Is the anchor more like the first candidate or like the second? The candidates are in random order.
    held_out : bool
        Whether the question was drawn at random. Predictions for such questions, made before their answers are
        learned, estimate the error on all questions.
    participant : hashable or None
        The participant who is asked.
    """

    number: int
    query: Query
    held_out: bool
    participant: Hashable


class Asker:
    """Chooses questions, remembers which participant was asked which, and passes the answers to the learner.

    Parameters
    ----------
    questions : Questions
        The questions that may be asked.
    strategy : Strategy or str
        The strategy that chooses questions: a value such as ``Adaptive()``, or a name from `STRATEGIES`.
    holdout : float
        Share of questions that are drawn at random instead. They estimate the error on all questions; questions that a
        strategy chooses are not representative.
    random_state : int, Generator or None

    Attributes
    ----------
    pending : dict of int to Asked
        Questions that are not answered yet, by number.
    held_out_wrong : list of bool
        For each held-out question that was answered, whether the prediction before learning was wrong.

    Examples
    --------
    >>> from erkle import ERKLE
    >>> learner = ERKLE(5, random_state=0)
    >>> asker = Asker(Questions(5), random_state=0)
    >>> [asked] = asker.ask(learner, participant="Ann")
    >>> anchor, first, second = asked.query
    >>> asker.answer(learner, asked, nearer_to_first=abs(anchor - first) < abs(anchor - second))
    >>> learner.n_triplets_seen_
    1
    """

    def __init__(
        self,
        questions: Questions,
        strategy: Strategy | str = Adaptive(),
        holdout: float = 0.1,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.questions, self.strategy = check_questions(questions), _strategy(strategy)
        self.holdout = share(holdout, "holdout")
        self.pending: dict[int, Asked] = {}
        self.held_out_wrong: list[bool] = []
        self._rng = random_generator(random_state, "random_state")
        self._number = 0
        self._asked: defaultdict[Hashable, set[int]] = defaultdict(set)
        self._learned: list[int] = []

    def ask(self, learner: Knowledge, n_queries: int = 1, participant: Hashable = None) -> list[Asked]:
        """Ask questions that this participant has not been asked before, in random order; fewer if no more are left.

        A question that is pending for another participant is only asked if there is no other question left.
        """
        if whole(n_queries, "n_queries", 0, "a number of questions cannot be negative") > _MOST_AT_ONCE:
            raise ValueError(f"n_queries is {n_queries:,}; ask at most {_MOST_AT_ONCE:,} questions at once.")
        if not isinstance(participant, Hashable):
            raise TypeError(
                f"participant is {participant!r}; pass a name or a number, or None for an unknown participant."
            )
        pending = [asked.query for asked in self.pending.values()]
        # An unknown participant may be one who has already been asked a pending question.
        asked = self.questions.keys(pending).tolist() if participant is None else self._asked.get(participant, ())
        ledger = Ledger(pending, asked)
        found = next_questions(learner, ledger, self.questions, self.strategy, self._rng, n_queries, self.holdout)
        return [self._send(choice.query, isinstance(choice.strategy, Random), participant) for choice in found]

    def _send(self, query: Query, held_out: bool, participant: Hashable) -> Asked:
        """Record the question as pending."""
        self._number += 1
        asked = self.pending[self._number] = Asked(self._number, query, held_out, participant)
        self.questions.take(query)
        if participant is not None:
            self._asked[participant].add(self.questions.key(query))
        return asked

    def answer(self, learner: ERKLE, asked: Asked, nearer_to_first: bool) -> None:
        """Learn the answer: the anchor is more like the first candidate (True) or like the second (False)."""
        self._check_pending(asked)
        [decision] = learner.prequential([asked.query], [nearer_to_first])
        del self.pending[asked.number]
        if asked.held_out:
            self._learned.append(learner.n_triplets_seen_ - 1)
            self.held_out_wrong.append(bool(decision <= 0.0))

    def give_back(self, asked: Asked) -> None:
        """Return a question that will not be answered. It can be asked again, but not to the same participant."""
        self._check_pending(asked)
        del self.pending[asked.number]
        self.questions.give_back(asked.query)

    def _check_pending(self, asked: Asked) -> None:
        if not isinstance(asked, Asked):
            raise TypeError(f"Got {asked!r}; pass a question that ask() has returned.")
        if self.pending.get(asked.number) != asked:
            raise ValueError(
                f"Question {asked.number} is not pending. It has been answered or given back, or another asker asked "
                "it; pass a question from asker.pending."
            )

    @property
    def curve(self) -> Curve:
        """Errors of the predictions for held-out questions, made before their answers were learned."""
        return Curve.of(np.array(self._learned, np.int64), np.array(self.held_out_wrong, np.bool_))


def _strategy(given: Any) -> Strategy:
    if isinstance(given, str):
        one_of(given, "strategy", tuple(STRATEGIES))
        return STRATEGIES[given]
    if isinstance(given, type):
        raise TypeError(f"The strategy is the class {given.__name__}; pass a value, {given.__name__}().")
    if not isinstance(given, Strategy):
        raise TypeError(f"The strategy is {given!r}; pass a value such as Adaptive(), or a name from STRATEGIES.")
    return given

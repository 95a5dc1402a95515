"""An asker chooses questions and remembers who was asked what, which questions are pending, and which are held out."""

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

_MOST_AT_ONCE = 1_000_000


class Asked(NamedTuple):
    """A question that is out.

    Attributes
    ----------
    number : int
        Different for each question of an asker.
    query : (head, o1, o2)
        Is the head more like o1 or like o2? Which candidate comes first is drawn.
    held_out : bool
        Whether it was drawn at random. The error on such questions, before they are learned, is that on all questions.
    participant : hashable or None
        Who is asked.
    """

    number: int
    query: Query
    held_out: bool
    participant: Hashable


class Asker:
    """Chooses questions, remembers who was asked what, and teaches the learner the answers.

    Parameters
    ----------
    questions : Questions
        What may be asked.
    strategy : Strategy or str
        How the next question is chosen: a value such as ``Adaptive()``, or its name in `STRATEGIES`.
    holdout : float
        Share of questions that are drawn at random instead. Before they are learned they measure the error on all
        questions; questions that a strategy chose cannot.
    random_state : int, Generator or None

    Examples
    --------
    >>> from erkle import ERKLE
    >>> learner = ERKLE(5, random_state=0)
    >>> asker = Asker(Questions(5), random_state=0)
    >>> [asked] = asker.ask(learner, participant="Ann")
    >>> head, o1, o2 = asked.query
    >>> asker.answer(learner, asked, nearer_to_first=abs(head - o1) < abs(head - o2))
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
        self.out: dict[int, Asked] = {}
        self._rng = random_generator(random_state, "random_state")
        self._number = 0
        self._asked: defaultdict[Hashable, set[int]] = defaultdict(set)
        self._learned: list[int] = []
        self.wrong: list[bool] = []

    def ask(self, learner: Knowledge, n_queries: int = 1, participant: Hashable = None) -> list[Asked]:
        """Questions that this participant has not been asked before, in random order; fewer if no more are left.

        Questions that are out are asked of another participant only when nothing else is left.
        """
        if whole(n_queries, "n_queries", 0, "one cannot ask fewer questions") > _MOST_AT_ONCE:
            raise ValueError(f"n_queries is {n_queries:,}; ask at most {_MOST_AT_ONCE:,} questions at once.")
        if not isinstance(participant, Hashable):
            raise TypeError(
                f"participant is {participant!r}; pass a name or a number, or None for nobody in particular."
            )
        pending = [out.query for out in self.out.values()]
        # Nobody in particular may be whoever has a pending question.
        asked = self.questions.keys(pending).tolist() if participant is None else self._asked.get(participant, ())
        ledger = Ledger(pending, asked)
        found = next_questions(learner, ledger, self.questions, self.strategy, self._rng, n_queries, self.holdout)
        return [self._send(choice.query, isinstance(choice.strategy, Random), participant) for choice in found]

    def _send(self, query: Query, held_out: bool, participant: Hashable) -> Asked:
        """The question is out from now on."""
        self._number += 1
        asked = self.out[self._number] = Asked(self._number, query, held_out, participant)
        self.questions.take(query)
        if participant is not None:
            self._asked[participant].add(self.questions.key(query))
        return asked

    def answer(self, learner: ERKLE, asked: Asked, nearer_to_first: bool) -> None:
        """The head is more like o1, or like o2: the learner learns it."""
        self._check_out(asked)
        [decision] = learner.prequential([asked.query], [nearer_to_first])
        del self.out[asked.number]
        if asked.held_out:
            self._learned.append(learner.n_triplets_seen_ - 1)
            self.wrong.append(bool(decision <= 0.0))

    def give_back(self, asked: Asked) -> None:
        """Nobody will answer it: it may be asked again, though not of the same participant."""
        self._check_out(asked)
        del self.out[asked.number]
        self.questions.give_back(asked.query)

    def _check_out(self, asked: Asked) -> None:
        if not isinstance(asked, Asked):
            raise TypeError(f"Got {asked!r}; pass one of the questions that ask has returned.")
        if self.out.get(asked.number) != asked:
            raise ValueError(
                f"Question {asked.number} is not out: it has been answered or given back, or another asker asked it; "
                "pass one of those in out."
            )

    @property
    def curve(self) -> Curve:
        """Errors on the questions that were drawn at random, before they were learned."""
        return Curve.of(np.array(self._learned, np.int64), np.array(self.wrong, np.bool_))


def _strategy(given: Any) -> Strategy:
    if isinstance(given, str):
        one_of(given, "strategy", tuple(STRATEGIES))
        return STRATEGIES[given]
    if isinstance(given, type):
        raise TypeError(f"The strategy is the class {given.__name__}; pass a value, {given.__name__}().")
    if not isinstance(given, Strategy):
        raise TypeError(f"The strategy is {given!r}; pass a value such as Adaptive(), or a name from STRATEGIES.")
    return given

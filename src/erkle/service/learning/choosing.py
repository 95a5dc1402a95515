"""The next question of a study: the one the strategy chooses, or one drawn at random if it cannot choose now.

What to ask is decided by `erkle.active.next_question`, which `Asker` and the simulations use as well.
"""

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from erkle.active.knowledge import Knowledge
from erkle.active.next_question import Choice, Ledger, next_questions
from erkle.active.questions import Query, Questions
from erkle.active.strategies import STRATEGIES, Random, Strategy
from erkle.service.learning.learning import Learning

log = logging.getLogger("erkle.service")


class Chosen(NamedTuple):
    """A question, in words how it was chosen, and whether it is one of the held-out share."""

    query: Query
    strategy: str
    held_out: bool = False


class Chooser:
    """Chooses for one study.

    Parameters
    ----------
    n_objects : int
    strategy : str
        A name in `STRATEGIES`.
    left_out : sequence of (head, o1, o2)
        Questions that are asked for other reasons: catch questions.
    """

    def __init__(self, n_objects: int, strategy: str, left_out: Sequence[Query] = ()) -> None:
        self._name, self._strategy = strategy, STRATEGIES[strategy]
        self._questions = Questions(n_objects, times=None, left_out=left_out or None)
        self._rng = np.random.default_rng()
        # Generators are not safe in threads, and one question after the other is fast enough.
        self._lock = threading.Lock()

    def at_random(self, learning: Learning, asked: Iterable[Query]) -> Chosen | None:
        """A random question for somebody who was asked these; None if no other is left."""
        choice = self._next(None, Random(), learning, asked, 0.0)
        return None if choice is None else Chosen(choice.query, "random")

    def choose(self, learning: Learning, asked: Iterable[Query], holdout: float = 0.0) -> Chosen | None:
        """The best question by the strategy for somebody who was asked these; None if no other is left.

        With the probability ``holdout`` it is a random one, which is held out.
        """
        view = learning.view if learning.ready else None
        why = "the learner was not ready"
        try:
            choice = self._next(view, self._strategy, learning, asked, holdout)
        except Exception:
            # A random question is still a good one; without any question the participant would be sent away.
            log.exception("the strategy has failed")
            choice, why = self._next(None, Random(), learning, asked, 0.0), "it failed"
        if choice is None:
            return None
        if choice.held_out:
            return Chosen(choice.query, "random", held_out=True)
        as_wanted = choice.strategy == self._strategy
        return Chosen(choice.query, self._name if as_wanted else f"random instead of {self._name}: {why}")

    def drawn(self) -> float:
        """A number from 0 to 1."""
        with self._lock:
            return float(self._rng.random())

    def one_of(self, n: int) -> int:
        """A whole number below n."""
        with self._lock:
            return int(self._rng.integers(n))

    def _next(
        self, view: Knowledge | None, strategy: Strategy, learning: Learning, asked: Iterable[Query], holdout: float
    ) -> Choice | None:
        pending = learning.pending.queries() + learning.since()
        ledger = Ledger(pending, self._questions.keys([*asked]).tolist())
        with self._lock:
            found = next_questions(view, ledger, self._questions, strategy, self._rng, 1, holdout)
        return found[0] if found else None

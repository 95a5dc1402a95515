"""Which question is next: what the strategy says, or, where it cannot say anything now, one drawn at random."""

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from erkle.active.questions import Query, Questions
from erkle.active.strategies import STRATEGIES, Random, Strategy
from erkle.service.learning.learning import Learning
from erkle.service.learning.view import View

__all__ = ["Chooser", "Chosen"]

log = logging.getLogger("erkle.service")


class Chosen(NamedTuple):
    """A question, and in words how it was chosen."""

    query: Query
    strategy: str


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

    def at_random(self, learning: Learning, but: Iterable[Query]) -> Chosen | None:
        """Any question that is not one of these; None if there is no other."""
        query = self._choose(Random(), learning, learning.view, but)
        return None if query is None else Chosen(query, "random")

    def choose(self, learning: Learning, but: Iterable[Query]) -> Chosen | None:
        """The question that the strategy likes best, and that is not one of these; None if there is no other."""
        but, view = list(but), learning.view
        if not learning.ready or view is None:
            return self._instead(learning, but, "the learner was not ready")
        try:
            query = self._choose(self._strategy, learning, view, but)
        except Exception:
            # A question drawn at random is a good one; no question at all would send somebody away.
            log.exception("the strategy has failed")
            return self._instead(learning, but, "it failed")
        return None if query is None else Chosen(query, self._name)

    def drawn(self) -> float:
        """A number from 0 to 1."""
        with self._lock:
            return float(self._rng.random())

    def one_of(self, n: int) -> int:
        """A whole number below n."""
        with self._lock:
            return int(self._rng.integers(n))

    def _instead(self, learning: Learning, but: list[Query], why: str) -> Chosen | None:
        chosen = self.at_random(learning, but)
        if chosen is None or self._name == "random":
            return chosen
        return chosen._replace(strategy=f"random instead of {self._name}: {why}")

    def _choose(self, strategy: Strategy, learning: Learning, view: View | None, but: Iterable[Query]) -> Query | None:
        pending = learning.pending.queries() + learning.since()
        questions = self._questions.without(self._questions.keys([*but]).tolist())
        with self._lock:
            # What is out may be asked of somebody else, too, where there are hardly any questions left.
            for out in (pending, []):
                found = strategy.choose(view or _Unknown(questions.n_objects), 1, self._rng, out, questions)
                if len(found):
                    head, *pair = found[0].tolist()
                    self._rng.shuffle(pair)
                    return head, pair[0], pair[1]
        return None


class _Unknown:
    """A learner that knows nothing."""

    def __init__(self, n_objects: int) -> None:
        self.n_objects_ = n_objects
        self.n_heads_ = self.n_appearances_ = np.zeros(n_objects, np.int64)

    def partial_fit(self, answers: object) -> None:
        """It is not learning."""

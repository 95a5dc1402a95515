"""The next question of a study: the strategy chooses it, or it is random if the strategy cannot choose now.

The choice itself is made in `erkle.active.next_question`, which `Asker` and the simulations also use.
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

# Why a random question replaced that of the strategy.
NOT_READY, FAILED = "not-ready", "failed"
_FALLBACK = "/fallback/"
LABELS = frozenset(STRATEGIES) | {f"{name}{_FALLBACK}{why}" for name in STRATEGIES for why in (NOT_READY, FAILED)}
"""All labels that a `Chooser` gives to questions."""


def split_fallback(label: str) -> tuple[str, str | None]:
    """Split the stored label of a strategy into its name and, if a random question replaced it, the reason.

    >>> split_fallback("adaptive"), split_fallback("adaptive/fallback/not-ready")
    (('adaptive', None), ('adaptive', 'not-ready'))
    """
    name, _, reason = label.partition(_FALLBACK)
    return name, reason or None


class Chosen(NamedTuple):
    """A question, the label of what chose it (see `split_fallback`), and whether it is held out."""

    query: Query
    strategy: str
    held_out: bool = False


class Chooser:
    """Chooses the questions of one study. Safe to use from several threads.

    Parameters
    ----------
    n_objects : int
    strategy : str
        A name in `STRATEGIES`.
    left_out : sequence of (anchor, first, second)
        Questions that are never chosen: the catch questions.
    """

    def __init__(self, n_objects: int, strategy: str, left_out: Sequence[Query] = ()) -> None:
        self._name, self._strategy = strategy, STRATEGIES[strategy]
        self._questions = Questions(n_objects, times=None, left_out=left_out or None)
        self._rng = np.random.default_rng()
        # NumPy generators are not thread-safe. Choosing one question at a time is fast enough.
        self._lock = threading.Lock()

    def at_random(self, learning: Learning, asked: Iterable[Query]) -> Chosen | None:
        """Return a random question for a participant who was asked ``asked``, or None if no other is left."""
        choice = self._next(None, Random(), learning, asked, 0.0)
        return None if choice is None else Chosen(choice.query, "random")

    def choose(self, learning: Learning, asked: Iterable[Query], holdout: float = 0.0) -> Chosen | None:
        """Return the strategy's best question for a participant who was asked ``asked``, or None if no other is left.

        With probability ``holdout``, the question is random and held out instead.
        """
        view = learning.view if learning.ready else None
        reason = NOT_READY
        try:
            choice = self._next(view, self._strategy, learning, asked, holdout)
        except Exception:
            # A random question is still useful. Without a question the participation would end.
            log.exception("the strategy failed")
            choice, reason = self._next(None, Random(), learning, asked, 0.0), FAILED
        if choice is None:
            return None
        if choice.held_out:
            return Chosen(choice.query, "random", held_out=True)
        as_wanted = choice.strategy == self._strategy
        return Chosen(choice.query, self._name if as_wanted else f"{self._name}{_FALLBACK}{reason}")

    def random(self) -> float:
        """Return a random number from [0, 1)."""
        with self._lock:
            return float(self._rng.random())

    def random_below(self, n: int) -> int:
        """Return a random integer from 0 to n - 1."""
        with self._lock:
            return int(self._rng.integers(n))

    def _next(
        self, view: Knowledge | None, strategy: Strategy, learning: Learning, asked: Iterable[Query], holdout: float
    ) -> Choice | None:
        pending = learning.pending.queries() + learning.not_learned_yet()
        ledger = Ledger(pending, self._questions.keys([*asked]).tolist())
        with self._lock:
            found = next_questions(view, ledger, self._questions, strategy, self._rng, 1, holdout)
        return found[0] if found else None

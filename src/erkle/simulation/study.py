"""A simulated study, in which several participants answer at the same time."""

import heapq
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from erkle.active.asker import Asked, Asker
from erkle.active.strategies import Strategy
from erkle.checks import number, whole
from erkle.online import ERKLE
from erkle.simulation.worlds import Instance, World

# Number of questions after which a new participant replaces the one at a place.
_SESSION = 50


class Run(NamedTuple):
    """The errors and waiting times of one simulated study.

    Attributes
    ----------
    n_answers : list of int
        Numbers of answers at which the error was measured.
    errors : list of float
        Errors on test answers at these moments.
    estimates : list of float
        Errors on the random questions since the previous moment, predicted before they were learned; NaN if there
        were none.
    waits : list of float
        Seconds that the participant waited for the next question after each answer.
    """

    n_answers: list[int]
    errors: list[float]
    estimates: list[float]
    waits: list[float]


def simulate(
    world: World,
    strategy: Strategy,
    moments: list[int],
    seed: int = 0,
    in_flight: int = 1,
    rate: float = 10.0,
    holdout: float = 0.1,
    on_answer: Callable[[int], None] = lambda n_answers: None,
) -> Run:
    """Ask and learn until the last of the moments, or until no question is left.

    The same seed gives the same result. Only the waiting times depend on the speed of the machine.

    Parameters
    ----------
    world : World
    strategy : Strategy
    moments : list of int
        Numbers of answers, in rising order, at which the error is measured.
    seed : int
    in_flight : int
        Number of participants at once; each has one open question.
    rate : float
        Answers per second, of all participants together.
    holdout : float
        Share of random questions.
    on_answer : callable
        Called after each answer with the number of answers so far.
    """
    whole(in_flight, "in_flight", 1, "somebody must answer")
    if not number(rate, "rate", "it counts answers per second"):
        raise ValueError("rate is 0; pass the number of answers per second.")
    study = _Study(world.instance(seed), strategy, seed, in_flight, rate, holdout)
    for moment in moments:
        while study.n_answers < moment and study.queue:
            study.next_answer()
            on_answer(study.n_answers)
        if study.n_answers < moment:
            break
        study.measure()
    return study.run


class _Study:
    """The state of a simulated study: open questions, idle participants, and the results so far.

    Each place has one participant at a time.
    """

    def __init__(
        self, instance: Instance, strategy: Strategy, seed: int, in_flight: int, rate: float, holdout: float
    ) -> None:
        self.run, self.n_answers = Run([], [], [], []), 0
        # For each open question: when it will be answered, the place of the participant, and the question.
        self.queue: list[tuple[float, int, Asked]] = []
        self._instance = instance
        self._learner = ERKLE(instance.n_objects, random_state=seed + 1000, features=instance.features)
        self._asker = Asker(instance.questions, strategy, holdout, np.random.default_rng([seed, 1]))
        # Mean number of seconds that a participant takes for an answer.
        self._rng, self._pace = np.random.default_rng([seed, 2]), in_flight / rate
        self._answered = [0] * in_flight
        # The time at which the learner is free again.
        self._free = 0.0
        # Held-out answers that `measure` has counted.
        self._n_counted = 0
        self._idle = [place for place in range(in_flight) if not self._give(place, 0.0, self._ask(place))]

    def next_answer(self) -> None:
        """Learn the next answer; then ask the participant who gave it, and all who are idle."""
        now, place, asked = heapq.heappop(self.queue)
        following = self._learn(now, place, asked)
        # A question may have become available to participants who had none.
        self._idle = [other for other in self._idle if not self._give(other, now, self._ask(other))]
        if not self._give(place, now, following):
            self._idle.append(place)

    def measure(self) -> None:
        """Record the error on test answers, and on the held-out answers since the previous measurement."""
        held_out = self._asker.held_out_wrong[self._n_counted :]
        self._n_counted += len(held_out)
        self.run.n_answers.append(self.n_answers)
        self.run.errors.append(1.0 - self._learner.score(self._instance.test))
        self.run.estimates.append(float(np.mean(held_out)) if held_out else float("nan"))

    def _learn(self, now: float, place: int, asked: Asked) -> list[Asked]:
        """Learn an answer and choose the next question; record how long the participant waits for both."""
        nearer = self._instance.answer(asked.query)
        start = time.perf_counter()
        self._asker.answer(self._learner, asked, nearer)
        self.n_answers += 1
        self._answered[place] += 1
        following = self._ask(place)
        # The learner takes one answer at a time, so a participant also waits for earlier answers.
        self._free = max(now, self._free) + time.perf_counter() - start
        self.run.waits.append(self._free - now)
        return following

    def _ask(self, place: int) -> list[Asked]:
        return self._asker.ask(self._learner, participant=(place, self._answered[place] // _SESSION))

    def _give(self, place: int, now: float, found: list[Asked]) -> bool:
        """Schedule the answers to these questions; False if there are no questions."""
        for asked in found:
            heapq.heappush(self.queue, (now + self._rng.exponential(self._pace), place, asked))
        return bool(found)

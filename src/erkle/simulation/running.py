"""A study with simulated participants: several at once, each answers and gets the next question."""

import heapq
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from erkle.active.asker import Asked, Asker
from erkle.active.strategies import Strategy
from erkle.checks import number, whole
from erkle.kernels.low_rank import LowRank
from erkle.online import ERKLE
from erkle.simulation.worlds import Scene, World

# Questions that a participant answers before another takes the place.
_SESSION = 50


class Course(NamedTuple):
    """What happened.

    Attributes
    ----------
    n_answers : list of int
        When the error was measured.
    errors : list of float
        On test answers, at these moments.
    estimates : list of float
        Errors on the random questions since the moment before, before they were learned; NaN without any.
    waits : list of float
        Seconds each participant waited for the next question, if people answer at the given rate.
    """

    n_answers: list[int]
    errors: list[float]
    estimates: list[float]
    waits: list[float]


def run(
    world: World,
    strategy: Strategy,
    moments: list[int],
    seed: int = 0,
    in_flight: int = 1,
    rate: float = 10.0,
    holdout: float = 0.1,
    tell: Callable[[int], None] = lambda n_answers: None,
) -> Course:
    """Ask and learn up to the last of the moments, or until nothing is left to ask.

    What comes out is the same for the same seed, whatever the clock says; only the waits are measured.

    Parameters
    ----------
    world : World
    strategy : Strategy
    moments : list of int
        Numbers of answers, rising, at which the error is measured.
    seed : int
    in_flight : int
        Number of participants, each with a question before them.
    rate : float
        Answers a second of all of them together.
    holdout : float
        Share of random questions.
    tell : callable
        Called with the number of answers after each.
    """
    whole(in_flight, "in_flight", 1, "somebody must answer")
    if not number(rate, "rate", "it counts answers a second"):
        raise ValueError("rate is 0; pass the number of answers a second.")
    crowd = _Crowd(world.scene(seed), strategy, seed, in_flight, rate, holdout)
    for moment in moments:
        while crowd.n_answers < moment and crowd.queue:
            crowd.hear()
            tell(crowd.n_answers)
        if crowd.n_answers < moment:
            break
        crowd.measure()
    return crowd.course


class _Crowd:
    """People in places, each with a question before them or idle, and the course that they have taken so far."""

    def __init__(
        self, scene: Scene, strategy: Strategy, seed: int, in_flight: int, rate: float, holdout: float
    ) -> None:
        self.course, self.n_answers = Course([], [], [], []), 0
        # When each answer comes, from which place, and to what.
        self.queue: list[tuple[float, int, Asked]] = []
        self._scene = scene
        self._learner = ERKLE(scene.n_objects, kernel=LowRank(), random_state=seed + 1000)
        self._asker = Asker(scene.questions, strategy, holdout, np.random.default_rng([seed, 1]))
        self._rng, self._pace = np.random.default_rng([seed, 2]), in_flight / rate
        self._answered = [0] * in_flight
        # When the learner has time again, and how many held-out answers have been measured.
        self._free, self._heard = 0.0, 0
        self._idle = [place for place in range(in_flight) if not self._give(place, 0.0, self._ask(place))]

    def hear(self) -> None:
        """Learn the next answer, and ask whoever gave it, and all who are idle."""
        now, place, asked = heapq.heappop(self.queue)
        following = self._learn(now, place, asked)
        # Those who had nothing to answer may have now, for a question that comes back can be asked again.
        self._idle = [other for other in self._idle if not self._give(other, now, self._ask(other))]
        if not self._give(place, now, following):
            self._idle.append(place)

    def measure(self) -> None:
        """Write down the error on test answers, and on the held-out ones since the last time."""
        held_out = self._asker.wrong[self._heard :]
        self._heard += len(held_out)
        self.course.n_answers.append(self.n_answers)
        self.course.errors.append(1.0 - self._learner.score(self._scene.test))
        self.course.estimates.append(float(np.mean(held_out)) if held_out else float("nan"))

    def _learn(self, now: float, place: int, asked: Asked) -> list[Asked]:
        """Learn an answer, and find the question that follows; how long both take by the clock is a wait."""
        nearer = self._scene.answer(asked.query)
        start = time.perf_counter()
        self._asker.answer(self._learner, asked, nearer)
        self.n_answers += 1
        self._answered[place] += 1
        following = self._ask(place)
        # One at a time: who comes while another answer is learned waits for that, too.
        self._free = max(now, self._free) + time.perf_counter() - start
        self.course.waits.append(self._free - now)
        return following

    def _ask(self, place: int) -> list[Asked]:
        return self._asker.ask(self._learner, participant=(place, self._answered[place] // _SESSION))

    def _give(self, place: int, now: float, found: list[Asked]) -> bool:
        """Put what was found before the person in that place; False if it is nothing."""
        for asked in found:
            heapq.heappush(self.queue, (now + self._rng.exponential(self._pace), place, asked))
        return bool(found)

"""A study with people who exist only here: so many at once, each answering and getting the next question in turn."""

import heapq
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from erkle.active.asker import Asked, Asker
from erkle.active.strategies import Strategy
from erkle.kernels.low_rank import LowRank
from erkle.online import ERKLE
from erkle.parameters import number, whole
from erkle.simulation.worlds import World

__all__ = ["Course", "run"]

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
    scene = world.scene(seed)
    learner = ERKLE(scene.n_objects, kernel=LowRank(), random_state=seed + 1000)
    asker = Asker(scene.questions, strategy, holdout, np.random.default_rng([seed, 1]))
    people = np.random.default_rng([seed, 2])
    course, free = Course([], [], [], []), 0.0
    queue: list[tuple[float, int, Asked]] = []
    answered = [0] * in_flight

    def ask(place: int) -> list[Asked]:
        return asker.ask(learner, participant=(place, answered[place] // _SESSION))

    def give(place: int, now: float, found: list[Asked]) -> bool:
        for asked in found:
            heapq.heappush(queue, (now + people.exponential(in_flight / rate), place, asked))
        return bool(found)

    idle = [place for place in range(in_flight) if not give(place, 0.0, ask(place))]
    n_answers = heard = 0
    for moment in moments:
        while n_answers < moment and queue:
            now, place, asked = heapq.heappop(queue)
            nearer = scene.answer(asked.query)
            start = time.perf_counter()
            asker.answer(learner, asked, nearer)
            n_answers += 1
            answered[place] += 1
            following = ask(place)
            # One at a time: who comes while another answer is learned waits for that, too.
            free = max(now, free) + time.perf_counter() - start
            course.waits.append(free - now)
            # Those who had nothing to answer may have now, for a question that comes back can be asked again.
            idle = [other for other in idle if not give(other, now, ask(other))]
            if not give(place, now, following):
                idle.append(place)
            tell(n_answers)
        if n_answers < moment:
            break
        held_out = asker.wrong
        course.n_answers.append(n_answers)
        course.errors.append(1.0 - learner.score(scene.test))
        course.estimates.append(float(np.mean(held_out[heard:])) if len(held_out) > heard else float("nan"))
        heard = len(held_out)
    return course

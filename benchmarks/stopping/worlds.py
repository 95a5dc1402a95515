"""Worlds that answer questions, with the true error of a learner: the share of fresh answers that it predicts wrongly.

Fresh answers are answers to questions drawn like those of the study, whether these were asked before or not. About
points, the true error is an expected value, without the noise of a test.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import ERKLE, AnswerModel, triplets
from erkle.active import Questions
from erkle.active.questions import Query
from erkle.datasets import all_questions, answered, load

Ids = NDArray[np.int64]

# Share of the questions of a data set that measure the true error.
_TEST_SHARE = 0.2
# Test questions about points, at most.
_MOST_TESTED = 20_000


class Drawn(NamedTuple):
    """A world drawn with one seed.

    ``stream`` holds answers to random questions, ``answer(query)`` says whether the anchor is more like the first
    candidate, and ``error(learner)`` is the true error.
    """

    n_objects: int
    stream: Ids
    questions: Questions
    answer: Callable[[Query], bool]
    error: Callable[[ERKLE], float]


class Points(NamedTuple):
    """Points N(0, I), and participants who answer as an answer model says.

    With ``n_listed`` questions, a study has only these, and every participant answers all of them.
    """

    n_objects: int
    n_components: int
    people: AnswerModel
    n_listed: int | None = None

    def draw(self, seed: int, per_object: int) -> Drawn:
        """Draw the points and a stream of answers."""
        n_answers = per_object * self.n_objects
        rng = np.random.default_rng([seed, *self[:2]])
        X = rng.standard_normal(self[:2])
        every = all_questions(self.n_objects)
        if self.n_listed is None:
            asked = every[rng.integers(len(every), size=n_answers)]
        else:
            every = rng.permutation(every)[: self.n_listed]
            asked = np.concatenate([rng.permutation(every) for _ in range(-(-n_answers // self.n_listed))])[:n_answers]
        tested = rng.permutation(every)[:_MOST_TESTED]
        a, b, c = (X[ids] for ids in tested.T)
        likely = self.people.probability(((a - b) ** 2).sum(axis=1), ((a - c) ** 2).sum(axis=1))

        def answer(query: Query) -> bool:
            return bool(answered([query], X, self.people, rng)[0, 1] == query[1])

        def error(learner: ERKLE) -> float:
            return float(np.where(learner.decision_function(tested) > 0.0, 1.0 - likely, likely).mean())

        stream = answered(asked, X, self.people, rng)
        return Drawn(self.n_objects, stream, Questions(self.n_objects, times=None), answer, error)


class People(NamedTuple):
    """A data set of people's answers. A fifth of its questions measure the error and are never asked."""

    name: str

    def draw(self, seed: int, per_object: int) -> Drawn:
        """Draw the test questions and the order of the answers."""
        dataset = load(self.name)
        train, test = triplets.split(dataset.triplets, _TEST_SHARE, seed)
        train = np.random.default_rng([seed, 2]).permutation(train)
        n = len(dataset.names)
        given = dict(zip(triplets.question_keys(train, n).tolist(), train[:, 1].tolist(), strict=True))

        def answer(query: Query) -> bool:
            return bool(given[triplets.question_keys([query], n).tolist()[0]] == query[1])

        def error(learner: ERKLE) -> float:
            return float(1.0 - learner.score(test))

        return Drawn(n, train[: per_object * n], Questions(n, listed=train), answer, error)


class World(NamedTuple):
    """A source of answers, how many answers per object a study collects, and when a forecast is made."""

    source: Points | People
    per_object: int
    moments: tuple[int, ...] = (5, 10, 20, 40)
    adaptive: bool = False


_EARLY, _LATE = (5, 10, 20), (5, 10, 20, 40, 100)
_UNSURE, _SURE = AnswerModel(2.0, power=0.5, lapse=0.05), AnswerModel(4.0, power=0.5, lapse=0.02)
WORLDS = {
    "points, d = 2": World(Points(40, 2, _UNSURE), 100),
    "points, d = 2, adaptive": World(Points(40, 2, _UNSURE), 60, _EARLY, adaptive=True),
    "points, d = 5": World(Points(40, 5, _SURE), 100),
    "points, d = 5, adaptive": World(Points(40, 5, _SURE), 60, _EARLY, adaptive=True),
    "zappos85": World(People("zappos85"), 100),
    "zappos85, adaptive": World(People("zappos85"), 60, _EARLY, adaptive=True),
    "food100": World(People("food100"), 100),
    "food100, adaptive": World(People("food100"), 60, _EARLY, adaptive=True),
    "10 objects, d = 2": World(Points(10, 2, _UNSURE), 300, _LATE),
    "20 objects, d = 2, adaptive": World(Points(20, 2, _SURE), 200, _LATE, adaptive=True),
    "30 objects, d = 2, list of 300 questions": World(Points(30, 2, _UNSURE, 300), 120),
}
# Worlds on which no constant of the forecast was tuned.
FRESH = {
    "eggs300 (not used for tuning)": World(People("eggs300"), 46, (5, 10, 20)),
    "points, d = 10 (not used for tuning)": World(Points(50, 10, _SURE), 100),
}

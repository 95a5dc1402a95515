"""Worlds that answer: points with a noise model, or people who have answered already."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.active.questions import Query, Questions
from erkle.checks import number, share, whole
from erkle.datasets import answered, load
from erkle.datasets.catalogue import digest

Ids = NDArray[np.int64]

_N_TEST = 20_000
_TEST_SHARE = 0.2
# Memory in GB that points may take.
_MOST_MEMORY = 8.0


class Scene(NamedTuple):
    """A world drawn by a seed: what may be asked, who answers, and answers that nobody may learn from.

    ``answer(query)`` says whether the head is more like o1 than like o2.
    """

    n_objects: int
    questions: Questions
    test: Ids
    answer: Callable[[Query], bool]


class World(Protocol):
    """What a scene is drawn from."""

    @property
    def words(self) -> str:
        """Its name for people."""
        ...

    def record(self) -> dict[str, Any]:
        """What it is, for the record: ``n_objects`` and all else that decides what is answered."""
        ...

    def scene(self, seed: int) -> Scene:
        """One scene for each seed."""
        ...


@dataclass(frozen=True)
class Points:
    """Points N(0, I); answers are right, or the surer the more the distances differ, or wrong by chance.

    Attributes
    ----------
    n_objects, n_components : int
    slope : float
        Of the logistic curve that an answer's probability follows, by the difference of distances; infinity is right.
    flipped : float
        Share of answers that are turned round besides.
    """

    n_objects: int = 90
    n_components: int = 2
    slope: float = math.inf
    flipped: float = 0.0

    @property
    def words(self) -> str:
        """Its name for people."""
        noise = "" if self.slope == math.inf else f", slope {self.slope:g}"
        noise += f", {self.flipped:.0%} flipped" if self.flipped else ""
        return f"{self.n_objects} points, d = {self.n_components}{noise}"

    def check_memory(self) -> None:
        """Nothing, if a scene fits into memory."""
        # The points, and three for each test question, where distances are computed one by one.
        memory = 8e-9 * (self.n_objects + 3 * _N_TEST) * self.n_components
        if memory > _MOST_MEMORY:
            raise ValueError(
                f"{self.n_objects:,} points in {self.n_components:,} dimensions take up to {memory:,.0f} GB of memory; "
                f"pass fewer of the one or the other, so that it is at most {_MOST_MEMORY:.0f} GB."
            )

    def record(self) -> dict[str, Any]:
        """What it is, for the record."""
        # JSON has no infinity.
        return {"name": "points", **asdict(self), "slope": "inf" if self.slope == math.inf else self.slope}

    def scene(self, seed: int) -> Scene:
        """One scene for each seed."""
        n = whole(self.n_objects, "n_objects", 4, "there must be something to choose")
        d = whole(self.n_components, "n_components", 1, "points need a coordinate")
        if self.slope != math.inf:
            number(self.slope, "slope", "0 is a coin toss, infinity right answers")
        share(self.flipped, "flipped")
        self.check_memory()
        points, test, rng = np.random.default_rng([seed, 2026]).spawn(3)
        X = points.standard_normal((n, d))

        def answer(query: Query) -> bool:
            [(_, near, _)] = answered([query], X, self.slope, rng)
            return bool((near == query[1]) != (rng.random() < self.flipped))

        return Scene(n, Questions(n, times=None), answered(triplets.sample(n, _N_TEST, test), X), answer)


@dataclass(frozen=True)
class People:
    """A data set of people's answers: only questions that were asked can be asked, each answer is given once.

    Attributes
    ----------
    name : str
        As in `erkle.datasets.load`.
    data : path or None
        Folder with local copies.
    """

    name: str
    data: str | PathLike[str] | None = None

    @property
    def words(self) -> str:
        """Its name for people."""
        return self.name

    def record(self) -> dict[str, Any]:
        """What it is, for the record; the answers count, and not the folder they lie in."""
        dataset = load(self.name, self.data)
        return {"name": self.name, "n_objects": len(dataset.names), "answers": digest(dataset.triplets)}

    def scene(self, seed: int) -> Scene:
        """One scene for each seed: a fifth of the questions is kept for the test."""
        dataset = load(self.name, self.data)
        train, test = triplets.split(dataset.triplets, _TEST_SHARE, seed)
        questions = Questions(len(dataset.names), listed=train)
        given: defaultdict[int, list[int]] = defaultdict(list)
        answers = np.random.default_rng([seed, 2026]).permutation(train)
        for key, near in zip(questions.keys(answers).tolist(), answers[:, 1].tolist(), strict=True):
            given[key].append(near)

        def answer(query: Query) -> bool:
            """What the next of those who were asked this has said."""
            return given[questions.key(query)].pop() == query[1]

        return Scene(len(dataset.names), questions, test, answer)

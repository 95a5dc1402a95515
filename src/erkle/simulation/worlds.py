"""Worlds that answer questions: points with an answer model, or a data set of people's answers."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.active.questions import Query, Questions
from erkle.answer_models import AnswerModel
from erkle.checks import whole
from erkle.datasets import answered, load
from erkle.datasets.catalogue import digest
from erkle.datasets.simulated import RIGHT, check_answer_model
from erkle.features.features import Vectors
from erkle.features.reading import digest as digest_of_features

Ids = NDArray[np.int64]

# Test answers about points.
_N_TEST = 20_000
# Share of the questions of a data set that are kept for the test.
_TEST_SHARE = 0.2
# Largest memory of points, in GB.
_MOST_MEMORY = 8.0


class Instance(NamedTuple):
    """A world drawn with one seed: the questions that may be asked, their answers, and test answers.

    ``answer(query)`` returns whether the anchor is more like the first candidate than like the second. ``features`` is
    what the learner knows about the objects before the first answer, as for `ERKLE`.
    """

    n_objects: int
    questions: Questions
    test: Ids
    answer: Callable[[Query], bool]
    features: Vectors | None = None


class World(Protocol):
    """A source of answers; each seed draws an `Instance`."""

    @property
    def title(self) -> str:
        """A short description, for headings."""
        ...

    def record(self) -> dict[str, Any]:
        """``n_objects`` and everything else that determines the answers, as JSON can hold it."""
        ...

    def instance(self, seed: int) -> Instance:
        """The instance of this seed."""
        ...


@dataclass(frozen=True)
class Points:
    """Points N(0, I), about which participants answer according to an answer model.

    Attributes
    ----------
    n_objects, n_components : int
    answer_model : AnswerModel
        As in `erkle.datasets.answered`. With an infinite sensitivity, answers are wrong only by slips.
    """

    n_objects: int = 90
    n_components: int = 2
    answer_model: AnswerModel = RIGHT

    @property
    def title(self) -> str:
        """A short description, for headings."""
        sensitivity, power, lapse = self.answer_model
        noise = "" if sensitivity == math.inf else f", sensitivity {sensitivity:g}, power {power:g}"
        noise += f", {100 * lapse:g} % slips" if lapse else ""
        return f"{self.n_objects} points, d = {self.n_components}{noise}"

    def check_memory(self) -> None:
        """Raise an error if an instance does not fit into memory."""
        # The points, and copies of three of them per test question.
        memory = 8e-9 * (self.n_objects + 3 * _N_TEST) * self.n_components
        if memory > _MOST_MEMORY:
            raise ValueError(
                f"{self.n_objects:,} points in {self.n_components:,} dimensions take up to {memory:,.0f} GB of memory; "
                f"pass fewer points or fewer dimensions: at most {_MOST_MEMORY:.0f} GB."
            )

    def record(self) -> dict[str, Any]:
        """All parameters, as JSON can hold them."""
        numbers = {"n_objects": self.n_objects, "n_components": self.n_components, **self.answer_model._asdict()}
        # JSON has no infinity.
        return {"name": "points", **{name: "inf" if value == math.inf else value for name, value in numbers.items()}}

    def instance(self, seed: int) -> Instance:
        """The instance of this seed."""
        n = whole(self.n_objects, "n_objects", 4, "three objects leave no choice of questions")
        d = whole(self.n_components, "n_components", 1, "points need a coordinate")
        check_answer_model(self.answer_model)
        self.check_memory()
        points, test, rng = np.random.default_rng([seed, 2026]).spawn(3)
        X = points.standard_normal((n, d))

        def answer(query: Query) -> bool:
            [(_, near, _)] = answered([query], X, self.answer_model, rng)
            return bool(near == query[1])

        return Instance(n, Questions(n, times=None), answered(triplets.sample(n, _N_TEST, test), X), answer)


@dataclass(frozen=True)
class People:
    """A data set of people's answers. Only the questions in it can be asked, and each answer is given once.

    Attributes
    ----------
    name : str
        Name of the data set, as in `erkle.datasets.load`.
    data : path or None
        Folder with local copies.
    features : mapping from names to (n_objects, d) arrays, or None
        What the learner knows about the objects before the first answer.
    """

    name: str
    data: str | PathLike[str] | None = None
    features: Mapping[str, NDArray[np.float64]] | None = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        """A short description, for headings."""
        return f"{self.name} with the features {' and '.join(self.features)}" if self.features else self.name

    def record(self) -> dict[str, Any]:
        """The name, the number of objects, and digests of answers and features; the folder does not matter."""
        dataset = load(self.name, self.data)
        features = digest_of_features(self.features) if self.features else None
        answers = digest(dataset.triplets)
        return {"name": self.name, "n_objects": len(dataset.names), "answers": answers, "features": features}

    def instance(self, seed: int) -> Instance:
        """The instance of this seed; a fifth of the questions are kept for the test."""
        dataset = load(self.name, self.data)
        train, test = triplets.split(dataset.triplets, _TEST_SHARE, seed)
        questions = Questions(len(dataset.names), listed=train)
        given: defaultdict[int, list[int]] = defaultdict(list)
        answers = np.random.default_rng([seed, 2026]).permutation(train)
        for key, near in zip(questions.keys(answers).tolist(), answers[:, 1].tolist(), strict=True):
            given[key].append(near)

        def answer(query: Query) -> bool:
            """The next answer to this question."""
            return given[questions.key(query)].pop() == query[1]

        return Instance(len(dataset.names), questions, test, answer, self.features)

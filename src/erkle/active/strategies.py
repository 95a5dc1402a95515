"""Strategies: small values that choose what to ask next.

All but `Random` choose the head first: one that has been asked about least. Then they draw some pairs of candidates for
it, and differ in how they score a pair. Scoring all questions about all heads would work badly: the highest scores
belong to a few questions that nobody can answer, and they would be asked again and again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from erkle.active.information import head_information, information, variances
from erkle.active.knowledge import Knowledge, Tally, known_by
from erkle.active.questions import Questions, check_questions
from erkle.checks import random_generator, share, whole

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

# Pairs that `Adaptive` looks at, at least.
_FEWEST = 20


class Strategy(ABC):
    """Chooses questions to ask."""

    def choose(
        self,
        learner: Knowledge,
        n_queries: int,
        rng: np.random.Generator | int | None = None,
        pending: ArrayLike = (),
        questions: Questions | None = None,
    ) -> Ids:
        """Questions to ask now, rows (head, o1, o2): no two alike, and fewer where no more are left.

        Parameters
        ----------
        learner : ERKLE or other Knowledge
            What is known. A learner that has learned nothing will do, and is not changed.
        n_queries : int
        rng : Generator, int or None
            The source of randomness.
        pending : (m, 3) array of integers
            Questions that were asked and are not answered yet. They are not chosen again and count as answered, so
            that many participants at once get different questions.
        questions : Questions, optional
            What may be asked; by default everything, as often as you like.
        """
        generator = random_generator(rng, "rng")
        knowledge = known_by(learner)
        n_objects = knowledge.n_objects_
        whole(n_queries, "n_queries", 0, "one cannot ask fewer questions")
        among = Questions(n_objects, None) if questions is None else check_questions(questions)
        if among.n_objects != n_objects:
            raise ValueError(
                f"The questions are about {among.n_objects} objects, the learner about {n_objects}; "
                f"pass Questions({n_objects})."
            )
        tally = Tally(knowledge, among, pending)
        found: list[Ids] = []
        queries = self._queries(knowledge, tally, among, generator)
        while len(found) < n_queries and (query := next(queries, None)) is not None:
            tally.add(query[None])
            found.append(query)
        return np.array(found, np.int64).reshape(-1, 3)

    @abstractmethod
    def _queries(self, knowledge: Knowledge, tally: Tally, among: Questions, rng: np.random.Generator) -> Iterator[Ids]:
        """Yield questions one by one; each is added to the tally before the next is asked for."""


@dataclass(frozen=True)
class Random(Strategy):
    """Any question, all with the same probability."""

    def _queries(self, knowledge: Knowledge, tally: Tally, among: Questions, rng: np.random.Generator) -> Iterator[Ids]:
        left = among.left(tally.out)
        while left.any():
            head = int(np.searchsorted(np.cumsum(left), rng.integers(left.sum()), side="right"))
            [pair] = among.propose(head, 1, rng, tally.out)
            left[head] -= 1
            yield np.insert(pair, 0, head)


@dataclass(frozen=True)
class _ByHead(Strategy):
    """The head that was asked about least, and of some pairs for it the one with the highest score."""

    n_candidates: int = 100

    def _queries(self, knowledge: Knowledge, tally: Tally, among: Questions, rng: np.random.Generator) -> Iterator[Ids]:
        n_pairs = self._n_pairs(knowledge)
        left = among.left(tally.out)
        while (head := tally.least_asked(left > 0, rng)) is not None:
            Q = np.insert(among.propose(head, n_pairs, rng, tally.out), 0, head, axis=1)
            left[head] -= 1
            # Of equal scores the first one wins: pairs come in random order.
            yield Q[int(np.argmax(self._scores(knowledge, Q, tally, rng)))]

    def _n_pairs(self, knowledge: Knowledge) -> int:
        return whole(self.n_candidates, "n_candidates", 1, "there is nothing to choose from")

    @abstractmethod
    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        """What each question is worth."""


@dataclass(frozen=True)
class Balanced(_ByHead):
    """The pair that has been asked about least with the head; of equal ones, least with any head."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        return tally.rareness(int(Q[0, 0]), Q[:, 1:]).astype(np.float64)


@dataclass(frozen=True)
class Uncertainty(_ByHead):
    """The pair whose distances from the head are most nearly equal."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        return np.asarray(-np.abs(knowledge.decision_function(Q)))


@dataclass(frozen=True)
class ExpectedChange(_ByHead):
    """The pair whose answer is expected to move the map most."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        logits = knowledge.decision_function(Q) / knowledge.temperature_
        head, o1, o2 = _places(knowledge, Q)
        length = sum(((end - start) ** 2).sum(axis=1) for start, end in ((o1, o2), (o1, head), (head, o2)))
        # The logarithm of p (1 - p) |gradient|: where the model is sure, the product itself would underflow to 0.
        both = scipy.special.log_expit(logits) + scipy.special.log_expit(-logits)
        return np.asarray(both + 0.5 * np.log(np.maximum(length, 1e-300)))


@dataclass(frozen=True)
class InformationGain(_ByHead):
    """The pair whose answer tells most about the place of the head (Tamuz et al. 2011).

    The head is taken to be in the place of one of the objects, and nobody knows of which. For each pair it goes
    through all answers about the head and all places. That is slow; it is here for comparison. With
    ``n_candidates=None`` it looks at all pairs. It needs a learner that keeps its answers: not the exact kernel.
    """

    n_candidates: int | None = 300  # type: ignore[assignment]

    def _n_pairs(self, knowledge: Knowledge) -> int:
        return knowledge.n_objects_**2 if self.n_candidates is None else super()._n_pairs(knowledge)

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        places = knowledge.coordinates(np.arange(knowledge.n_objects_))
        history = knowledge.history_
        if history is None:
            raise ValueError("InformationGain needs all answers, and this learner keeps none; pass kernel=LowRank().")
        about = history[history[:, 0] == Q[0, 0]]
        return head_information(places, about[:, 1:], Q[:, 1:], knowledge.temperature_)


@dataclass(frozen=True)
class Adaptive(_ByHead):
    """The default: of the pairs that were asked about least with the head, the one whose answer tells most.

    Attributes
    ----------
    n_candidates : int
        Pairs to look at when the learner is sure of everything. When it is less sure it looks at fewer, at least 20:
        the map may be wrong, and the highest of many scores would belong to an odd question. About a fifth of the
        pairs are scored: those asked about least.
    explore : float
        Share of questions whose pair is drawn at random, because the map may be wrong.
    """

    n_candidates: int = 300
    explore: float = 0.05

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        scores = np.full(len(Q), -1.0)
        if rng.random() >= share(self.explore, "explore"):
            logits = knowledge.decision_function(Q) / knowledge.temperature_
            # How sure the learner is of random questions, from 0 to 1.
            sure = float(np.mean(np.tanh(np.abs(logits) / 2.0)))
            some = Q[: max(_FEWEST, round(len(Q) * sure**3))]
            rareness = tally.rareness(int(some[0, 0]), some[:, 1:])
            scored = np.argsort(-rareness, kind="stable")[: len(some) // 5 + 1]
            scores[scored] = _information(knowledge, Q[scored], logits[scored], tally)
        return scores


STRATEGIES: dict[str, Strategy] = {
    "adaptive": Adaptive(),
    "random": Random(),
    "balanced": Balanced(),
    "uncertainty": Uncertainty(),
    "change": ExpectedChange(),
    "information": InformationGain(),
}


def _information(knowledge: Knowledge, Q: Ids, logits: Floats, tally: Tally) -> Floats:
    """Bits that each answer, with this logit, would tell about the places of its three objects."""
    head, o1, o2 = _places(knowledge, Q)
    # People compare distances, not squares: the same difference of squares counts for less between far objects.
    reach = np.sqrt(((head - o1) ** 2).sum(axis=1)) + np.sqrt(((head - o2) ** 2).sum(axis=1))
    scale = reach.mean() / np.maximum(reach, 0.05 * reach.mean() + 1e-300)
    axes = np.concatenate([o1, o2]).var(axis=0)
    # Pending answers will settle some of the present doubt. That will move the logits, in a direction nobody knows.
    now, then = (variances(head, o1, o2, axes, asked[Q]) for asked in (knowledge.n_appearances_, tally.appearances))
    to_logits = (scale / knowledge.temperature_) ** 2
    return information(scale * logits, to_logits * then, to_logits * (now - then))


def _places(knowledge: Knowledge, Q: Ids) -> Floats:
    """Coordinates, (3, k, r), of heads, first and second candidates."""
    return np.asarray(knowledge.coordinates(Q.T.ravel())).reshape(3, len(Q), -1)

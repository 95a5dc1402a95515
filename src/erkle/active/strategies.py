"""Strategies: small values that choose what to ask next.

All but `Random` take heads in turn, those that have been asked about least first, draw some pairs for each, and differ
in which pair they like best. The best of all questions about all heads would be a bad choice: it asks again and again
about the few things that nobody can tell.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from erkle.active.information import head_information, information, variances
from erkle.active.knowledge import Knowledge, known_by
from erkle.active.questions import Questions, check_questions
from erkle.active.tally import Tally
from erkle.checks import random_generator, share, whole

__all__ = [
    "STRATEGIES",
    "Adaptive",
    "Balanced",
    "ExpectedChange",
    "InformationGain",
    "Random",
    "Strategy",
    "Uncertainty",
]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

_FEWEST = 20


class Strategy(ABC):
    """What chooses questions."""

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
            Draws what is left to chance.
        pending : (m, 3) array of integers
            Questions that have been asked and not been answered yet: they are not chosen again, and count as if they
            were answered, so that many people who are asked at once get different questions.
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
        """Questions in turn; each is in the tally before the next is wanted."""


@dataclass(frozen=True)
class Random(Strategy):
    """Any question, all alike."""

    def _queries(self, knowledge: Knowledge, tally: Tally, among: Questions, rng: np.random.Generator) -> Iterator[Ids]:
        left = among.left(tally.out)
        while left.any():
            head = int(np.searchsorted(np.cumsum(left), rng.integers(left.sum()), side="right"))
            [pair] = among.propose(head, 1, rng, tally.out)
            left[head] -= 1
            yield np.insert(pair, 0, head)


@dataclass(frozen=True)
class _ByHead(Strategy):
    """The least-asked head, and of some pairs for it the one with the highest score."""

    n_candidates: int = 100

    def _queries(self, knowledge: Knowledge, tally: Tally, among: Questions, rng: np.random.Generator) -> Iterator[Ids]:
        n_pairs = self._n_pairs(knowledge)
        left = among.left(tally.out)
        while (head := tally.least_asked(left > 0, rng)) is not None:
            Q = np.insert(among.propose(head, n_pairs, rng, tally.out), 0, head, axis=1)
            left[head] -= 1
            # The first of equals: candidates come in a random order.
            yield Q[int(np.argmax(self._scores(knowledge, Q, tally, rng)))]

    def _n_pairs(self, knowledge: Knowledge) -> int:
        return whole(self.n_candidates, "n_candidates", 1, "there is nothing to choose from")

    @abstractmethod
    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        """What each question is worth."""


@dataclass(frozen=True)
class Balanced(_ByHead):
    """The pair that has been asked about least: with the head, and if that does not tell them apart, at all."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        return tally.rareness(int(Q[0, 0]), Q[:, 1:]).astype(np.float64)


@dataclass(frozen=True)
class Uncertainty(_ByHead):
    """The pair whose distances from the head are most nearly equal."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        return np.asarray(-np.abs(knowledge.decision_function(Q)))


@dataclass(frozen=True)
class ExpectedChange(_ByHead):
    """The pair whose answer, whichever it is, moves the map most."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        logits = knowledge.decision_function(Q) / knowledge.temperature_
        head, o1, o2 = _places(knowledge, Q)
        length = sum(((end - start) ** 2).sum(axis=1) for start, end in ((o1, o2), (o1, head), (head, o2)))
        # The logarithm of p (1 - p) |gradient|, for where the model is sure a product would be 0.
        both = scipy.special.log_expit(logits) + scipy.special.log_expit(-logits)
        return np.asarray(both + 0.5 * np.log(np.maximum(length, 1e-300)))


@dataclass(frozen=True)
class InformationGain(_ByHead):
    """The pair that tells most of where the head is, which may be where any object is (Tamuz et al. 2011).

    It goes through all answers about the head, and through all places for each candidate: slow, and here to compare
    with. ``n_candidates`` of None looks at all pairs. The exact kernel, which keeps no answers, cannot do it.
    """

    n_candidates: int | None = 300  # type: ignore[assignment]

    def _n_pairs(self, knowledge: Knowledge) -> int:
        return knowledge.n_objects_**2 if self.n_candidates is None else super()._n_pairs(knowledge)

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        places = knowledge.coordinates(np.arange(knowledge.n_objects_))
        history = knowledge.kept_answers()
        if history is None:
            raise ValueError("InformationGain needs all answers, and this learner keeps none; pass kernel=LowRank().")
        about = history[history[:, 0] == Q[0, 0]]
        return head_information(places, about[:, 1:], Q[:, 1:], knowledge.temperature_)


@dataclass(frozen=True)
class Adaptive(_ByHead):
    """The default: of pairs that were not asked about much with the head, the one that tells most of all three objects.

    Attributes
    ----------
    n_candidates : int
        Pairs to look at when the learner is sure of everything; while it is not, the map may be wrong, or people
        may not agree, and the most telling of many questions would be the strangest. About a fifth of them is
        scored, those asked about least with the head and at all.
    explore : float
        Share of questions whose pair is drawn blindly, because the map may be wrong.
    """

    n_candidates: int = 300
    explore: float = 0.05

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        scores = np.full(len(Q), -1.0)
        if rng.random() >= share(self.explore, "explore"):
            logits = knowledge.decision_function(Q) / knowledge.temperature_
            # How sure the learner is of questions drawn at random, from 0 to 1.
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
    """Bits that each answer, of this logit, would tell of the places of its three objects."""
    head, o1, o2 = _places(knowledge, Q)
    # People compare distances rather than squares: a difference of squares counts for less between far things.
    reach = np.sqrt(((head - o1) ** 2).sum(axis=1)) + np.sqrt(((head - o2) ** 2).sum(axis=1))
    scale = reach.mean() / np.maximum(reach, 0.05 * reach.mean() + 1e-300)
    axes = np.concatenate([o1, o2]).var(axis=0)
    # Of what is in doubt now the pending answers will settle some, which moves the logits: nobody knows where to.
    now, then = (variances(head, o1, o2, axes, asked[Q]) for asked in (knowledge.n_appearances_, tally.appearances))
    to_logits = (scale / knowledge.temperature_) ** 2
    return information(scale * logits, to_logits * then, to_logits * (now - then))


def _places(knowledge: Knowledge, Q: Ids) -> Floats:
    """Coordinates, (3, k, r), of heads, first and second candidates."""
    return np.asarray(knowledge.coordinates(Q.T.ravel())).reshape(3, len(Q), -1)

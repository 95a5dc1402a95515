"""Strategies choose the next question.

All strategies except `Random` first choose an anchor among those that have been asked about least. Then they draw
random pairs of candidates for this anchor and choose the pair with the highest score. They differ only in the score.

The anchor is not chosen by score: the highest scores belong to a few questions that nobody can answer, and a strategy
that compared all anchors would ask these questions again and again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from erkle.active.information import anchor_information, information, logit_gradients, variances
from erkle.active.knowledge import Knowledge, Tally, knowledge_of
from erkle.active.questions import Questions, check_questions
from erkle.checks import random_generator, share, whole

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

# Smallest number of pairs that `Adaptive` considers.
_FEWEST = 20


class Strategy(ABC):
    """Chooses questions to ask."""

    def choose(
        self,
        learner: Knowledge,
        n_queries: int,
        random_state: np.random.Generator | int | None = None,
        pending: ArrayLike = (),
        questions: Questions | None = None,
    ) -> Ids:
        """Choose up to ``n_queries`` different questions, as rows (anchor, first, second).

        There are fewer rows if not enough questions are left.

        Parameters
        ----------
        learner : ERKLE or other Knowledge
            What is known so far. A new learner is accepted as well. The learner is not changed.
        n_queries : int
        random_state : Generator, int or None
        pending : (m, 3) array of integers
            Questions that have been asked but not answered yet. They are not chosen again. They count as answered, so
            that participants who answer at the same time get different questions.
        questions : Questions, optional
            The questions that may be asked; by default all questions, any number of times.
        """
        rng = random_generator(random_state, "random_state")
        knowledge = knowledge_of(learner)
        n_objects = knowledge.n_objects_
        whole(n_queries, "n_queries", 0, "a number of questions cannot be negative")
        allowed = Questions(n_objects, None) if questions is None else check_questions(questions)
        if allowed.n_objects != n_objects:
            raise ValueError(
                f"The questions are about {allowed.n_objects} objects, but the learner has {n_objects}; "
                f"pass Questions({n_objects})."
            )
        tally = Tally(knowledge, allowed, pending)
        found: list[Ids] = []
        queries = self._queries(knowledge, tally, allowed, rng)
        while len(found) < n_queries and (query := next(queries, None)) is not None:
            tally.add(query[None])
            found.append(query)
        return np.array(found, np.int64).reshape(-1, 3)

    @abstractmethod
    def _queries(
        self, knowledge: Knowledge, tally: Tally, questions: Questions, rng: np.random.Generator
    ) -> Iterator[Ids]:
        """Yield questions one by one; the caller adds each question to the tally before it takes the next one."""


@dataclass(frozen=True)
class Random(Strategy):
    """Choose any question, all with the same probability."""

    def _queries(
        self, knowledge: Knowledge, tally: Tally, questions: Questions, rng: np.random.Generator
    ) -> Iterator[Ids]:
        remaining = questions.remaining(tally.pending_keys)
        while remaining.any():
            anchor = int(np.searchsorted(np.cumsum(remaining), rng.integers(remaining.sum()), side="right"))
            [pair] = questions.propose(anchor, 1, rng, tally.pending_keys)
            remaining[anchor] -= 1
            yield np.insert(pair, 0, anchor)


@dataclass(frozen=True)
class _ByAnchor(Strategy):
    """Choose the anchor that was asked about least, and the pair with the highest score among random pairs."""

    n_candidates: int = 100

    def _queries(
        self, knowledge: Knowledge, tally: Tally, questions: Questions, rng: np.random.Generator
    ) -> Iterator[Ids]:
        n_pairs = self._n_pairs(knowledge)
        remaining = questions.remaining(tally.pending_keys)
        while (anchor := tally.least_asked(remaining > 0, rng)) is not None:
            Q = np.insert(questions.propose(anchor, n_pairs, rng, tally.pending_keys), 0, anchor, axis=1)
            remaining[anchor] -= 1
            # Pairs are in random order, so ties are broken at random.
            yield Q[int(np.argmax(self._scores(knowledge, Q, tally, rng)))]

    def _n_pairs(self, knowledge: Knowledge) -> int:
        return whole(self.n_candidates, "n_candidates", 1, "there must be a pair to choose")

    @abstractmethod
    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        """The score of each question; all questions have the same anchor."""


@dataclass(frozen=True)
class Balanced(_ByAnchor):
    """Choose the pair whose objects were asked about least with the anchor.

    If several pairs tie, choose the pair whose objects were asked about least overall.
    """

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        return tally.rarity(int(Q[0, 0]), Q[:, 1:]).astype(np.float64)


@dataclass(frozen=True)
class Uncertainty(_ByAnchor):
    """Choose the pair whose two distances from the anchor differ least."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        return np.asarray(-np.abs(knowledge.decision_function(Q)))


@dataclass(frozen=True)
class ExpectedChange(_ByAnchor):
    """Choose the pair whose answer is expected to change the map most."""

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        near, far = knowledge.distances(Q).T
        logits = knowledge.answer_model_.logit(near, far)
        anchor, first, second = _positions(knowledge, Q)
        gradients = logit_gradients(anchor, first, second, *knowledge.answer_model_.rises(near, far))
        length = (gradients**2).sum(axis=(0, 2))
        # The logarithm of p (1 - p) |gradient|, because the product underflows to 0 where the model is certain.
        both = scipy.special.log_expit(logits) + scipy.special.log_expit(-logits)
        return np.asarray(both + 0.5 * np.log(np.maximum(length, 1e-300)))


@dataclass(frozen=True)
class InformationGain(_ByAnchor):
    """Choose the pair whose answer is most informative about the position of the anchor (Tamuz et al. 2011).

    The anchor is assumed to have the position of one of the objects, and the answers so far give each position a
    probability. For each pair, the strategy goes through all answers about the anchor and all positions. It is slow,
    and included for comparison. With ``n_candidates=None`` it scores all pairs. It needs a learner that keeps its
    answers, so it does not work with a `Dense` kernel.
    """

    n_candidates: int | None = 300  # type: ignore[assignment]

    def _n_pairs(self, knowledge: Knowledge) -> int:
        return knowledge.n_objects_**2 if self.n_candidates is None else super()._n_pairs(knowledge)

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        positions = knowledge.coordinates(np.arange(knowledge.n_objects_))
        history = knowledge.history_
        if history is None:
            raise ValueError("InformationGain needs all answers, but this learner keeps none; pass kernel=LowRank().")
        about_anchor = history[history[:, 0] == Q[0, 0]]
        return anchor_information(positions, about_anchor[:, 1:], Q[:, 1:], knowledge.answer_model_)


@dataclass(frozen=True)
class Adaptive(_ByAnchor):
    """The default: among the pairs that were asked about least with the anchor, choose the most informative one.

    Attributes
    ----------
    n_candidates : int
        Number of pairs to consider if the learner is certain of every answer. The less certain the learner is, the
        fewer pairs the strategy considers, but at least 20: an uncertain map gives some pairs scores that are too high,
        and of many pairs one of these would win. The strategy scores only about 20 % of the considered pairs: those
        that were asked about least.
    explore : float
        Share of questions with a random pair. They are a safeguard against a wrong map.
    """

    n_candidates: int = 300
    explore: float = 0.05

    def _scores(self, knowledge: Knowledge, Q: Ids, tally: Tally, rng: np.random.Generator) -> Floats:
        scores = np.full(len(Q), -1.0)
        if rng.random() >= share(self.explore, "explore"):
            distances = knowledge.distances(Q)
            logits = knowledge.answer_model_.logit(*distances.T)
            # The mean certainty about random questions, from 0 to 1.
            certainty = float(np.mean(np.tanh(np.abs(logits) / 2.0)))
            considered = Q[: max(_FEWEST, round(len(Q) * certainty**3))]
            rarity = tally.rarity(int(considered[0, 0]), considered[:, 1:])
            scored = np.argsort(-rarity, kind="stable")[: len(considered) // 5 + 1]
            scores[scored] = _information(knowledge, Q[scored], distances[scored], logits[scored], tally)
        return scores


STRATEGIES: dict[str, Strategy] = {
    "adaptive": Adaptive(),
    "random": Random(),
    "balanced": Balanced(),
    "uncertainty": Uncertainty(),
    "change": ExpectedChange(),
    "information": InformationGain(),
}


def _information(knowledge: Knowledge, Q: Ids, distances: Floats, logits: Floats, tally: Tally) -> Floats:
    """Expected information of each answer about the positions of its three objects, in bits.

    Slips are left out: they reduce the information of all answers by about the same factor.
    """
    anchor, first, second = _positions(knowledge, Q)
    gradients = logit_gradients(anchor, first, second, *knowledge.answer_model_.rises(*distances.T))
    axes = np.concatenate([first, second]).var(axis=0)
    # Pending answers will reduce the variance of the logits from `now` to `then`. They will also move the logits by a
    # random amount with variance `now - then`.
    now, then = (variances(gradients, axes, asked[Q]) for asked in (knowledge.n_appearances_, tally.appearances))
    return information(logits, then, now - then)


def _positions(knowledge: Knowledge, Q: Ids) -> Floats:
    """Coordinates of the anchors, the first and the second candidates, (3, k, r)."""
    return np.asarray(knowledge.coordinates(Q.T.ravel())).reshape(3, len(Q), -1)

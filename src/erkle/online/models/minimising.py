"""Minimising the objective of a fit: few answers in one piece of compiled code, many answers in parts.

Fits of few answers run side by side, a thread each. A fit of many answers uses all threads itself, or a cluster, and
the fits follow one another, so that only one of them needs memory.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from erkle._compiled.fitting import (
    Penalty,
    Prior,
    add_answers,
    begin_sum,
    coordinates,
    end_sum,
    minimise,
    shifts_of,
)
from erkle._compiled.lbfgs import advance, begin
from erkle.answer_models import AnswerModel
from erkle.online.models.base import Answers
from erkle.online.models.fit_progress import FitProgress, tell
from erkle.summing import Held, Sums, are_many, held
from erkle.threads import Flag, side_by_side

Floats = NDArray[np.float64]
Result = TypeVar("Result")


class Terms(NamedTuple):
    """What the objective of a fit consists of besides the answers; ``lapses`` has one for each answer."""

    model: AnswerModel
    lapses: Floats
    penalty: Penalty
    prior: Prior


class Minimiser(Protocol):
    """Minimises objectives of the same answers."""

    def lower(self, terms: Terms, starts: list[Floats], iterations: int, tol: float, stop: Flag) -> list[float]:
        """Move each start to a lower objective, and return the objectives there.

        Each stops as `advance` says, or if another thread sets ``stop``, and is then useless.
        """
        ...


class InOnePiece(NamedTuple):
    """Sorted answers are near each other in memory, and their order does not change the result."""

    T: NDArray[np.int32]

    def lower(self, terms: Terms, starts: list[Floats], iterations: int, tol: float, stop: Flag) -> list[float]:
        """See `Minimiser.lower`."""
        model, lapses, penalty, prior = terms
        return [minimise(model, self.T, lapses, penalty, prior, start, iterations, tol, stop) for start in starts]


class InParts(NamedTuple):
    """Answers in parts, which are held where their sums are computed; and which fit of these answers is next."""

    held: Held
    progress: FitProgress

    def lower(self, terms: Terms, starts: list[Floats], iterations: int, tol: float, stop: Flag) -> list[float]:
        """See `Minimiser.lower`."""
        # Without participants, all answers have the same lapse.
        first = float(terms.lapses[0])
        sums = self.held.given(first if (terms.lapses == first).all() else terms.lapses)
        progress = self.progress._replace(n_iterations=len(starts) * iterations)
        return [
            _lowered(sums, terms, start, iterations, tol, progress._replace(iteration=1 + i * iterations))
            for i, start in enumerate(starts)
        ]


def _lowered(sums: Sums, terms: Terms, X: Floats, iterations: int, tol: float, progress: FitProgress) -> float:
    """The same as `minimise`."""
    descent = begin(X, iterations)
    going_on = True
    while going_on:
        tell(progress._replace(iteration=progress.iteration + max(0, int(descent.numbers["n_done"][0]))))
        going_on = advance(descent, _objective(sums, terms, descent.next_at, descent.next_G), tol)
    X[:] = descent.at
    return float(descent.numbers["lowest"][0])


def _objective(sums: Sums, terms: Terms, at: Floats, G: Floats) -> float:
    """The objective at the variables ``at``; write its gradient to G."""
    model, _, penalty, prior = terms
    X = coordinates(prior, at)
    ridges = begin_sum(penalty, prior, X, G)
    losses, gradient = sums.sum(_add_answers, G.shape, model, penalty, X, shifts_of(penalty, X))
    G += gradient
    return float(end_sum(penalty, prior, at, ridges + losses, G))


def _add_answers(
    T: NDArray[np.int32], lapses: Floats, total: float, G: Floats, model: AnswerModel, penalty: Penalty, *at: Floats
) -> float:
    """The compiled function, as one in Python, whose name can be sent to other processes."""
    return float(add_answers(T, lapses, total, G, model, penalty, *at))


def fit_all(answers: Answers, fits: Sequence[Callable[[Minimiser, Answers, Flag], Result]]) -> list[Result]:
    """Compute fits of the same answers, in the order of the fits."""
    if are_many(answers.T):
        parts = held(answers.T)
        progress = FitProgress(len(answers.T), fit=1, n_fits=len(fits), iteration=1, n_iterations=1)
        return [
            fit(InParts(parts, progress._replace(fit=number)), answers, np.zeros(1, np.bool_))
            for number, fit in enumerate(fits, 1)
        ]
    order = np.lexsort((answers.lapses, *answers.T.T[::-1]))
    answers = answers._replace(T=answers.T[order], lapses=answers.lapses[order])
    return side_by_side(partial(fit, InOnePiece(answers.T), answers) for fit in fits)

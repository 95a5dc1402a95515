"""Minimising the objective of a fit: few answers in one piece of compiled code, many answers in parts.

Fits of few answers run side by side, a thread each. A fit of many answers uses all threads itself, or a cluster, and the
fits follow one another, so that only one of them needs memory.
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
from erkle.summing import IN_PARTS_FROM, Held, Sums, in_groups, place
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
    """Answers in parts, which are held where their sums are computed."""

    held: Held

    def lower(self, terms: Terms, starts: list[Floats], iterations: int, tol: float, stop: Flag) -> list[float]:
        """See `Minimiser.lower`."""
        # Without participants, all answers have the same lapse.
        first = float(terms.lapses[0])
        sums = self.held.given(first if (terms.lapses == first).all() else terms.lapses)
        return [_lowered(sums, terms, start, iterations, tol) for start in starts]


def _lowered(sums: Sums, terms: Terms, X: Floats, iterations: int, tol: float) -> float:
    """The same as `minimise`."""
    descent = begin(X, iterations)
    going_on = True
    while going_on:
        going_on = advance(descent, _objective(sums, terms, descent.next_at, descent.next_G), tol)
    X[:] = descent.at
    return float(descent.numbers["lowest"][0])


def _objective(sums: Sums, terms: Terms, at: Floats, G: Floats) -> float:
    """The objective at the variables ``at``; write its gradient to G."""
    model, _, penalty, prior = terms
    X = coordinates(prior, at)
    ridges = begin_sum(penalty, prior, X, G)
    losses, gradient = sums.sum(add_answers, G.shape, model, penalty, X, shifts_of(penalty, X))
    G += gradient
    return float(end_sum(penalty, prior, at, ridges + losses, G))


def fit_all(
    answers: Answers, fits: Sequence[Callable[[Minimiser, Answers, Flag], Result]]
) -> list[Result]:
    """Compute fits of the same answers, in the order of the fits."""
    if len(answers.T) < IN_PARTS_FROM:
        order = np.lexsort((answers.lapses, *answers.T.T[::-1]))
        answers = answers._replace(T=answers.T[order], lapses=answers.lapses[order])
        return side_by_side(partial(fit, InOnePiece(answers.T), answers) for fit in fits)
    minimiser = InParts(place().hold(in_groups(answers.T)))
    return [fit(minimiser, answers, np.zeros(1, np.bool_)) for fit in fits]

"""Settings of fits: what a candidate of `Refitting` is, which settings are tried next, and all tuned constants."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.online.selection.candidates import Candidates, beside

Floats = NDArray[np.float64]


class Fit(NamedTuple):
    """The setting of a candidate: coordinates under a ridge, and shifts under another; 0 is for none.

    A shift makes an object farther from all others alike: how popular it is. Where answers are few for the
    dimensions of the data that is most of what can be known.
    """

    rank: int
    ridge: float
    shift: float = 0.0


class RefittingTuning(NamedTuple):
    """Constants of `Refitting`.

    Where a field names no benchmark, no run that set its value is on record. `python -m benchmarks.people moments`
    measures what a change does to the errors along a stream, and to CPU time.
    """

    # Ranks that are tried.
    ranks: tuple[int, ...] = (1, 2, 3, 5, 10, 25, 50, 100)
    # Ridges that are tried.
    ridges: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    # The ridge on shifts, where there are any. With 1, chosen questions about eggs300 did 6 % worse than random ones.
    shift_ridge: float = 0.3
    # Exploratory settings: few dimensions, and hardly a ridge. Changing ridge or rank one by one may not lead there;
    # without them errors were three times as large where the learner chose its questions.
    free: tuple[Fit, ...] = (Fit(2, 0.3), Fit(3, 0.3), Fit(5, 0.3), Fit(10, 0.3))
    # Candidates at the beginning.
    start: tuple[Fit, ...] = (Fit(25, 4.0), Fit(25, 2.0), Fit(25, 8.0), Fit(25, 4.0, shift_ridge), Fit(2, 1.0), *free)
    # Candidates at once.
    most: int = 9
    # Candidates at once from ``settled_at`` on, when most of the choice is made and fits cost most.
    most_settled: int = 5
    # Answers per object from which ``most_settled`` holds. At 20 a map of one dimension stayed alone on zappos85.
    settled_at: float = 40
    # Nats of discounted loss behind the leader at which a candidate is eliminated.
    elimination_margin: float = 8.0
    # Answers at the first review; of many objects, one answer for so many objects as the next field says.
    first_review: int = 10
    # Objects for each answer before the first review.
    first_review_objects: int = 20
    # By what share the number of answers grows between two fits.
    review_share: float = 0.05
    # Answers from which the share grows, with their square root; an object counts as ``object_cost`` answers.
    review_size: float = 10_000.0
    # Answers that an object counts as, for an iteration touches every answer and every object.
    object_cost: float = 10.0
    # By how much the share grows with the number of objects per answer: while answers are few, fits cost more of them.
    review_few: float = 1.5
    # Iterations of a fit on the way, up to ``exact_at`` answers per object.
    brief_iterations: int = 8
    # Iterations from then on: the closer a map is to the truth, the more exact its fits must be.
    exact_iterations: int = 15
    # Answers per object from which fits are exact.
    exact_at: float = 10
    # Objects beyond which exact fits take more iterations. Set by `make large`: with 15 iterations fits of 100,000
    # objects never left their random start (error 0.275, and 0.048 with more).
    many_objects: int = 5000
    # Relative fall of the objective at which a fit ends earlier.
    tol: float = 1e-4
    # Iterations of a fit that is asked for by hand.
    final_iterations: int = 200
    # Relative fall of the objective at which such a fit ends earlier.
    final_tol: float = 1e-6
    # Length of the online steps between two fits: one answer must not undo what a thousand have settled.
    step: float = 0.1
    # How many times as many answers there must be before narrower fits are begun anew from the widest one.
    restart: float = 1.5
    # Dimensions of the mixture at most, or as many as the leader has.
    widest: int = 25
    # Coordinates in a map beyond which the rank is limited: L-BFGS works with ten to twenty times as many numbers.
    largest_map: int = 1_000_000
    # The rank that is never limited further.
    least_rank: int = 5
    # Answers per object up to which shifts move with every answer. Then they are most of what is known; later a fit
    # knows better than a step. `python -m benchmarks.people paper` compares with popularity alone.
    shifts_move_until: float = 3.0


TUNING = RefittingTuning()


class FitProposals(NamedTuple):
    """Settings next to the leader's, and a few free dimensions; none where the setting is given.

    Attributes
    ----------
    seed : int
        Where fits begin.
    fixed : bool
        Whether the setting is given.
    """

    seed: int
    fixed: bool

    def neighbours(self, candidates: Candidates[Fit, Floats], seen: int) -> Iterator[Fit]:
        """The ridges and ranks next to the leader's, and shifts where it has none, or none where it has some."""
        if self.fixed:
            return
        X, fit = candidates.leader.model, candidates.leader.setting
        for ridge in beside(TUNING.ridges, fit.ridge):
            yield fit._replace(ridge=ridge)
        for rank in reversed(beside(TUNING.ranks, fit.rank)):
            if rank < fit.rank or (rank <= largest_rank(len(X)) and _uses_all(X)):
                yield fit._replace(rank=rank)
        yield fit._replace(shift=0.0 if fit.shift else TUNING.shift_ridge)

    def urgent(self, candidates: Candidates[Fit, Floats], seen: int) -> tuple[Fit, ...]:
        """None: every candidate is fitted to all answers, so it can wait its turn."""
        return ()

    def exploratory(self, candidates: Candidates[Fit, Floats], seen: int) -> list[Fit]:
        """A few free dimensions of another number than the leader's."""
        most, leader = largest_rank(len(candidates.leader.model)), candidates.leader.setting
        return [] if self.fixed else [free for free in TUNING.free if leader.rank != free.rank <= most]

    def begin(self, setting: Fit, model: Floats, seen: int) -> Floats:
        """Coordinates to begin a fit at: the longest axes of other coordinates, and small random numbers.

        Where a new column would begin, at zero, the gradient is zero, too.
        """
        X, rank = model, setting.rank
        start = np.zeros((len(X), rank + 1))
        noise = np.random.default_rng((self.seed, seen, rank)).standard_normal((len(X), rank))
        _, vectors = np.linalg.eigh(X[:, :-1].T @ X[:, :-1])
        axes = vectors[:, ::-1][:, :rank]
        start[:, : axes.shape[1]] = X[:, :-1] @ axes
        start[:, :-1] += 0.01 * noise
        if setting.shift:
            start[:, -1] = X[:, -1]
        return start


def largest_rank(n_objects: int) -> int:
    """The largest rank whose map is not too large to fit, and which so many objects can have."""
    within_map = max(TUNING.least_rank, TUNING.largest_map // max(1, n_objects))
    return max(1, min(n_objects - 1, within_map))


def _uses_all(X: Floats) -> bool:
    values = np.linalg.eigvalsh(X[:, :-1].T @ X[:, :-1])
    return bool(values[0] > 1e-3 * values[-1])

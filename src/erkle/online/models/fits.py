"""Settings of fits: the setting of a candidate of `Refitting`, what to try next, and the tuned constants."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.online.selection.candidates import Candidates, beside

Floats = NDArray[np.float64]


class FitSetting(NamedTuple):
    """The setting of a candidate.

    A shift is a squared distance that is added to the distances of an object from all others: an unpopular object has
    a large shift. While answers are few for the dimension of the data, shifts explain more than coordinates do.

    Attributes
    ----------
    rank : int
        Number of coordinates.
    ridge : float
        Ridge on the coordinates, as a weight in a whole fit.
    shift : float
        Ridge on the shifts; 0 means that there are no shifts.
    """

    rank: int
    ridge: float
    shift: float = 0.0


class RefittingTuning(NamedTuple):
    """Constants of `Refitting`.

    There is no record of a benchmark for a value whose comment names none. `python -m benchmarks.people moments`
    measures how a change affects errors along a stream and CPU time.
    """

    # Ranks to try.
    ranks: tuple[int, ...] = (1, 2, 3, 5, 10, 25, 50, 100)
    # Ridges to try.
    ridges: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    # Ridge on shifts. With a ridge of 1, adaptive questions about eggs300 had 6 % more error than random ones.
    shift_ridge: float = 0.3
    # Exploratory settings: few dimensions and a weak ridge. Changing rank and ridge step by step may not lead to them.
    # Without them, errors on adaptive questions were three times as large.
    free: tuple[FitSetting, ...] = (FitSetting(2, 0.3), FitSetting(3, 0.3), FitSetting(5, 0.3), FitSetting(10, 0.3))
    # Candidates at the start.
    start: tuple[FitSetting, ...] = (
        FitSetting(25, 4.0),
        FitSetting(25, 2.0),
        FitSetting(25, 8.0),
        FitSetting(25, 4.0, shift_ridge),
        FitSetting(2, 1.0),
        *free,
    )
    # Largest number of candidates.
    most: int = 9
    # Largest number of candidates after ``settled_at``, when most settings have been ruled out and fits cost most.
    most_settled: int = 5
    # Answers per object at which ``most_settled`` takes effect. With 20, only one-dimensional maps were left on
    # zappos85.
    settled_at: float = 40
    # A candidate this many nats of discounted loss behind the leader is eliminated.
    elimination_margin: float = 8.0
    # Answers at the first review, if there are few objects.
    first_review: int = 10
    # With many objects, the first review comes after one answer per this many objects.
    first_review_objects: int = 20
    # Growth of the number of answers between two fits, as a share.
    review_share: float = 0.05
    # Number of answers above which that share grows with the square root of their number. Each object counts as
    # ``object_cost`` answers.
    review_size: float = 10_000.0
    # Cost of an object, in answers: an iteration visits every answer and every object.
    object_cost: float = 10.0
    # Extra growth of the share, as a multiple of objects per answer. A fit of few answers costs more per answer.
    review_few: float = 1.5
    # Iterations of a fit before ``exact_at``.
    brief_iterations: int = 8
    # Iterations of a fit after ``exact_at``: an accurate map needs accurate fits.
    exact_iterations: int = 15
    # Answers per object at which ``exact_iterations`` takes effect.
    exact_at: float = 10
    # With more objects than this, fits take more iterations. Set by `make large`: with 15 iterations, fits of 100,000
    # objects never left their random start (error 0.275; with more iterations 0.048).
    many_objects: int = 5000
    # A fit stops when the objective falls by less than this share.
    tol: float = 1e-4
    # Iterations of a fit that the user requests with `consolidate`.
    final_iterations: int = 200
    # Such a fit stops when the objective falls by less than this share.
    final_tol: float = 1e-6
    # Rate of the online steps between two fits. It is small because one answer must not undo a fit of thousands.
    step: float = 0.1
    # Growth of the number of answers, as a factor, after which fits of lower rank restart from the fit of highest rank.
    restart: float = 1.5
    # Largest rank of the mixture, unless the leader has a larger one.
    widest: int = 25
    # Largest number of coordinates in a map: L-BFGS needs ten to twenty times as many numbers.
    largest_map: int = 1_000_000
    # Rank that is always allowed, whatever ``largest_map`` says.
    least_rank: int = 5
    # Answers per object up to which online steps also move the shifts. Later a fit estimates them better than a step
    # does. `python -m benchmarks.people paper` compares with popularity alone.
    shifts_move_until: float = 3.0


TUNING = RefittingTuning()


class FitProposals(NamedTuple):
    """Proposes settings next to the leader's, and exploratory ones; nothing if the setting is fixed.

    Attributes
    ----------
    seed : int
        Seed of the random starting points of fits.
    fixed : bool
        Whether the user has set the rank.
    """

    seed: int
    fixed: bool

    def neighbours(self, candidates: Candidates[FitSetting, Floats], seen: int) -> Iterator[FitSetting]:
        """The next ridges and ranks, and the leader's setting with shifts switched on or off."""
        if self.fixed:
            return
        X, fit = candidates.leader.model, candidates.leader.setting
        for ridge in beside(TUNING.ridges, fit.ridge):
            yield fit._replace(ridge=ridge)
        for rank in reversed(beside(TUNING.ranks, fit.rank)):
            if rank < fit.rank or (rank <= largest_rank(len(X)) and _uses_all(X)):
                yield fit._replace(rank=rank)
        yield fit._replace(shift=0.0 if fit.shift else TUNING.shift_ridge)

    def urgent(self, candidates: Candidates[FitSetting, Floats], seen: int) -> tuple[FitSetting, ...]:
        """Nothing: every candidate is fitted to all answers, so a new one loses nothing by waiting."""
        return ()

    def exploratory(self, candidates: Candidates[FitSetting, Floats], seen: int) -> list[FitSetting]:
        """The settings ``TUNING.free`` whose rank differs from the leader's."""
        most, leader = largest_rank(len(candidates.leader.model)), candidates.leader.setting
        return [] if self.fixed else [free for free in TUNING.free if leader.rank != free.rank <= most]

    def begin(self, setting: FitSetting, model: Floats, seen: int) -> Floats:
        """Coordinates to start a fit from: the principal axes of the leader's coordinates, plus small random numbers.

        The random numbers are needed because the gradient of a column of zeros is zero.
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
    """The largest rank that ``n_objects`` can have and whose map is not too large to fit."""
    within_map = max(TUNING.least_rank, TUNING.largest_map // max(1, n_objects))
    return max(1, min(n_objects - 1, within_map))


def _uses_all(X: Floats) -> bool:
    """Whether the coordinates use all their dimensions."""
    values = np.linalg.eigvalsh(X[:, :-1].T @ X[:, :-1])
    return bool(values[0] > 1e-3 * values[-1])

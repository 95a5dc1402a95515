"""The slips of each participant, estimated from predictions made before their answers were learned.

A participant with lapse e gives an answer with probability e + (1 - 2e) p, where p is its probability without slips.
The lapses of all participants come from one unknown distribution, which is estimated from all of them together (Kiefer
& Wolfowitz 1956) and starts near the lapse of the whole study. So the estimate of a participant with few answers is
drawn towards the others, and that of a participant with many answers is not.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.checks import shaped
from erkle.conflicts.participants import participant_name

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

# Lapses on the grid. They are closer to each other near 0, where many answers tell them apart.
_LAPSES = 0.5 * np.linspace(0.0, 1.0, 51) ** 2
# Steps of the estimate of the distribution of lapses. More would shrink it to single points.
_STEPS = 30
# The start of the distribution counts like this many participants.
_START_COUNT = 1.0
# Concentration of the start around the lapse of the study, as a number of answers.
_CONCENTRATION = 30.0
# Share of the start that is spread evenly over all lapses.
_UNIFORM = 0.05
# Share of the start for participants who only toss coins. Without it, their intervals often end below 0.5.
_COINS = 0.05
# Probabilities without slips are kept this far from 0 and 1: no prediction is that certain.
_LEAST = 1e-6
# Answers per object at which an answer counts half of what a late one counts. With a smaller value, the first
# participants of a study seem to slip more often than the others; with a larger one, fewer who toss coins are found.
# There is no record of a benchmark for this value; `python -m benchmarks.people participants` measures a change.
_EARLY = 3.0
# Lapse above which a participant hardly looks at the objects: four of five answers are coin tosses.
_RANDOM_LAPSE = 0.4
# A participant is marked if such a lapse is at least this probable.
_SURE = 0.95


class ParticipantLapses(NamedTuple):
    """The share of slips of each participant, with 95 % intervals.

    Attributes
    ----------
    names : (n,) array of str
        In the order of their first answers.
    n_answers : (n,) array of integers
    lapse, low, high : (n,) arrays
        Share of slips, and the ends of its interval; 0.5 means that all answers are coin tosses.
    at_random : (n,) array of bool
        Whether the participant almost certainly answers at random: the lapse is above 0.4 with probability 0.95.
    """

    names: NDArray[np.str_]
    n_answers: NDArray[np.int64]
    lapse: Floats
    low: Floats
    high: Floats
    at_random: NDArray[np.bool_]


def participant_names(participants: ArrayLike, n_answers: int) -> list[str]:
    """The name of the participant of each answer; "" where it is unknown."""
    given = np.asarray(participants, dtype=np.object_)
    if given.shape != (n_answers,):
        raise ValueError(
            f"Participants have shape {given.shape}, but there are {n_answers} answers;"
            f" pass one participant per answer, shape ({n_answers},)."
        )
    return [participant_name(each) for each in given.tolist()]


class Participants:
    """Numbers of participants, from 1 in the order of their first answers, and the likelihoods of their lapses.

    Number 0 is for answers whose participant is unknown.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}
        # With room for participants to come, so that a new one costs little however many there are.
        self._counts = np.zeros(1, np.int64)
        self._likelihoods = np.zeros((1, len(_LAPSES)))

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of answers of each participant that have been learned; 0 for the unknown one."""
        return self._counts[: len(self.numbers)]

    @property
    def likelihoods(self) -> Floats:
        """The logarithm of the likelihood of each lapse on the grid, for each participant."""
        return self._likelihoods[: len(self.numbers)]

    def number(self, names: list[str] | None, n_answers: int) -> Codes:
        """The number of the participant of each answer; new participants get the next numbers.

        Call `drop_silent` when their answers have been learned, or could not be.
        """
        if names is None:
            return np.zeros(n_answers, np.int32)
        numbers = np.array([self.numbers.setdefault(name, len(self.numbers)) for name in names], np.int32)
        if len(self.numbers) > len(self._counts):
            room = 2 * len(self.numbers) - len(self._counts)
            self._likelihoods = np.pad(self._likelihoods, ((0, room), (0, 0)))
            self._counts = np.pad(self._counts, (0, room))
        return numbers

    def drop_silent(self) -> None:
        """Drop the last participants if none of their answers has been learned."""
        # A slice, because after a failure there may be no count yet.
        while len(self.numbers) > 1 and not self._counts[len(self.numbers) - 1 : len(self.numbers)].any():
            self.numbers.popitem()

    def add(self, numbers: Codes, likely: Floats, n_learned: int, n_objects: int) -> None:
        """Add answers: who gave them, and how probable they were without slips just before they were learned.

        ``n_learned`` answers had been learned before the first of them.
        """
        known = numbers > 0
        if not known.any():
            return
        p = np.clip(likely[known], _LEAST, 1.0 - _LEAST)[:, None]
        # Early predictions are too confident, so a miss says little about slips.
        squares = ((n_learned + np.flatnonzero(known)) / n_objects)[:, None] ** 2
        weights = squares / (squares + _EARLY**2)
        np.add.at(self._counts, numbers[known], 1)
        np.add.at(self._likelihoods, numbers[known], weights * np.log(_LAPSES + (1.0 - 2.0 * _LAPSES) * p))

    def lapses(self, study: float) -> Floats:
        """The lapse of each participant by number, given that of the study; NaN for the unknown one."""
        lapses = np.full(len(self.numbers), np.nan)
        if len(lapses) > 1:
            lapses[1:] = _means(self._posterior(study))
        return lapses

    def typical_lapse(self, lapses: Floats) -> float:
        """The median of the participants' `lapses`; 0 if nobody is known.

        Each participant counts once: one who gives most of the answers is not typical for that.
        """
        return float(np.median(lapses[1:])) if len(lapses) > 1 else 0.0

    def table(self, study: float) -> ParticipantLapses:
        """The lapses of all participants, given that of the study."""
        posterior = self._posterior(study)
        below = np.cumsum(posterior, axis=1)
        lapse = _means(posterior)
        low, high = (_LAPSES[np.argmax(below >= share, axis=1)] for share in (0.025, 0.975))
        # The mean of a narrow distribution can lie between two lapses on the grid.
        low, high = np.minimum(low, lapse), np.maximum(high, lapse)
        at_random = posterior[:, _LAPSES > _RANDOM_LAPSE].sum(axis=1) > _SURE
        names = np.array(list(self.numbers)[1:], dtype=np.str_)
        return ParticipantLapses(names, self.counts[1:].copy(), lapse, low, high, at_random)

    def _posterior(self, study: float) -> Floats:
        """The probability of each lapse on the grid, for each known participant."""
        start = prior = _start(study)
        likelihoods = np.exp(self.likelihoods[1:] - self.likelihoods[1:].max(axis=1, keepdims=True))
        for _ in range(_STEPS):
            posterior = likelihoods * prior
            posterior /= posterior.sum(axis=1, keepdims=True)
            prior = posterior.sum(axis=0) + _START_COUNT * start
        # Each participant is compared with all others. With itself among them, the only one who tosses coins would get
        # an interval that is too narrow.
        posterior = likelihoods * np.maximum(prior - posterior, _START_COUNT * start)
        return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, as arrays."""
        names = np.array(list(self.numbers), dtype=np.str_)
        return {"names": names, "counts": self.counts, "likelihoods": self.likelihoods}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Restore participants from their `arrays`."""
        participants = cls()
        names = arrays["names"].tolist()
        participants.numbers = {name: number for number, name in enumerate(names)}
        n = len(participants.numbers)
        if n != len(names) or participants.numbers.get("") != 0:
            raise ValueError("the names of participants are not different, or the unknown one is not the first")
        participants._counts = shaped(arrays, "counts", (n,), np.int64)
        participants._likelihoods = shaped(arrays, "likelihoods", (n, len(_LAPSES)))
        return participants


def _means(posterior: Floats) -> Floats:
    """The mean lapse of each row of probabilities; it does not depend on the other rows."""
    return np.asarray((posterior * _LAPSES).sum(axis=1))


def _start(study: float) -> Floats:
    """The distribution to start from: most lapses are near that of the study, some are anywhere, some are 0.5."""
    mean = min(max(study, 0.01), 0.49)
    # Each lapse on the grid stands for those between its neighbours; twice a lapse has a beta distribution.
    edges = np.concatenate([[0.0], 0.5 * (_LAPSES[1:] + _LAPSES[:-1]), [0.5]])
    widths, x = 2.0 * np.diff(edges), edges[1:] + edges[:-1]
    a, b = 2.0 * mean * _CONCENTRATION, (1.0 - 2.0 * mean) * _CONCENTRATION
    density = widths * x ** (a - 1.0) * (1.0 - x) ** (b - 1.0)
    start = (1.0 - _UNIFORM - _COINS) * density / density.sum() + _UNIFORM * widths
    start[-1] += _COINS
    return np.asarray(start)

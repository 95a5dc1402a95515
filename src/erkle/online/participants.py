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

# Lapses on the grid.
_LAPSES = np.linspace(0.0, 0.5, 26)
# Steps of the estimate of the distribution of lapses. More would shrink it to single points.
_STEPS = 30
# The start of the distribution counts like this many participants.
_START_COUNT = 1.0
# Concentration of the start around the lapse of the study, as a number of answers; and its uniform share.
_CONCENTRATION, _UNIFORM = 30.0, 0.05
# Probabilities without slips are kept this far from 0 and 1: no prediction is that certain.
_LEAST = 1e-6
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
        self.counts = np.zeros(1, np.int64)
        self.likelihoods = np.zeros((1, len(_LAPSES)))

    def number(self, participants: ArrayLike | None, n_answers: int) -> Codes:
        """The number of the participant of each answer; new participants get the next numbers."""
        if participants is None:
            return np.zeros(n_answers, np.int32)
        names = participant_names(participants, n_answers)
        found = (self.numbers.setdefault(name, len(self.numbers)) for name in names)
        numbers = np.fromiter(found, np.int32, n_answers)
        if n_new := len(self.numbers) - len(self.counts):
            self.counts = np.pad(self.counts, (0, n_new))
            self.likelihoods = np.pad(self.likelihoods, ((0, n_new), (0, 0)))
        return numbers

    def add(self, numbers: Codes, likely: Floats) -> None:
        """Add answers: who gave them, and how probable they were without slips just before they were learned."""
        known = numbers > 0
        if not known.any():
            return
        p = np.clip(likely[known], _LEAST, 1.0 - _LEAST)[:, None]
        np.add.at(self.counts, numbers[known], 1)
        np.add.at(self.likelihoods, numbers[known], np.log(_LAPSES + (1.0 - 2.0 * _LAPSES) * p))

    def lapses(self, study: float) -> Floats:
        """The lapse of each participant by number, given that of the study; NaN for number 0."""
        lapses = _means(self._posterior(study))
        lapses[0] = np.nan
        return lapses

    def typical_lapse(self, lapses: Floats) -> float:
        """The median of the participants' `lapses`; 0 if nobody is known.

        Each participant counts once: one who gives most of the answers is not typical for that.
        """
        answered = self.counts > 0
        return float(np.median(lapses[answered])) if answered.any() else 0.0

    def table(self, study: float) -> ParticipantLapses:
        """The lapses of all participants whose answers have been learned, given that of the study."""
        # A call that was interrupted may have numbered participants without learning any of their answers.
        answered = self.counts > 0
        posterior = self._posterior(study)[answered]
        below = np.cumsum(posterior, axis=1)
        low, high = (_LAPSES[np.argmax(below >= share, axis=1)] for share in (0.025, 0.975))
        at_random = posterior[:, _LAPSES > _RANDOM_LAPSE].sum(axis=1) > _SURE
        names = np.array(list(self.numbers), dtype=np.str_)[answered]
        return ParticipantLapses(names, self.counts[answered], _means(posterior), low, high, at_random)

    def _posterior(self, study: float) -> Floats:
        """The probability of each lapse on the grid, for each participant."""
        start = _start(study)
        likelihoods = np.exp(self.likelihoods - self.likelihoods.max(axis=1, keepdims=True))
        weights = (self.counts > 0).astype(np.float64)
        prior = start
        for _ in range(_STEPS):
            posterior = likelihoods * prior
            posterior /= posterior.sum(axis=1, keepdims=True)
            # Not a product of matrices: its last bits would depend on participants who have not answered yet.
            prior = (weights[:, None] * posterior).sum(axis=0) + _START_COUNT * start
            prior /= prior.sum()
        posterior = likelihoods * prior
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
        participants.counts = shaped(arrays, "counts", (n,), np.int64)
        participants.likelihoods = shaped(arrays, "likelihoods", (n, len(_LAPSES)))
        return participants


def _means(posterior: Floats) -> Floats:
    """The mean lapse of each row of probabilities; it does not depend on the other rows."""
    return np.asarray((posterior * _LAPSES).sum(axis=1))


def _start(study: float) -> Floats:
    """The distribution of lapses to start from: most are near that of the study, and some are anywhere."""
    mean = min(max(study, 0.01), 0.49)
    # The density of a beta distribution of twice the lapse, at points inside the interval.
    x = (2.0 * _LAPSES + 0.02) / 1.04
    a, b = 2.0 * mean * _CONCENTRATION, (1.0 - 2.0 * mean) * _CONCENTRATION
    density = x ** (a - 1.0) * (1.0 - x) ** (b - 1.0)
    return np.asarray((1.0 - _UNIFORM) * density / density.sum() + _UNIFORM / len(x))

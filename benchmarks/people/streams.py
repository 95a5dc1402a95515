"""The data: answers to learn, in order, and held-out answers to other questions."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.datasets import flip, load, make_gaussian

PEOPLE = ("zappos85", "food100", "cars60", "aset400", "eggs300")
SYNTHETIC = {"gaussian2": 2, "gaussian5": 5, "gaussian10": 10}
NAMES = (*PEOPLE, *SYNTHETIC)
TITLES = {name: f"d = {d}, n = 90" for name, d in SYNTHETIC.items()}
N_ANSWERS = 10_000
PER_OBJECT = (5, 10, 20, 40, 60)
_TEST_SHARE, _N_TEST = 0.2, 20_000


class Stream(NamedTuple):
    """Answers (anchor, near, far) to learn and to test; no question is in both parts."""

    n_objects: int
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def sizes(self) -> dict[int, str]:
        """The numbers of answers at which to measure, each with its text."""
        some = {k * self.n_objects: f"{k} per object" for k in PER_OBJECT}
        some |= {min(N_ANSWERS, len(self.train)): "10,000" if len(self.train) >= N_ANSWERS else "all"}
        return {size: some[size] for size in sorted(some) if size <= len(self.train)}


@cache
def stream(name: str, seed: int) -> Stream:
    """The stream of a data set; the seed splits the questions and shuffles the answers."""
    if name in SYNTHETIC:
        T = make_gaussian(90, SYNTHETIC[name], N_ANSWERS + _N_TEST, random_state=seed).triplets
        return Stream(90, T[:N_ANSWERS], T[N_ANSWERS:])
    people = load(name)
    train, test = triplets.split(people.triplets, _TEST_SHARE, seed)
    train = np.random.default_rng([seed, 1]).permutation(train)
    return Stream(len(people.names), train, test)


def first(name: str, seed: int) -> Stream:
    """The stream with at most 10,000 answers to learn."""
    whole = stream(name, seed)
    return whole._replace(train=whole.train[:N_ANSWERS])


def flipped(name: str, seed: int, share: float) -> Stream:
    """The same stream with a share of the answers to learn flipped."""
    right = first(name, seed)
    return right._replace(train=flip(right.train, share, np.random.default_rng([seed, 2])))

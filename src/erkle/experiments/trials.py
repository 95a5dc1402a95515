"""The four data sets as trials: the same protocol, another draw of points, questions and splits each time."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.datasets import load, make_gaussian
from erkle.experiments.protocol import Protocol
from erkle.experiments.tamuz import adaptively_chosen

__all__ = ["NEEDS", "WORLDS", "Trial"]

Triplets = NDArray[np.int64]


class Trial(NamedTuple):
    """Answers to learn in order, to choose settings by, and to measure the error on."""

    n_objects: int
    train: Triplets
    validation: Triplets
    test: Triplets


def small(number: int, protocol: Protocol) -> Trial:
    """100 points in 50 dimensions, every question answered; settings are chosen on the test set, as in the paper."""
    T = make_gaussian(protocol.n_small, 50, random_state=_seed(1, number)).triplets
    return Trial(protocol.n_small, T[: protocol.n_train], T[protocol.n_train :], T[protocol.n_train :])


def large(number: int, protocol: Protocol) -> Trial:
    """5000 points in 50 dimensions and random questions."""
    n_answers = protocol.n_train_large + protocol.n_test_large
    T = make_gaussian(protocol.n_large, 50, n_answers, random_state=_seed(2, number)).triplets
    train, test = T[: protocol.n_train_large], T[protocol.n_train_large :]
    return Trial(protocol.n_large, train, test, test)


def music(number: int, protocol: Protocol) -> Trial:
    """Musicians compared by people (aset400), split by rows as in the paper."""
    data = load(NEEDS["music"])
    T = _seed(3, number).permutation(data.triplets)
    n = protocol.n_train_music
    return Trial(len(data.names), T[:n], T[n : n + 1000], T[n + 1000 :])


def scenes(number: int, protocol: Protocol) -> Trial:
    """Shoes (zappos85) in place of the paper's outdoor scenes, which are not public; questions chosen adaptively."""
    data = load(NEEDS["scenes"])
    rng = _seed(4, number)
    n_test, n_validation = 1000, 600
    T = adaptively_chosen(data.triplets, len(data.names), protocol.n_train_scenes + n_test + n_validation, rng)
    T = rng.permutation(T)
    test, validation, train = np.split(T, [n_test, n_test + n_validation])
    return Trial(len(data.names), train, validation, test)


WORLDS: dict[str, Callable[[int, Protocol], Trial]] = {
    "small": small,
    "large": large,
    "music": music,
    "scenes": scenes,
}


# The published answers that some of them are made of.
NEEDS = {"music": "aset400", "scenes": "zappos85"}


def _seed(world: int, trial: int) -> np.random.Generator:
    return np.random.default_rng([2015, world, trial])

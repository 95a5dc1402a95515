"""The four data sets as trials: the same protocol, another draw of points, questions and splits each time."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.datasets import load, make_gaussian
from erkle.experiments.protocol import Protocol
from erkle.experiments.tamuz import adaptively_chosen

Triplets = NDArray[np.int64]

# The published answers that some of them are made of.
_NEEDS = {"music": "aset400", "scenes": "zappos85"}
_N_TEST, _N_VALIDATION = 1000, 600


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
    data = load(_NEEDS["music"])
    T = _seed(3, number).permutation(data.triplets)
    n = protocol.n_train_music
    return Trial(len(data.names), T[:n], T[n : n + 1000], T[n + 1000 :])


def scenes(number: int, protocol: Protocol) -> Trial:
    """The user's answers, or shoes (zappos85) in place of the paper's outdoor scenes, which are not public."""
    rng = _seed(4, number)
    n_wanted = _N_TEST + _N_VALIDATION + protocol.n_train_scenes
    if protocol.scenes:
        T, n_objects = _own_scenes(protocol)
        T = rng.permutation(T)[:n_wanted]
    else:
        data = load(_NEEDS["scenes"])
        n_objects = len(data.names)
        T = rng.permutation(adaptively_chosen(data.triplets, n_objects, n_wanted, rng))
    test, validation, train = np.split(T, [_N_TEST, _N_TEST + _N_VALIDATION])
    return Trial(n_objects, train, validation, test)


def _own_scenes(protocol: Protocol) -> tuple[Triplets, int]:
    """The answers of the user's file and the number of objects; they were chosen adaptively already, or not at all."""
    T, labels = triplets.read(protocol.scenes)
    least = max(protocol.every, protocol.mini_batch)
    if len(T) < _N_TEST + _N_VALIDATION + least:
        raise ValueError(
            f"{protocol.scenes} has {len(T):,} answers, but {_N_TEST:,} to test, {_N_VALIDATION} to choose settings by "
            f"and at least {least} to learn are needed; collect more, or leave out --scenes."
        )
    return T, len(labels)


def check_data(world: str, protocol: Protocol) -> None:
    """Fetch or read what a data set is made of: what cannot be had is known before any work."""
    if world == "scenes" and protocol.scenes:
        _own_scenes(protocol)
    elif world in _NEEDS:
        load(_NEEDS[world])


WORLDS: dict[str, Callable[[int, Protocol], Trial]] = {
    "small": small,
    "large": large,
    "music": music,
    "scenes": scenes,
}


def _seed(world: int, trial: int) -> np.random.Generator:
    return np.random.default_rng([2015, world, trial])

"""The four data sets. Each trial draws other points, questions and splits."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.datasets import load, make_gaussian
from erkle.experiments.protocol import Protocol
from erkle.experiments.tamuz import adaptively_chosen

Triplets = NDArray[np.int64]

# Published answers that some of the data sets are taken from.
_PUBLISHED = {"music": "aset400", "scenes": "zappos85"}
# Test answers of the scenes.
_N_TEST = 1000
# Validation answers of the scenes.
_N_VALIDATION = 600


class Trial(NamedTuple):
    """Training answers in order, validation answers that settings are chosen on, and test answers."""

    n_objects: int
    train: Triplets
    validation: Triplets
    test: Triplets


def small(number: int, protocol: Protocol) -> Trial:
    """100 points in 50 dimensions and all questions; settings are chosen on the test set, as in the paper."""
    T = make_gaussian(protocol.n_small, 50, random_state=_generator(1, number)).triplets
    return Trial(protocol.n_small, T[: protocol.n_train], T[protocol.n_train :], T[protocol.n_train :])


def large(number: int, protocol: Protocol) -> Trial:
    """5000 points in 50 dimensions and random questions."""
    n_answers = protocol.n_train_large + protocol.n_test_large
    T = make_gaussian(protocol.n_large, 50, n_answers, random_state=_generator(2, number)).triplets
    train, test = T[: protocol.n_train_large], T[protocol.n_train_large :]
    return Trial(protocol.n_large, train, test, test)


def music(number: int, protocol: Protocol) -> Trial:
    """People's answers about musicians (aset400), split by rows as in the paper."""
    data = load(_PUBLISHED["music"])
    T = _generator(3, number).permutation(data.triplets)
    n = protocol.n_train_music
    return Trial(len(data.names), T[:n], T[n : n + 1000], T[n + 1000 :])


def scenes(number: int, protocol: Protocol) -> Trial:
    """The user's own answers or, because the paper's outdoor scenes are not public, shoes (zappos85)."""
    rng = _generator(4, number)
    n_wanted = _N_TEST + _N_VALIDATION + protocol.n_train_scenes
    if protocol.scenes:
        T, n_objects = _own_scenes(protocol)
        T = rng.permutation(T)[:n_wanted]
    else:
        data = load(_PUBLISHED["scenes"])
        n_objects = len(data.names)
        T = rng.permutation(adaptively_chosen(data.triplets, n_objects, n_wanted, rng))
    test, validation, train = np.split(T, [_N_TEST, _N_TEST + _N_VALIDATION])
    return Trial(n_objects, train, validation, test)


def _own_scenes(protocol: Protocol) -> tuple[Triplets, int]:
    """The answers in the user's file, and the number of objects."""
    T, labels = triplets.read(protocol.scenes)
    least = max(protocol.measure_every, protocol.mini_batch)
    if len(T) < _N_TEST + _N_VALIDATION + least:
        raise ValueError(
            f"{protocol.scenes} has {len(T):,} answers, but {_N_TEST:,} test answers, {_N_VALIDATION} validation "
            f"answers and at least {least} training answers are needed; collect more, or leave out --scenes."
        )
    return T, len(labels)


def check_data(dataset: str, protocol: Protocol) -> None:
    """Fetch or read the data, so that missing data is reported before any work is done."""
    if dataset == "scenes" and protocol.scenes:
        _own_scenes(protocol)
    elif dataset in _PUBLISHED:
        load(_PUBLISHED[dataset])


DATASETS: dict[str, Callable[[int, Protocol], Trial]] = {
    "small": small,
    "large": large,
    "music": music,
    "scenes": scenes,
}


def _generator(dataset: int, trial: int) -> np.random.Generator:
    return np.random.default_rng([2015, dataset, trial])

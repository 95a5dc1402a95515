"""Vectors of the objects of public data sets, from the file features.npz of each data set in ``ERKLE_DATA``."""

import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erkle.datasets.copies import VARIABLE

Vectors = dict[str, NDArray[np.float64]]


def available(name: str) -> bool:
    """Whether the file is there."""
    return _path(name).exists()


@cache
def vectors(name: str) -> Vectors:
    """The vectors by the name of their kind."""
    with np.load(_path(name), allow_pickle=False) as file:
        return {kind: file[kind].astype(np.float64) for kind in file.files}


def useless(name: str, kind: str, seed: int) -> Vectors:
    """Random numbers, or the vectors of other objects."""
    rng = np.random.default_rng([seed, 5])
    if kind == "random":
        return {each: rng.standard_normal(V.shape) for each, V in vectors(name).items()}
    return {each: rng.permutation(V) for each, V in vectors(name).items()}


def _path(name: str) -> Path:
    return Path(os.environ.get(VARIABLE, "")) / name / "features.npz"

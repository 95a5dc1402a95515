"""THINGS: odd-one-outs about 1,854 objects. Each answer is two triplets, and a tenth of the answers is held out.

The data are read from ``things/odd_one_out.csv`` in the folder ``ERKLE_DATA``. Without them these tables are left out.
"""

import os
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.people.cached_results import Unit
from erkle import ERKLE
from erkle.datasets.copies import VARIABLE

N_OBJECTS = 1854
# Answers to learn; the last number stands for all of them.
SIZES = (30_000, 100_000, 400_000)
_SEEDS = (0, 1)


@cache
def _rows() -> NDArray[np.object_]:
    """The two similar objects, the odd one, and the participant, as text."""
    return np.loadtxt(_path(), delimiter=",", skiprows=1, dtype=np.str_).astype(np.object_)


def _path() -> Path:
    return Path(os.environ.get(VARIABLE, "")) / "things" / "odd_one_out.csv"


def available() -> bool:
    """Whether the data are there."""
    return _path().exists()


def split(seed: int, n_answers: int) -> tuple[NDArray[np.int64], NDArray[np.object_], NDArray[np.int64]]:
    """Triplets to learn, who gave them, and held-out answers (similar, similar, odd)."""
    rows = _rows()[np.random.default_rng(seed).permutation(len(_rows()))]
    n_test = len(rows) // 10
    answers = rows[:, :3].astype(np.int64)
    train, who = answers[n_test:][:n_answers], rows[n_test:, 3][:n_answers]
    T = np.stack([train, train[:, [1, 0, 2]]], axis=1).reshape(-1, 3)
    return T, np.repeat(who, 2), answers[:n_test]


def three_way(model: ERKLE, test: NDArray[np.int64]) -> float:
    """Share of held-out answers whose two similar objects are the nearest pair of the three."""
    by_first, by_second = (model.predict(T) for T in (test, test[:, [1, 0, 2]]))
    return float(np.mean(by_first & by_second))


def things(seed: int, n_answers: int) -> dict[str, Any]:
    """Share of held-out answers predicted rightly among three, and CPU seconds."""
    T, _, test = split(seed, n_answers)
    model = ERKLE(N_OBJECTS, random_state=1000 + seed)
    start = time.process_time()
    model.fit(T)
    seconds = time.process_time() - start
    setting = next(row.setting for row in model.selection_ if row.status == "leads")
    return {"right": three_way(model, test), "seconds": seconds, "setting": setting, "n": len(T) // 2}


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    sizes = SIZES[:1] if quick else SIZES
    seeds = _SEEDS[:1] if quick else _SEEDS
    return [Unit(things, (seed, n)) for n in sizes for seed in seeds] if available() else []

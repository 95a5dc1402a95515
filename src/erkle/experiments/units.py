"""Units of work of the experiments."""

import re
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from erkle.experiments.methods import METHODS, Row
from erkle.experiments.protocol import Protocol
from erkle.experiments.trials import DATASETS, Trial
from erkle.runner import Runner


class Unit(NamedTuple):
    """One method with one setting on one trial of one data set."""

    dataset: str
    method: str
    trial: int
    setting: tuple[tuple[str, float], ...] = ()

    @property
    def name(self) -> str:
        """The name of the file with the result."""
        words = [
            self.dataset,
            self.method,
            f"trial {self.trial}",
            *(f"{name} {value:g}" for name, value in self.setting),
        ]
        return re.sub(r"[^a-z0-9.]+", "-", " ".join(words).lower())


def units_of(dataset: str, method: str, trial: int, protocol: Protocol) -> list[Unit]:
    """The units of a method on a trial, one per setting."""
    settings = METHODS[method].settings(protocol)
    return [Unit(dataset, method, trial, tuple(setting.items())) for setting in settings]


def open_units(out: Path, protocol: Protocol) -> Runner[Unit]:
    """The units in a folder of results; refuses a folder with units of another protocol or another version of erkle."""
    # A full path, because workers of a cluster have other working folders.
    return Runner(out.resolve() / "units", partial(_rows, protocol), protocol._asdict())


def _rows(protocol: Protocol, unit: Unit) -> list[Row]:
    trial = _trial(unit.dataset, unit.trial, protocol)
    method = METHODS[unit.method]
    every = method.every(unit.dataset, protocol)
    return list(method.rows(trial, every, unit.trial, dict(unit.setting), protocol))


@lru_cache(maxsize=4)
def _trial(dataset: str, number: int, protocol: Protocol) -> Trial:
    # Cached, because units of the same trial follow each other and choosing questions adaptively takes a minute.
    return DATASETS[dataset](number, protocol)


def read_rows(unit: Unit, runner: Runner[Unit]) -> list[Row]:
    """The result of a finished unit."""
    return [Row(*row) for row in runner.result(unit)]

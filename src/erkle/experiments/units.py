"""Units of work: a method with one setting on one trial of one data set."""

import re
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from erkle.experiments.methods import METHODS, Row
from erkle.experiments.protocol import Protocol
from erkle.experiments.trials import WORLDS, Trial
from erkle.runner import Runner


class Unit(NamedTuple):
    """A method with one setting on one trial of one data set."""

    world: str
    method: str
    trial: int
    setting: tuple[tuple[str, float], ...] = ()

    @property
    def name(self) -> str:
        """The name of its file."""
        words = [self.world, self.method, f"trial {self.trial}", *(f"{name} {value:g}" for name, value in self.setting)]
        return re.sub(r"[^a-z0-9.]+", "-", " ".join(words).lower())


def units_of(world: str, method: str, trial: int, protocol: Protocol) -> list[Unit]:
    """A unit for each setting of the method."""
    settings = METHODS[method].settings(protocol)
    return [Unit(world, method, trial, tuple(setting.items())) for setting in settings]


def open_units(out: Path, protocol: Protocol) -> Runner[Unit]:
    """The units in a folder of results; refuses one that holds units of another protocol, or of another erkle."""
    # Workers of a cluster have other working folders than we.
    return Runner(out.resolve() / "units", partial(_rows, protocol), protocol._asdict())


def _rows(protocol: Protocol, unit: Unit) -> list[Row]:
    trial = _trial(unit.world, unit.trial, protocol)
    method = METHODS[unit.method]
    every = method.every(unit.world, protocol)
    return list(method.rows(trial, every, unit.trial, dict(unit.setting), protocol))


@lru_cache(maxsize=4)
def _trial(world: str, number: int, protocol: Protocol) -> Trial:
    # Settings and methods of one trial follow each other, and choosing questions adaptively takes a minute.
    return WORLDS[world](number, protocol)


def read_rows(unit: Unit, runner: Runner[Unit]) -> list[Row]:
    """What the unit has left behind."""
    return [Row(*row) for row in runner.result(unit)]

"""Units of work and the file each leaves behind."""

import csv
import io
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from erkle.experiments.methods import METHODS, Row
from erkle.experiments.protocol import Protocol
from erkle.experiments.trials import WORLDS, Trial
from erkle.files import write_text

__all__ = ["Unit", "read_rows", "run_unit", "units_of"]


class Unit(NamedTuple):
    """A method with one setting on one trial of one data set."""

    world: str
    method: str
    trial: int
    setting: tuple[tuple[str, float], ...] = ()

    @property
    def file(self) -> str:
        """The name of its file."""
        words = [self.world, self.method, f"trial {self.trial}", *(f"{name} {value:g}" for name, value in self.setting)]
        return re.sub(r"[^a-z0-9.]+", "-", " ".join(words).lower()) + ".csv"


def units_of(world: str, method: str, trial: int, protocol: Protocol) -> list[Unit]:
    """A unit for each setting of the method."""
    settings = METHODS[method].settings(protocol)
    return [Unit(world, method, trial, tuple(setting.items())) for setting in settings]


def run_unit(unit: Unit, protocol: Protocol, folder: Path) -> Unit:
    """Do the work and write its file, whole or not at all."""
    trial = _trial(unit.world, unit.trial, protocol)
    every = METHODS[unit.method].every(unit.world, protocol)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(METHODS[unit.method].rows(trial, every, unit.trial, dict(unit.setting), protocol))
    write_text(folder / unit.file, text.getvalue())
    return unit


@lru_cache(maxsize=4)
def _trial(world: str, number: int, protocol: Protocol) -> Trial:
    # Settings and methods of one trial follow each other, and choosing questions adaptively takes a minute.
    return WORLDS[world](number, protocol)


def read_rows(unit: Unit, folder: Path) -> list[Row]:
    """What the unit has left behind."""
    with (folder / unit.file).open(newline="") as file:
        return [Row(*map(json.loads, row)) for row in list(csv.reader(file))[1:]]

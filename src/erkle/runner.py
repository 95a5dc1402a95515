"""Run units of work in processes or on a Dask cluster, save each result at once, and resume from saved results.

A result is a JSON file with the name of its unit. It records the version and a hash of the sources of erkle, and the
settings that all units share. All results in a folder must have the same version, sources and settings. A folder with
other results is refused, and its files are neither used nor overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import joblib

from erkle import __version__
from erkle.cluster import dask_distributed
from erkle.files import write_text
from erkle.sources import OTHER_SOURCES, sources_stamp


class Unit(Protocol):
    """A unit of work: a value that can be hashed and pickled."""

    @property
    def name(self) -> str:
        """The name of the result's file. It must be unique in a run."""
        ...


AnyUnit = TypeVar("AnyUnit", bound=Unit)


class Runner(Generic[AnyUnit]):
    """The units of a run and the folder of their results.

    Parameters
    ----------
    folder : Path
        It is created if it does not exist. On a cluster, it must be an absolute path that all machines share.
    work : callable
        It is called with a unit, in any process, and returns a result that JSON can represent.
    settings : mapping
        Everything else that affects the results. JSON must be able to represent it.

    Raises
    ------
    ValueError
        If the folder holds results of another version, other sources or other settings.
    """

    def __init__(self, folder: Path, work: Callable[[AnyUnit], Any], settings: Mapping[str, Any]) -> None:
        self._folder, self._work = folder, work
        made_by = {"erkle_version": __version__, "erkle_sources": sources_stamp(), **settings}
        # JSON turns tuples into lists, so convert now to compare with files later.
        self._made_by: dict[str, Any] = json.loads(json.dumps(made_by))
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.json")):
            self._check(path)

    def missing(self, units: Iterable[AnyUnit]) -> list[AnyUnit]:
        """The units that have no result yet, without duplicates."""
        return [unit for unit in dict.fromkeys(units) if not self._path(unit).exists()]

    def run(self, units: Iterable[AnyUnit], jobs: int, scheduler: str | None = None) -> Iterator[AnyUnit]:
        """Run the units that have no result yet, and yield each unit once its result is saved.

        Parameters
        ----------
        units : iterable of units
        jobs : int
            Number of processes; -1 means one per core.
        scheduler : str or None
            Address of a Dask scheduler; None means processes on this machine.
        """
        with _backend(scheduler):
            parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
            yield from parallel(joblib.delayed(self._run)(unit) for unit in self.missing(units))

    def result(self, unit: AnyUnit) -> Any:
        """The result of a finished unit."""
        return _read(self._path(unit))["result"]

    def _path(self, unit: AnyUnit) -> Path:
        return self._folder / f"{unit.name}.json"

    def _run(self, unit: AnyUnit) -> AnyUnit:
        """Run a unit and write its result atomically."""
        if sources_stamp() != self._made_by["erkle_sources"]:
            raise ValueError(OTHER_SOURCES)
        kept = {"made_by": self._made_by, "unit": unit.name, "result": self._work(unit)}
        write_text(self._path(unit), json.dumps(kept) + "\n")
        return unit

    def _check(self, path: Path) -> None:
        """Raise an error if a result has another version, other sources, other settings or another unit."""
        kept = _read(path)
        wanted = {**self._made_by, "unit": path.stem}
        found = {**kept["made_by"], "unit": kept["unit"]}
        differing = [name.replace("_", " ") for name in wanted if found.get(name) != wanted[name]]
        if differing:
            raise ValueError(
                f"{self._folder} holds results with a different {' and '.join(differing[:3])}; choose another --out,"
                " or delete the folder to start again."
            )


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        # A missing key raises KeyError here instead of later.
        return {"made_by": dict(kept["made_by"]), "unit": kept["unit"], "result": kept["result"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"{path} is not a result of erkle; delete it.") from None


@contextmanager
def _backend(scheduler: str | None) -> Iterator[None]:
    if scheduler is None:
        yield
        return
    with dask_distributed().Client(scheduler), joblib.parallel_config(backend="dask"):
        yield

"""Work in units: run in processes or on a Dask cluster, each result saved as soon as it is done, resumed from files.

A result is a JSON file named after its unit. It records what made it: the version and the sources of erkle, and the
settings that all units share. A folder holds results of one version and one set of settings; a folder with others is
refused, and its files are neither used nor overwritten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import joblib

from erkle import __version__
from erkle.files import write_text

# Parts of erkle that no result depends on.
_AROUND = {"cli", "client", "pictures", "service", "store"}


class Unit(Protocol):
    """A piece of work: a value that can be hashed and sent to another process."""

    @property
    def name(self) -> str:
        """The name of its file; no two units of a run share it."""
        ...


AnyUnit = TypeVar("AnyUnit", bound=Unit)


class Runner(Generic[AnyUnit]):
    """The units of a run and the folder of their results.

    Parameters
    ----------
    folder : Path
        Made if it does not exist. On a cluster it must be a full path that all machines see.
    work : callable
        Called with a unit, in some process; its result is what JSON can hold.
    settings : mapping
        All that decides a result besides its unit, as JSON can hold it.

    Raises
    ------
    ValueError
        When the folder holds results that something else has made.
    """

    def __init__(self, folder: Path, work: Callable[[AnyUnit], Any], settings: Mapping[str, Any]) -> None:
        self._folder, self._work = folder, work
        made_by = {"erkle_version": __version__, "erkle_sources": sources_stamp(), **settings}
        # As a file will give it back: lists in place of tuples.
        self._made_by: dict[str, Any] = json.loads(json.dumps(made_by))
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.json")):
            self._check(path)

    def missing(self, units: Iterable[AnyUnit]) -> list[AnyUnit]:
        """The units that have no result yet, each once."""
        return [unit for unit in dict.fromkeys(units) if not self._path(unit).exists()]

    def run(self, units: Iterable[AnyUnit], jobs: int, scheduler: str | None = None) -> Iterator[AnyUnit]:
        """Run the units that have no result yet, and yield each when its result is saved.

        Parameters
        ----------
        units : iterable of units
        jobs : int
            Processes at once; -1 for one a core.
        scheduler : str or None
            Address of a Dask scheduler; None for processes of this machine.
        """
        with _backend(scheduler):
            parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
            yield from parallel(joblib.delayed(self._run)(unit) for unit in self.missing(units))

    def result(self, unit: AnyUnit) -> Any:
        """What a finished unit has left behind."""
        return _read(self._path(unit))["result"]

    def _path(self, unit: AnyUnit) -> Path:
        return self._folder / f"{unit.name}.json"

    def _run(self, unit: AnyUnit) -> AnyUnit:
        """Do the work and write its file, whole or not at all."""
        if sources_stamp() != self._made_by["erkle_sources"]:
            raise ValueError("A worker of the cluster has another erkle; install the same one on all machines.")
        kept = {"made_by": self._made_by, "unit": unit.name, "result": self._work(unit)}
        write_text(self._path(unit), json.dumps(kept) + "\n")
        return unit

    def _check(self, path: Path) -> None:
        """Refuse a folder with a result that something else has made."""
        kept = _read(path)
        wanted = {**self._made_by, "unit": path.stem}
        found = {**kept["made_by"], "unit": kept["unit"]}
        differing = [name.replace("_", " ") for name in wanted if found.get(name) != wanted[name]]
        if differing:
            raise ValueError(
                f"{self._folder} holds results of another {' and '.join(differing[:3])}; choose another --out, or "
                "delete that folder to begin anew."
            )


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        # A part that is missing raises KeyError here, not later.
        return {"made_by": dict(kept["made_by"]), "unit": kept["unit"], "result": kept["result"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"{path} is no result that erkle has written; delete it.") from None


@cache
def sources_stamp() -> str:
    """A hash of all sources that a result can depend on."""
    root = Path(__file__).parent
    paths = [path.relative_to(root) for path in sorted(root.rglob("*.py"))]
    digest = hashlib.sha256()
    for path in paths:
        if path.parts[0] not in _AROUND:
            digest.update(f"{path.as_posix()}\0".encode() + (root / path).read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _backend(scheduler: str | None) -> Iterator[None]:
    if scheduler is None:
        yield
        return
    try:
        distributed = import_module("dask.distributed")
    except ImportError:
        raise ValueError("--backend dask needs Dask; install erkle[dask].") from None
    with distributed.Client(scheduler), joblib.parallel_config(backend="dask"):
        yield

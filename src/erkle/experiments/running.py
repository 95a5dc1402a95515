"""Running units: in processes of this machine or on a Dask cluster, each saved as soon as it is done."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import joblib

from erkle.experiments.protocol import Protocol
from erkle.experiments.units import Unit, run_unit
from erkle.files import write_text

__all__ = ["open_folder", "run_units"]


def open_folder(out: Path, protocol: Protocol) -> Path:
    """The folder of the units; refuses one that holds units of another protocol."""
    folder = out / "units"
    folder.mkdir(parents=True, exist_ok=True)
    marker = out / "protocol.json"
    if marker.exists() and Protocol(**json.loads(marker.read_text())) != protocol:
        raise ValueError(
            f"{out} holds results of other sizes or scenes; choose another --out, or delete it to begin anew."
        )
    write_text(marker, json.dumps(protocol._asdict(), indent=2) + "\n")
    return folder


def run_units(
    units: list[Unit],
    protocol: Protocol,
    folder: Path,
    jobs: int,
    scheduler: str | None,
    done: Callable[[Unit], None],
) -> None:
    """Run every unit that has no file yet, and call ``done`` with each that is finished, the old ones first."""
    missing = []
    for unit in dict.fromkeys(units):
        if (folder / unit.file).exists():
            done(unit)
        else:
            missing.append(unit)
    with _backend(scheduler):
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        for unit in parallel(joblib.delayed(run_unit)(unit, protocol, folder) for unit in missing):
            done(unit)


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

"""Results in files, so that an interrupted run can continue. A change of the sources measures again.

Each result is a JSON file in .cache/people. Its name contains the function, the arguments and a hash of the sources
that the result depends on. The files may be deleted at any time.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from erkle import files

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / ".cache" / "people"
# Sources of erkle that results of batch learners depend on.
_BATCH = ("batch", "answer_models.py", "losses.py", "_compiled/sums.py", "datasets", "triplets")
# Sources of erkle that all other results depend on.
_ONLINE = (*_BATCH, "online", "features", "kernels", "_compiled", "steps.py")


class Unit(NamedTuple):
    """A function and its arguments; the result must be JSON."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    batch: bool = False

    @property
    def label(self) -> str:
        """The function and its arguments, as text."""
        return " ".join([self.function.__name__, *map(str, self.arguments)])

    @property
    def path(self) -> Path:
        """The file of the result."""
        own = Path(self.function.__code__.co_filename)
        kept = stamp(_BATCH if self.batch else _ONLINE, (own, Path(__file__).with_name("streams.py")))
        return _FOLDER / f"{self.label.replace(' ', '-')}-{kept}.json"

    def result(self) -> Any:
        """The result from its file; it is measured first if there is no file."""
        if not self.path.exists():
            value = self.function(*self.arguments)
            _FOLDER.mkdir(parents=True, exist_ok=True)
            files.write_text(self.path, json.dumps(value))
        return json.loads(self.path.read_text())


def measure(units: list[Unit], n_jobs: int = 1) -> None:
    """Measure the units that have no file yet in ``n_jobs`` processes, and print the progress."""
    units = [unit for unit in dict.fromkeys(units) if not unit.path.exists()]
    with ProcessPoolExecutor(n_jobs) as pool:
        running = {pool.submit(_measured, unit): unit for unit in units}
        for i, done in enumerate(as_completed(running), 1):
            print(f"{i}/{len(units)} {running[done].label}: {done.result():.1f} s", file=sys.stderr, flush=True)


def _measured(unit: Unit) -> float:
    """Measure a unit; return its CPU seconds."""
    start = time.process_time()
    unit.result()
    return time.process_time() - start


@cache
def stamp(parts: tuple[str, ...], own: tuple[Path, ...]) -> str:
    """A hash of some sources of erkle and of some files of the benchmark."""
    found = [*own]
    for part in parts:
        path = _ROOT / "src" / "erkle" / part
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in found)).hexdigest()[:10]

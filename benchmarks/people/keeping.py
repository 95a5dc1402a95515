"""Results that are kept: an interrupted run goes on where it was, and a change of the sources measures anew.

Each result is a JSON file under .cache/people, named after its function, its arguments and a hash of the sources that
it depends on. Any of them may be deleted at any time.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from erkle import files

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / ".cache" / "people"
_BATCH = ("batch", "losses.py", "_compiled/sums.py", "datasets", "triplets")
ONLINE = (*_BATCH, "online", "kernels", "_compiled", "steps.py")


class Unit(NamedTuple):
    """A function and its arguments; the result is what JSON can hold."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    batch: bool = False

    @property
    def words(self) -> str:
        """What is measured."""
        return " ".join([self.function.__name__, *map(str, self.arguments)])

    @property
    def path(self) -> Path:
        """Where the result is kept."""
        own = Path(self.function.__code__.co_filename)
        kept = stamp(_BATCH if self.batch else ONLINE, (own, Path(__file__).with_name("streams.py")))
        return _FOLDER / f"{self.words.replace(' ', '-')}-{kept}.json"

    def result(self) -> Any:
        """What was kept, or what is measured now."""
        if not self.path.exists():
            value = self.function(*self.arguments)
            _FOLDER.mkdir(parents=True, exist_ok=True)
            files.write_text(self.path, json.dumps(value))
        return json.loads(self.path.read_text())


def measure(units: list[Unit]) -> None:
    """Measure what is not kept yet, and tell how far it is."""
    units = [unit for unit in dict.fromkeys(units) if not unit.path.exists()]
    for i, unit in enumerate(units, 1):
        start = time.process_time()
        unit.result()
        seconds = time.process_time() - start
        print(f"{i}/{len(units)} {unit.words}: {seconds:.1f} s", file=sys.stderr, flush=True)


@cache
def stamp(parts: tuple[str, ...], own: tuple[Path, ...]) -> str:
    """A hash of some sources of erkle and of files of the benchmark's own."""
    found = [*own]
    for part in parts:
        path = _ROOT / "src" / "erkle" / part
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in found)).hexdigest()[:10]

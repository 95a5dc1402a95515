"""How functions are compiled: once per machine and version of the sources, and cached on disk.

Numba checks only whether the file of a cached function has changed: after an edit of `losses.py`, a cached loop would
keep the old losses. The name of the cache folder therefore contains a hash of all sources that can end up in compiled
code.

What Numba inlines depends on what is already in the cache. Arithmetic must therefore not be reordered or fused:
otherwise a resumed run could differ from an uninterrupted run in its last digits. The sums over all objects in
`symmetric.py` are an exception: reordering halves their time, and the order of compilation has not been seen to
change their results.
"""

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import platformdirs
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

# Files with values whose methods become part of compiled code.
_PARTS = ("answer_models.py", "losses.py", "steps.py")
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}

# Free disk space needed for the cache, in bytes; it is more than all of our compiled functions take.
_ROOM = 50_000_000


def compiled(function: Function) -> Function:
    """The function, compiled at its first call with each set of types and cached on disk."""
    with _cache_folder():
        return cast(Function, numba.njit(cache=True, **_OPTIONS)(function))


def compiled_with_long_sums(function: Function) -> Function:
    """Like `compiled`, but sums may be reordered and so vectorised: for loops over all objects."""
    with _cache_folder():
        return cast(Function, numba.njit(cache=True, fastmath={"reassoc"}, **_OPTIONS)(function))


def compiled_in_memory(function: Function) -> Function:
    """The function, compiled for this process only: for users' losses and steps, which the hash does not cover."""
    return cast(Function, numba.njit(**_OPTIONS)(function))


@contextmanager
def when_compiling(announce: Callable[[], object]) -> Iterator[None]:
    """Call ``announce`` once if anything is compiled inside the block."""

    class Once(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                announce()

        def on_end(self, event: Any) -> None:
            """Do nothing."""

    with event.install_listener("numba:compile", Once()):
        yield


@contextmanager
def _cache_folder() -> Iterator[None]:
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_folder())
    try:
        yield
    finally:
        config.CACHE_DIR = before


@cache
def _folder() -> Path:
    package = Path(__file__).parents[1]
    sources = [*(package / name for name in _PARTS), *sorted((package / "_compiled").glob("*.py"))]
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = Path(platformdirs.user_cache_dir("erkle", appauthor=False)) / f"compiled-{digest}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        has_room = shutil.disk_usage(folder).free > _ROOM
    except OSError:
        has_room = False
    if not has_room:
        # Without a cache folder (in a container, for a service account), every process compiles for itself.
        folder = Path(tempfile.mkdtemp(prefix="erkle-compiled-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder

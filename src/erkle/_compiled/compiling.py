"""How functions are compiled: once per machine and source text, kept on disk.

Numba stamps only the file of the cached function, so that a cached loop would keep the losses it was compiled
with after `losses.py` has changed. The folder of the cache is therefore named after a hash of every source that
can end up in compiled code.

What is inlined where depends on what happened to be in the cache. Arithmetic is therefore done as it is written: were
sums reordered, or products fused with them, a resumed run could differ from an uninterrupted one in its last digits.
The sums over all objects in `symmetric.py` are the exception: reordered they take half the time, and no order of
compiling was seen to change them.
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

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


# Bytes that all of our compiled functions fit into, with room to spare.
_ROOM = 50_000_000


def compiled(function: Function) -> Function:
    """The function compiled at its first call for each set of types, and kept on disk."""
    with _cache_folder():
        return cast(Function, numba.njit(cache=True, **_OPTIONS)(function))


def compiled_with_long_sums(function: Function) -> Function:
    """The same, but sums may be reordered, so that they are taken in several lanes: for loops over all objects."""
    with _cache_folder():
        return cast(Function, numba.njit(cache=True, fastmath={"reassoc"}, **_OPTIONS)(function))


def compiled_in_memory(function: Function) -> Function:
    """The function compiled for this process only: for a user's parts, whose sources we cannot stamp."""
    return cast(Function, numba.njit(**_OPTIONS)(function))


@contextmanager
def when_compiling(announce: Callable[[], None]) -> Iterator[None]:
    """Call ``announce`` once if anything really has to be compiled inside the block."""

    class Once(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                announce()

        def on_end(self, event: Any) -> None:
            """Nothing to say at the end."""

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
    sources = [package / "losses.py", package / "steps.py", *sorted((package / "_compiled").glob("*.py"))]
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = Path(platformdirs.user_cache_dir("erkle", appauthor=False)) / f"compiled-{digest}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        has_room = shutil.disk_usage(folder).free > _ROOM
    except OSError:
        has_room = False
    if not has_room:
        # No home to write to (a container, a service account): compile again in every process, but run.
        folder = Path(tempfile.mkdtemp(prefix="erkle-compiled-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder

"""The folder for results: it can be written to, and one run at a time writes there."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks; there two runs must mind each other themselves.
    fcntl = None  # type: ignore[assignment]

__all__ = ["results_folder"]


@contextmanager
def results_folder(out: Path) -> Iterator[None]:
    """Make the folder, try it, and keep others out of it until the block ends."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; pass a folder.")
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    out.mkdir(parents=True, exist_ok=True)
    lock = out / ".erkle-lock"
    # Opened before any work, so that a folder one may not write to is no surprise after hours of it.
    with lock.open("a") as file:
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"Another erkle is writing to {out}; wait for it, or choose another --out.") from None
        for draft in out.glob(".erkle-*.tmp"):
            # A run that was killed while writing left it; nobody else is here now.
            draft.unlink(missing_ok=True)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
            # A run that was refused has nothing to leave behind.
            with suppress(OSError):
                for folder in made:
                    folder.rmdir()

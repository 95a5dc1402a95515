"""Options that several commands share: the folder for results and the number of processes."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

try:
    import fcntl
except ImportError:  # Windows has no such locks, so two runs may write to the same folder there.
    fcntl = None  # type: ignore[assignment]

# Coordinates beyond the rank of the kernel are zeros, so more of them are of no use.
_MOST_DIMENSIONS = 10_000

Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Jobs = Annotated[int, typer.Option(help="Number of processes; -1 for one per core.")]


def given_options(context: typer.Context) -> set[str]:
    """Names of the options that the user has given on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def check_jobs(jobs: int) -> None:
    """Refuse a number of processes that makes no sense."""
    if jobs < -1 or jobs == 0:
        raise ValueError(f"--jobs is {jobs}; pass a number of processes, or -1 for one per core.")


def check_dimensions(dimensions: int) -> None:
    """Refuse a number of coordinates that makes no sense."""
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise ValueError(f"--dimensions is {dimensions}; pass a number from 1 to {_MOST_DIMENSIONS:,}.")


@contextmanager
def results_folder(out: Path) -> Iterator[None]:
    """Create the folder, check that it is writable, and lock it for this run until the block ends."""
    from erkle.files import remove_drafts

    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; pass a folder.")
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    out.mkdir(parents=True, exist_ok=True)
    lock = out / ".erkle-lock"
    # Open the file first, so that a folder that is not writable is refused before hours of work.
    with lock.open("a") as file:
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"Another erkle process is writing to {out}; wait for it, or choose another --out."
            ) from None
        remove_drafts(out)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
            # A run that was refused has written nothing, so remove the empty folders it created.
            with suppress(OSError):
                for folder in made:
                    folder.rmdir()

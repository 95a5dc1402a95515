"""Download published files, once.

A downloaded file is complete and has the SHA-256 in the catalogue, or it is not kept. If the catalogue has no SHA-256,
a warning says so. In any case, `load` compares the answers with the published ones.
"""

import logging
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from erkle.datasets.catalogue import Entry, Part, Source
from erkle.datasets.copies import VARIABLE, Copy, find_in
from erkle.files import FileError

# Further attempts after a download failed.
RETRIES = 2
TIMEOUT_SECONDS = 30


def fetch(entry: Entry, home: Path) -> Copy:
    """Download the missing files of a data set into its folder in ``home``."""
    folder = home / entry.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part in entry.parts:
            if not any((folder / name).exists() for name in part.files):
                _fetch_part(entry, part, folder)
    except OSError as error:
        sentence = (
            f"{folder}: cannot be written ({error.strerror}); free some space or change its permissions, or download"
            f" the files yourself and pass the folder that contains {folder.name} with {VARIABLE} or --data."
        )
        raise OSError(error.errno, sentence) from error
    finally:
        with suppress(OSError):
            folder.rmdir()  # fails unless the folder is empty
    copy = find_in(entry, home)
    assert copy is not None
    return copy


def _fetch_part(entry: Entry, part: Part, folder: Path) -> None:
    problems = []
    for source in part.sources:
        try:
            _download(source, folder)
            return
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of this machine's disk, not of the network
            problems.append(f"{source.url} ({_reason(error)})")
    files = " or ".join(dict.fromkeys((part.name, *(source.file for source in part.sources))))
    raise FileError(
        f"{entry.name}: {part.name} could not be downloaded from {' or '.join(problems)}; download {files} yourself"
        f" into {folder}, or pass the folder that contains {entry.folder} with {VARIABLE} or --data."
    )


def _download(source: Source, folder: Path) -> None:
    import pooch  # takes a third of a second, and most calls of `load` need no download

    if source.sha256 is None:
        warnings.warn(
            f"{source.file}: has no known checksum, so only its answers can be compared with the published ones.",
            stacklevel=2,
        )
    store = pooch.Pooch(
        path=folder,
        base_url="",
        registry={source.file: source.sha256},
        urls={source.file: source.url},
        retry_if_failed=RETRIES,
    )
    with _Bar(source.file) as bar, _quiet(pooch.get_logger()):
        store.fetch(source.file, downloader=pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT_SECONDS))
    path = folder / source.file
    if source.sha256 is None and not _is_plausible(path):
        path.unlink()
        raise ValueError("the server sent another kind of file")
    # pooch makes the file readable only for its owner, but the folder may be shared.
    with suppress(OSError):
        path.chmod(0o644)


def _is_plausible(path: Path) -> bool:
    """Whether the file can be data. Networks that require a login send a web page instead of any file."""
    if path.suffix == ".zip":
        return zipfile.is_zipfile(path)
    with path.open("rb") as file:
        return not file.read(100).lstrip().startswith(b"<")


def _reason(error: OSError | ValueError) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"the server replied {status}"
    if not isinstance(error, OSError):
        return "its SHA-256 is not that of the published file" if "hash" in str(error) else str(error)
    return "no reply in time" if "timed out" in str(error) else "no connection"


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Silence pooch's messages, which repeat the progress bar."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Bar:
    """The progress bar that pooch updates. It is shown on standard error, if that is a terminal."""

    def __init__(self, name: str) -> None:
        columns = TextColumn(f"Downloading {name}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn()
        shown = sys.stderr.isatty()
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown)
        self._task = self._progress.add_task("", total=None)
        self.total = 0

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def update(self, n_bytes: int) -> None:
        self._progress.update(self._task, total=self.total or None, advance=n_bytes)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        """Do nothing: ``__exit__`` stops the bar. pooch requires the method."""

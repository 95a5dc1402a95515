"""Published files, fetched once.

A file is in place whole or not at all, and only if its SHA-256 is the one on record. Where none is, that is said
in a warning; the answers are compared with those published in any case, when they are loaded.
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

RETRIES = 2
TIMEOUT_SECONDS = 30


def fetch(entry: Entry, home: Path) -> Copy:
    """Bring what is missing of a data set into its folder in ``home``."""
    folder = home / entry.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part in entry.parts:
            if not any((folder / name).exists() for name in part.files):
                _fetch_part(entry, part, folder)
    except OSError as error:
        sentence = (
            f"{folder}: cannot be written ({error.strerror}); make room or allow it, or get the files by other means"
            f" and name the folder that holds {folder.name} with {VARIABLE} or --data."
        )
        raise OSError(error.errno, sentence) from error
    finally:
        with suppress(OSError):
            folder.rmdir()  # which does nothing unless it is still empty
    copy = find_in(entry, home)
    assert copy is not None
    return copy


def _fetch_part(entry: Entry, part: Part, folder: Path) -> None:
    troubles = []
    for source in part.sources:
        try:
            _download(source, folder)
            return
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # our disk, not their network
            troubles.append(f"{source.url} ({_reason(error)})")
    files = " or ".join(dict.fromkeys((part.name, *(source.file for source in part.sources))))
    raise FileError(
        f"{entry.name}: {part.name} could not be fetched from {' or '.join(troubles)}; get {files} by other means"
        f" and put it into {folder}, or name the folder that holds {entry.folder} with {VARIABLE} or --data."
    )


def _download(source: Source, folder: Path) -> None:
    import pooch  # takes a third of a second, and most loads find their files here

    if source.sha256 is None:
        warnings.warn(
            f"{source.file}: no checksum of it is known, so only the answers in it can be compared with those"
            " published.",
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
        raise ValueError("what came is another kind of file")
    # A temporary file is for its owner alone; data in a shared folder are for everybody.
    with suppress(OSError):
        path.chmod(0o644)


def _is_plausible(path: Path) -> bool:
    """Whether it may be what its name says; networks that want a login first answer everything with a web page."""
    if path.suffix == ".zip":
        return zipfile.is_zipfile(path)
    with path.open("rb") as file:
        return not file.read(100).lstrip().startswith(b"<")


def _reason(error: OSError | ValueError) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"the server says {status}"
    if not isinstance(error, OSError):
        return "what came has another SHA-256 than the file published" if "hash" in str(error) else str(error)
    return "no answer in time" if "timed out" in str(error) else "no connection"


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Without pooch's own words, which repeat the bar's."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Bar:
    """The progress bar that pooch talks to, on standard error and only for people."""

    def __init__(self, name: str) -> None:
        columns = TextColumn(f"Fetching {name}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn()
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
        """Nothing: the bar goes with its block."""

"""Where data lies on this machine, and in which of two forms.

Data is looked for in the folder that the user names and then in the user's cache, where it is fetched to; a named
folder is only read. In either, a data set lies in a folder of its own name, or in ``original`` in there: as the
files that were published, plain or zipped; or as ``triplets.csv`` (anchor, near, far) and ``objects.csv`` (id,
name). Both forms give the same answers. Published files come first, for they may say more of each answer.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import platformdirs

from erkle.datasets.archives import read_member
from erkle.datasets.catalogue import Entry
from erkle.files import FileError, Pathlike, read_bytes

__all__ = ["VARIABLE", "Original", "Tables", "cache_folder", "data_folders", "find", "find_in"]

VARIABLE = "ERKLE_DATA"


class Original(NamedTuple):
    """The published files: where each lies, and where a list of the objects may."""

    folder: Path
    paths: Mapping[str, Path]
    objects: Path

    def read(self, name: str) -> bytes:
        """The contents of a file, taken out of its archive if it is in one."""
        path = self.paths[name]
        if path.suffix.lower() == ".zip":
            return read_member(path, name)
        return read_bytes(path)


class Tables(NamedTuple):
    """A folder with triplets.csv and objects.csv."""

    folder: Path


def cache_folder() -> Path:
    """The folder that data is fetched to."""
    return Path(platformdirs.user_cache_dir("erkle", appauthor=False)) / "data"


def data_folders(data_home: Pathlike | None = None) -> tuple[Path, ...]:
    """The folders that data is looked for in: the one given, or else the environment's ``ERKLE_DATA``; the cache.

    Parameters
    ----------
    data_home : path, optional

    Returns
    -------
    tuple of Path

    Examples
    --------
    >>> [folder.name for folder in data_folders("studies")]
    ['studies', 'data']
    """
    named = data_home or os.environ.get(VARIABLE)
    return (Path(named).expanduser(), cache_folder()) if named else (cache_folder(),)


def find(entry: Entry, data_home: Pathlike | None = None) -> Original | Tables | None:
    """The first complete copy of a data set, if there is one."""
    folders = data_folders(data_home)
    if len(folders) == 2 and not folders[0].is_dir():
        raise FileError(f"{folders[0]}: there is no such folder; correct --data, data_home or {VARIABLE}.")
    return next((copy for home in folders if (copy := find_in(entry, home))), None)


def find_in(entry: Entry, home: Path) -> Original | Tables | None:
    """The complete copy of a data set in one folder of data, if there is one."""
    own = home / entry.name
    for folder in dict.fromkeys((own, own / "original", home / entry.folder)):
        paths = {part.name: path for part in entry.parts if (path := _first(folder, part.files))}
        if len(paths) == len(entry.parts):
            return Original(folder, paths, own / "objects.csv")
    if (own / "triplets.csv").exists() and (own / "objects.csv").exists():
        return Tables(own)
    return None


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((path for name in names if (path := folder / name).exists()), None)

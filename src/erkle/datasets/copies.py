"""Find and read the copies of data sets on this machine.

`find` looks in the folder that the user passes, then in the user's cache. Downloads go to the cache; the user's folder
is only read. A data set has a folder of its own name, and its files lie there or in the subfolder ``original``. It
comes in one of two forms: the published files, plain or zipped; or ``triplets.csv`` (anchor, near, far) and
``objects.csv`` (id, name). Both give the same answers. Published files are preferred, because they can have more
columns.

Files in archives are read into memory one at a time. Nothing is unpacked to disk, so an archive cannot write anywhere,
whatever paths it contains.
"""

import lzma
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import platformdirs

from erkle.datasets.catalogue import Entry
from erkle.files import FileError, Pathlike, open_binary, read_bytes
from erkle.triplets.tables import Table, read_table

VARIABLE = "ERKLE_DATA"
# Limit in bytes on a file in an archive: 256 MiB, fifty times the largest published file.
MOST_BYTES = 1 << 28


class Copy(NamedTuple):
    """A data set on this machine.

    ``paths`` holds the published files by name, or is empty if the copy has the form of tables. ``objects`` is the path
    of the list of objects, which published files need not have.
    """

    entry: Entry
    folder: Path
    paths: Mapping[str, Path]
    objects: Path

    def read(self, name: str) -> bytes:
        """The contents of a file, read from its archive if it is in one."""
        path = self.paths[name]
        return read_member(path, name) if path.suffix.lower() == ".zip" else read_bytes(path)

    def table(
        self, name: str, header: Sequence[str] | None = None, wanted: Sequence[str] = (), separator: str | None = ","
    ) -> Table:
        """A file as a table; see `read_table`."""
        return read_table(self.read(name), name, header, wanted, separator)


def cache_folder() -> Path:
    """The folder for downloaded data."""
    return Path(platformdirs.user_cache_dir("erkle", appauthor=False)) / "data"


def find(entry: Entry, data_home: Pathlike | None = None) -> Copy | None:
    """The first complete copy, from ``data_home`` (by default ``ERKLE_DATA``) or else from the cache."""
    homes = [cache_folder()]
    if named := data_home or os.environ.get(VARIABLE):
        home = Path(named).expanduser()
        if not home.is_dir():
            raise FileError(f"{home}: there is no such folder; correct --data, data_home or {VARIABLE}.")
        homes.insert(0, home)
    return next((copy for home in homes if (copy := find_in(entry, home))), None)


def find_in(entry: Entry, home: Path) -> Copy | None:
    """The complete copy of a data set in one data folder, or None."""
    own = home / entry.name
    for folder in dict.fromkeys((own, own / "original", home / entry.folder)):
        paths = {part.name: path for part in entry.parts if (path := _first(folder, part.files))}
        if len(paths) == len(entry.parts):
            return Copy(entry, folder, paths, own / "objects.csv")
    if (own / "triplets.csv").exists() and (own / "objects.csv").exists():
        return Copy(entry, own, {}, own / "objects.csv")
    return None


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((path for name in names if (path := folder / name).exists()), None)


def read_member(path: Path, name: str | None = None) -> bytes:
    """The contents of the file ``name`` in any folder of an archive; without a name, of the archive's only file."""
    try:
        with open_binary(path) as file, zipfile.ZipFile(file) as archive:
            member = _chosen(archive, path.name, name)
            with archive.open(member) as stream:
                data = stream.read(MOST_BYTES + 1)
    # Python raises NotImplementedError for an unknown compression and RuntimeError for a password.
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError(f"{path.name}: is not a readable ZIP archive ({error}); download it again.") from error
    if len(data) > MOST_BYTES:
        raise FileError(f"{path.name}: {member[:60]} unpacks to over {MOST_BYTES >> 20} MiB; do not trust it.")
    return data


def _chosen(archive: zipfile.ZipFile, file: str, name: str | None) -> str:
    """The path of a file in an archive. If several have the name, take the one in the fewest folders."""
    found = []
    for path in archive.namelist():
        parts = path.replace("\\", "/").split("/")
        # A folder's path ends in a slash. macOS adds a file of metadata under __MACOSX for each file.
        if parts[-1] and "__MACOSX" not in parts and name in (None, parts[-1]):
            found.append((len(parts), path))
    if not found or (name is None and len(found) > 1):
        held = f"{len(found)} files instead of one" if name is None else f"no file {name}"
        raise FileError(f"{file}: holds {held}; check that it is the right archive.")
    return min(found)[1]

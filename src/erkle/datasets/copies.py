"""Where data lies on this machine, and in which of two forms.

Data is looked for in the folder that the user names and then in the user's cache, where it is fetched to; a named
folder is only read. In either, a data set lies in a folder of its own name, or in ``original`` in there: as the
files that were published, plain or zipped; or as ``triplets.csv`` (anchor, near, far) and ``objects.csv`` (id,
name). Both forms give the same answers. Published files come first, for they may say more of each answer.

Archives are read one file at a time and into memory. Nothing is unpacked to the disk, so no archive can write
anywhere, whatever paths it names. A file that would unfold to more than a quarter of a gigabyte, fifty times the
largest published here, is refused.
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
MOST_BYTES = 1 << 28


class Copy(NamedTuple):
    """A data set on this machine: the published files, by their names, or tables where there are none of these.

    ``objects`` is where a list of the objects lies, or may lie beside published files.
    """

    entry: Entry
    folder: Path
    paths: Mapping[str, Path]
    objects: Path

    def read(self, name: str) -> bytes:
        """The contents of a file, taken out of its archive if it is in one."""
        path = self.paths[name]
        return read_member(path, name) if path.suffix.lower() == ".zip" else read_bytes(path)

    def table(
        self, name: str, header: Sequence[str] | None = None, wanted: Sequence[str] = (), separator: str | None = ","
    ) -> Table:
        """A file read as `read_table` does."""
        return read_table(self.read(name), name, header, wanted, separator)


def cache_folder() -> Path:
    """The folder that data is fetched to."""
    return Path(platformdirs.user_cache_dir("erkle", appauthor=False)) / "data"


def find(entry: Entry, data_home: Pathlike | None = None) -> Copy | None:
    """The first complete copy: in the folder given, or else in that of ``ERKLE_DATA``; then in the cache."""
    homes = [cache_folder()]
    if named := data_home or os.environ.get(VARIABLE):
        home = Path(named).expanduser()
        if not home.is_dir():
            raise FileError(f"{home}: there is no such folder; correct --data, data_home or {VARIABLE}.")
        homes.insert(0, home)
    return next((copy for home in homes if (copy := find_in(entry, home))), None)


def find_in(entry: Entry, home: Path) -> Copy | None:
    """The complete copy of a data set in one folder of data, if there is one."""
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
    """The contents of the file of that name, in whatever folder of the archive; without a name, of the only file."""
    try:
        with open_binary(path) as file, zipfile.ZipFile(file) as archive:
            member = _chosen(archive, path.name, name)
            with archive.open(member) as stream:
                data = stream.read(MOST_BYTES + 1)
    # NotImplementedError: a compression Python does not know; RuntimeError: a password.
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError(f"{path.name}: is no ZIP archive that can be read ({error}); get it again.") from error
    if len(data) > MOST_BYTES:
        raise FileError(f"{path.name}: {member[:60]} unfolds to more than {MOST_BYTES >> 20} MiB; do not trust it.")
    return data


def _chosen(archive: zipfile.ZipFile, file: str, name: str | None) -> str:
    """The path of a file in an archive: of several with the name, the one in the fewest folders."""
    found = []
    for path in archive.namelist():
        parts = path.replace("\\", "/").split("/")
        # A folder's path ends in a slash; macOS puts shadows of all files beside them.
        if parts[-1] and "__MACOSX" not in parts and name in (None, parts[-1]):
            found.append((len(parts), path))
    if not found or (name is None and len(found) > 1):
        wanted = "not exactly one file" if name is None else f"no file {name}"
        raise FileError(f"{file}: holds {wanted}; check that it is the right archive.")
    return min(found)[1]

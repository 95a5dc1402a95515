"""Files out of ZIP archives, one at a time and into memory, so that no archive can write anywhere.

An archive that tries to (absolute paths, ``..``) is refused whole, and so is a file that would unfold to more
than a quarter of a gigabyte, fifty times the largest published here.
"""

import lzma
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from erkle.files import FileError, open_binary

__all__ = ["read_member"]

MOST_BYTES = 1 << 28


def read_member(path: Path, name: str | None = None) -> bytes:
    """The contents of the file of that name, in whatever folder of the archive; without a name, of the only file."""
    try:
        with open_binary(path) as file, zipfile.ZipFile(file) as archive:
            return _read(archive, _chosen(archive, path.name, name), path.name)
    # NotImplementedError: a compression Python does not know; RuntimeError: a password.
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError(f"{path.name}: is no ZIP archive that can be read ({error}); get it again.") from error


def _chosen(archive: zipfile.ZipFile, file: str, name: str | None) -> zipfile.ZipInfo:
    found = []
    for info in archive.infolist():
        place = PurePosixPath(info.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in place.parts[0]:
            raise FileError(f"{file}: holds {info.filename[:60]!r}, outside of its own folder; do not trust it.")
        # macOS puts shadows of all files beside them.
        if not info.is_dir() and "__MACOSX" not in place.parts and name in (None, place.name):
            found.append(info)
    if not found or (name is None and len(found) > 1):
        wanted = "not exactly one file" if name is None else f"no file {name}"
        raise FileError(f"{file}: holds {wanted}; check that it is the right archive.")
    return min(found, key=lambda info: info.filename.count("/"))


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: str) -> bytes:
    if info.file_size <= MOST_BYTES:
        with archive.open(info) as stream:
            data = stream.read(MOST_BYTES + 1)
        if len(data) <= MOST_BYTES:
            return data
    raise FileError(f"{file}: {info.filename[:60]} unfolds to more than {MOST_BYTES >> 20} MiB; do not trust it.")

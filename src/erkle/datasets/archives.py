"""Files out of ZIP archives, one at a time and into memory.

Nothing is unpacked to the disk, so no archive can write anywhere, whatever paths it names. A file that would unfold
to more than a quarter of a gigabyte, fifty times the largest published here, is refused.
"""

import lzma
import zipfile
import zlib
from pathlib import Path

from erkle.files import FileError, open_binary

__all__ = ["read_member"]

MOST_BYTES = 1 << 28


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

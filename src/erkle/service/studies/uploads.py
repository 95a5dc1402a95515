"""Files from an upload, a ZIP or a folder, read one at a time with limits on their size.

The sizes that a ZIP declares are not trusted: bytes are counted while they are unpacked, and no two entries may share
bytes. Names that lead out of the folder and ZIPs inside a ZIP are refused, and nothing is written to disk.
"""

import io
import re
import stat
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

from erkle.files import FileError, open_binary

_CHUNK = 1 << 16
_ZIP = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_ENTRY = b"PK\x01\x02"
# Bytes of an unpacked file below which its compression ratio is not checked.
_FREE_RATIO = 1 << 20
_IGNORED = frozenset({"__macosx", "thumbs.db", "desktop.ini"})


class Caps(NamedTuple):
    """Limits on what is read: the number of files, bytes per file and in total, and the compression ratio."""

    entries: int = 10_000
    file: int = 64 << 20
    total: int = 1 << 30
    ratio: int = 200


CAPS = Caps()
# Files on disk may be larger, because they belong to the user who runs the command.
LARGEST = 512 << 20
_FOLDER_CAPS = Caps(file=LARGEST, total=64 << 30)


class _Part(NamedTuple):
    """A file that can be opened, with its compressed size if it is in a ZIP."""

    open: Callable[[], AbstractContextManager[IO[bytes]]]
    packed: int | None = None


class Files:
    """Files by name, sorted so that 2 comes before 10.

    Parameters
    ----------
    caps : Caps
        Limits for all files together; a file that is read twice counts once.
    """

    def __init__(self, caps: Caps = CAPS) -> None:
        self.caps = caps
        self._parts: dict[str, _Part] = {}
        self._folded: set[str] = set()
        # Bytes that were read of each file, and of all.
        self._sizes: dict[str, int] = {}
        self._total = 0

    @classmethod
    def sent(cls, files: Iterable[tuple[str, BinaryIO]], caps: Caps = CAPS) -> "Files":
        """Collect uploaded files, each a name and an open file; a ZIP is replaced by the files in it."""
        found = cls(caps)
        for name, file in files:
            file.seek(0)
            name = clean_name(name)
            if file.read(4) in (_ZIP, _EMPTY_ZIP):
                found._add_zip(name, file)
            elif not _ignored(name):
                found._add(name, _Part(partial(_left_open, file)))
        return found

    @classmethod
    def folder(cls, folder: Path, caps: Caps = _FOLDER_CAPS) -> "Files":
        """Collect the files of a folder and its subfolders."""
        found = cls(caps)
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not _ignored(name):
                found._add(clean_name(name), _Part(partial(open_binary, path)))
        return found

    def __iter__(self) -> Iterator[str]:
        """Yield all names, in the order in which the files were sent."""
        return iter(self._parts)

    def without(self, names: Collection[str]) -> "Files":
        """Return the other files."""
        rest = Files(self.caps)
        rest._parts = {name: part for name, part in self._parts.items() if name not in names}
        rest._sizes, rest._total = dict(self._sizes), self._total
        return rest

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._parts, key=_natural)

    def find(self, name: str) -> str | None:
        """Find a file by its path, or by the end of its path if that is unique; None if there is no such file."""
        wanted = name.replace("\\", "/").removeprefix("./")
        if wanted in self._parts:
            return wanted
        found = [path for path in self._parts if path.endswith(f"/{wanted}") or wanted.endswith(f"/{path}")]
        return found[0] if len(found) == 1 else None

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        # Joined chunks would take twice as much memory.
        content = io.BytesIO()
        content.writelines(self.chunks(name))
        return content.getvalue()

    def chunks(self, name: str, most: int | None = None) -> Iterator[bytes]:
        """Yield the bytes of a file in chunks, for files that may not fit into memory; refuse more than ``most``."""
        part = self._parts[name]
        try:
            with part.open() as file:
                yield from self._counted(name, file, part.packed, self.caps.file if most is None else most)
        except FileError:
            raise
        # A damaged file raises BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error and more.
        except Exception:
            raise FileError(f"{name}: is truncated or damaged; send it again.") from None

    def _counted(self, name: str, file: IO[bytes], packed: int | None, most: int) -> Iterator[bytes]:
        size = 0
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            counted = self._sizes.get(name, 0)
            self._sizes[name] = max(counted, size)
            self._total += self._sizes[name] - counted
            if size > most:
                raise FileError(f"{name}: is larger than {_megabytes(most)}; make it smaller.")
            if self._total > self.caps.total:
                raise FileError(
                    f"{name}: makes the files larger than {_megabytes(self.caps.total)} in total; send fewer."
                )
            if packed is not None and size > max(_FREE_RATIO, self.caps.ratio * packed):
                raise FileError(f"{name}: grows more than {self.caps.ratio}-fold when unpacked; compress it less.")
            if size == len(chunk) and packed is not None and chunk.startswith(_ZIP):
                raise FileError(f"{name}: is a ZIP inside a ZIP; put its files into the outer ZIP.")
            yield chunk

    def _add(self, name: str, part: _Part) -> None:
        # Some file systems do not distinguish Cat.jpg from cat.jpg.
        if name.casefold() in self._folded:
            raise FileError(f"{name}: two files have this name; rename one of them.")
        if len(self._parts) >= self.caps.entries:
            raise FileError(f"{name}: is one file too many; send at most {self.caps.entries:,} files.")
        self._folded.add(name.casefold())
        self._parts[name] = part

    def _add_zip(self, name: str, file: BinaryIO) -> None:
        if _occurrences(file, _ENTRY) > self.caps.entries:
            raise FileError(f"{name}: has more than {self.caps.entries:,} entries; split it.")
        try:
            archive = zipfile.ZipFile(file)
        except Exception:
            raise FileError(f"{name}: is a truncated or damaged ZIP file; create it again.") from None
        _check_overlaps(archive, name)
        for entry in archive.infolist():
            _check_entry(entry, name)
            inside = clean_name(entry.filename, name)
            if not entry.is_dir() and not _ignored(inside):
                self._add(inside, _Part(partial(archive.open, entry), entry.compress_size))


def clean_name(name: str, where: str = "") -> str:
    r"""Return a relative path with / between its parts, or raise `FileError` if it leads out of the folder.

    >>> clean_name("pictures\\cat.jpg")
    'pictures/cat.jpg'
    >>> clean_name("../../etc/passwd")
    Traceback (most recent call last):
    erkle.files.FileError: '../../etc/passwd' leads out of its folder; rename it.
    """
    shown = repr(name[:100]) + (f" (in {where})" if where else "")
    path = name.replace("\\", "/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path) or ".." in path.split("/"):
        raise FileError(f"{shown} leads out of its folder; rename it.")
    if not path or len(path) > 1000 or not path.isprintable():
        raise FileError(f"{shown} is not a valid file name; rename it.")
    return "/".join(part for part in path.split("/") if part not in ("", ".")) or path


def _check_overlaps(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse entries that share bytes, or that claim to have more bytes than there are, to hide how much they grow."""
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    starts = [*(entry.header_offset for entry in entries), archive.start_dir]
    for entry, end in zip(entries, starts[1:], strict=True):
        if entry.header_offset + entry.compress_size > end:
            raise FileError(f"{name}: is a truncated or damaged ZIP file; create it again.")


def _check_entry(entry: zipfile.ZipInfo, where: str) -> None:
    shown, kind = repr(entry.filename[:100]), stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise FileError(f"{shown} (in {where}) is a link or a device; put the file itself into the ZIP.")
    if entry.flag_bits & 1:
        raise FileError(f"{shown} (in {where}) is encrypted; create a ZIP without a password.")
    # Unpacking other formats may need gigabytes of memory.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{shown} (in {where}) uses an unusual compression; create an ordinary ZIP.")


def _ignored(name: str) -> bool:
    return any(part.startswith(".") or part.lower() in _IGNORED for part in name.split("/"))


def _left_open(file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    # The file may have been read before.
    file.seek(0)
    return nullcontext(file)


def _occurrences(file: BinaryIO, what: bytes) -> int:
    """Count some bytes in a file; each entry of a ZIP has a signature of four bytes."""
    found, rest = 0, b""
    file.seek(0)
    while chunk := file.read(1 << 20):
        found += (rest + chunk).count(what)
        rest = (rest + chunk)[1 - len(what) :]
    return found


def _natural(name: str) -> str:
    # One text, because a list of parts takes fifty times as much memory as the name.
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), name.casefold())


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"

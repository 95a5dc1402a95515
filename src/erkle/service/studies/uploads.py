"""Files that somebody sends, one by one or in a ZIP, or has on disk; they are read one at a time under caps.

Nothing that a ZIP says of itself is believed: bytes are counted as they come out. No name leads out of the place it
was sent to, nothing is written to the disk, and a ZIP in a ZIP is refused.
"""

import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

from erkle.files import FileError, open_binary

_CHUNK = 1 << 16
_ZIP = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_ENTRY = b"PK\x01\x02"
_FREE_RATIO = 1 << 20
_IGNORED = frozenset({"__macosx", "thumbs.db", "desktop.ini"})


class Caps(NamedTuple):
    """How much is read, at most."""

    entries: int = 10_000
    file: int = 64 << 20
    total: int = 1 << 30
    ratio: int = 200


CAPS = Caps()
# Files on disk belong to whoever runs the command.
LARGEST = 512 << 20
_FOLDER_CAPS = Caps(file=LARGEST, total=64 << 30)


class _Part(NamedTuple):
    """A file to be: what opens it, and how many bytes of a ZIP it takes, where it is in one."""

    open: Callable[[], AbstractContextManager[IO[bytes]]]
    packed: int | None = None


class Files:
    """Files by name, in the order of their names, where 2 comes before 10.

    Parameters
    ----------
    caps : Caps
        What is read of all of them together; reading a file twice counts twice.
    """

    def __init__(self, caps: Caps = CAPS) -> None:
        self.caps = caps
        self._parts: dict[str, _Part] = {}
        self._folded: set[str] = set()
        self._read = 0

    @classmethod
    def sent(cls, files: Iterable[tuple[str, BinaryIO]], caps: Caps = CAPS) -> "Files":
        """Files that came with a request, each a name and an open file; of a ZIP, those inside."""
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
        """The files of a folder, and of the folders in it."""
        found = cls(caps)
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not _ignored(name):
                found._add(clean_name(name), _Part(partial(open_binary, path)))
        return found

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._parts, key=_natural)

    def find(self, name: str) -> str | None:
        """The name that this one means: the whole path, or only its end where no other path ends so."""
        wanted = name.replace("\\", "/").removeprefix("./")
        if wanted in self._parts:
            return wanted
        found = [path for path in self._parts if path.endswith(f"/{wanted}") or wanted.endswith(f"/{path}")]
        return found[0] if len(found) == 1 else None

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of a file in pieces, for one that need not fit into memory."""
        part = self._parts[name]
        try:
            with part.open() as file:
                yield from self._counted(name, file, part.packed)
        except FileError:
            raise
        # Damage shows as BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, struct.error and more.
        except Exception:
            raise FileError(f"{name}: is cut short or damaged; send it again.") from None

    def _counted(self, name: str, file: IO[bytes], packed: int | None) -> Iterator[bytes]:
        size = 0
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            self._read += len(chunk)
            if size > self.caps.file:
                raise FileError(f"{name}: is larger than {_megabytes(self.caps.file)}; make it smaller.")
            if self._read > self.caps.total:
                raise FileError(f"{name}: with it the files are larger than {_megabytes(self.caps.total)}; send fewer.")
            if packed is not None and size > max(_FREE_RATIO, self.caps.ratio * packed):
                raise FileError(f"{name}: grows more than {self.caps.ratio}-fold when it is unpacked; pack it anew.")
            if size == len(chunk) and packed is not None and chunk.startswith(_ZIP):
                raise FileError(f"{name}: is a ZIP in a ZIP; put its files into the outer one.")
            yield chunk

    def _add(self, name: str, part: _Part) -> None:
        # Some disks cannot tell Cat.jpg from cat.jpg, and some people cannot.
        if name.casefold() in self._folded:
            raise FileError(f"{name}: there are two files of this name; rename one of them.")
        if len(self._parts) >= self.caps.entries:
            raise FileError(f"{name}: is one file too many; send at most {self.caps.entries:,}.")
        self._folded.add(name.casefold())
        self._parts[name] = part

    def _add_zip(self, name: str, file: BinaryIO) -> None:
        if _occurrences(file, _ENTRY) > self.caps.entries:
            raise FileError(f"{name}: has more than {self.caps.entries:,} entries; split it.")
        try:
            archive = zipfile.ZipFile(file)
        except Exception:
            raise FileError(f"{name}: is a ZIP file that is cut short or damaged; make it anew.") from None
        for entry in archive.infolist():
            _check_entry(entry, name)
            inside = clean_name(entry.filename, name)
            if not entry.is_dir() and not _ignored(inside):
                self._add(inside, _Part(partial(archive.open, entry), entry.compress_size))


def clean_name(name: str, where: str = "") -> str:
    r"""A name that leads nowhere else, with / between its parts.

    >>> clean_name("pictures\\cat.jpg")
    'pictures/cat.jpg'
    >>> clean_name("../../etc/passwd")
    Traceback (most recent call last):
    erkle.files.FileError: '../../etc/passwd' leads out of its folder; rename it.
    """
    shown, told = repr(name[:100]), f" (in {where})" if where else ""
    path = name.replace("\\", "/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path) or ".." in path.split("/"):
        raise FileError(f"{shown}{told} leads out of its folder; rename it.")
    if not path or len(path) > 1000 or not path.isprintable():
        raise FileError(f"{shown}{told} is no name for a file; rename it.")
    return "/".join(part for part in path.split("/") if part not in ("", ".")) or path


def _check_entry(entry: zipfile.ZipInfo, where: str) -> None:
    shown, kind = repr(entry.filename[:100]), stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise FileError(f"{shown} (in {where}) is a link or a device; put the file itself into the ZIP.")
    if entry.flag_bits & 1:
        raise FileError(f"{shown} (in {where}) is encrypted; make a ZIP without a password.")
    # Others may want gigabytes to be unpacked.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{shown} (in {where}) is packed in a rare way; make an ordinary ZIP.")


def _ignored(name: str) -> bool:
    return any(part.startswith(".") or part.lower() in _IGNORED for part in name.split("/"))


def _left_open(file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    # It may have been read before.
    file.seek(0)
    return nullcontext(file)


def _occurrences(file: BinaryIO, what: bytes) -> int:
    """How often some bytes are in a file; of the list of a ZIP's entries each has four of its own."""
    found, rest = 0, b""
    file.seek(0)
    while chunk := file.read(1 << 20):
        found += (rest + chunk).count(what)
        rest = (rest + chunk)[1 - len(what) :]
    return found


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", name.casefold())
    # Digits of other scripts, too; more than a few hundred of them are no number.
    return [(0, int(part), "") if part.isdecimal() and len(part) < 300 else (1, 0, part) for part in parts]


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"

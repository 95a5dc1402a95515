"""Where the files are that a study names: on the disk of whoever runs a command, or among those that were sent."""

from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Protocol

from erkle.files import FileError
from erkle.service.studies.complaints import printable
from erkle.service.studies.object_lists import Entry, listed
from erkle.service.studies.uploads import Files

__all__ = ["OnDisk", "Sent", "Shelf", "Table", "from_disk"]

_TABLES = (".csv", ".tsv", ".txt")
_LARGEST = 512 << 20


class Table(NamedTuple):
    """Objects that were listed, and where the files are that the list names."""

    entries: list[Entry]
    shelf: "Shelf"


class Shelf(Protocol):
    """Files by the names that a study has for them."""

    def objects(self, named: str | None) -> Table | Files:
        """What the study is about, listed in a table or as files, each of them an object."""

    def read(self, named: str) -> bytes:
        """The bytes of a file."""


class OnDisk:
    """Anything that one may read oneself; files that stay open are closed by ``opened``."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self._folder, self._opened = folder, opened

    def objects(self, named: str | None) -> Table | Files:
        """The entries of a CSV, or the files of a folder or ZIP."""
        if named is None:
            raise FileError("objects is missing; add a list of names, or the path of a CSV file, folder or ZIP.")
        path = self._folder / named
        if path.is_dir():
            return Files.folder(path)
        if path.suffix.lower() == ".zip" and path.is_file():
            return Files.sent([(path.name, self._opened.enter_context(path.open("rb")))])
        if path.suffix.lower() in _TABLES:
            return Table(listed(path.name, from_disk(path)), OnDisk(path.parent, self._opened))
        raise FileError(f"objects is {named[:100]!r}, which is no CSV file, folder or ZIP; check the path.")

    def read(self, named: str) -> bytes:
        """The bytes of a file; its path starts in the folder."""
        return from_disk(self._folder / named)


class Sent:
    """Files that came with a request: nothing else can be named."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def objects(self, named: str | None) -> Table | Files:
        """The entries of the table that was sent, if one was, or all files."""
        tables = [name for name in self._files.names if name.lower().endswith(_TABLES)]
        if named is not None and named.lower().endswith(_TABLES):
            tables = [self._found(named)]
        if len(tables) > 1:
            raise FileError(f"{tables[0]} and {tables[1]} were both sent; send one list of objects.")
        return Table(listed(tables[0], self._files.read(tables[0])), self) if tables else self._files

    def read(self, named: str) -> bytes:
        """The bytes of a file; the end of its path is enough where no other ends so."""
        return self._files.read(self._found(named))

    def _found(self, named: str) -> str:
        if (found := self._files.find(named)) is None:
            raise FileError(f"{printable(named)}: is not among the files that were sent; send it, too.")
        return found


def from_disk(path: Path) -> bytes:
    """The bytes of a file, or a sentence that says why not."""
    try:
        if path.stat().st_size > _LARGEST:
            raise FileError(f"{path.name}: is larger than {_LARGEST >> 20} MB; make it smaller.")
        return path.read_bytes()
    except FileNotFoundError:
        raise FileError(f"{path.name}: there is no such file in {path.absolute().parent}; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{path.name}: is a folder, not a file; give the path of a file in it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path.name}: cannot be read ({reason}); check the path and its permissions.") from None

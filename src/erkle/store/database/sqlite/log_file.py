"""The write-ahead log (WAL) of an SQLite database, as a file.

A log begins with a header. As long as the header stays the same, the log only grows. SQLite itself either empties a log
or starts it again with a new header. So a log that has shrunk, or whose header is wrong, was changed by somebody else,
and SQLite would not find in it what it writes there from then on.
"""

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import quote

from erkle.store.errors import Damaged

# The ending of the log's name.
LOG = "-wal"
# Bytes of the log before its first page, and before each page.
HEADER, PAGE_HEADER = 32, 24
# The number with which a log begins; its last bit is the byte order of the checksum.
_MAGIC = 0x377F0682
# Where a database says whether it is read with a log, and the number that means that it has none.
_READ_VERSION, _WITHOUT_LOG = 19, 1


class LogState(NamedTuple):
    """The size and the header of a log at one moment; there is no header if the log is empty."""

    size: int = 0
    header: bytes = b""

    @classmethod
    def of(cls, path: str) -> Self:
        """Read the state of a log that may not exist."""
        log = Path(path)
        # Opening a pipe would never end.
        with suppress(OSError):
            if log.is_file():
                with log.open("rb", buffering=0) as file:
                    header = file.read(HEADER)
                    return cls(file.seek(0, os.SEEK_END), header) if header else cls()
        return cls()

    def may_follow(self, before: Self) -> bool:
        """Whether SQLite can have left the log like this, given an earlier state of the same file."""
        if self.header == before.header:
            return self.size >= before.size
        return not self.header or _is_valid(self.header)


def _is_valid(header: bytes) -> bool:
    """Whether a header has the checksum that SQLite gives it (https://sqlite.org/fileformat2.html#walformat)."""
    magic = int.from_bytes(header[:4], "big")
    if len(header) < HEADER or magic | 1 != _MAGIC | 1:
        return False
    first = second = 0
    words = struct.unpack(f"{'>' if magic & 1 else '<'}6I", header[:24])
    for one, two in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return struct.pack(">2I", first, second) == header[24:]


def check_log(path: str) -> None:
    """Raise `Damaged` if the log next to a database belongs to another one, because this one has no log.

    That happens if a backup is restored and the old log is left where it was. SQLite would mix both. The database must
    not be open in this process: closing a file ends all of the process's locks on it.
    """
    if LogState.of(path + LOG).size:
        with suppress(OSError), Path(path).open("rb", buffering=0) as file:
            if file.read(_READ_VERSION + 1)[_READ_VERSION:] == bytes([_WITHOUT_LOG]):
                raise Damaged(
                    f"{path}: is a backup, and {path}{LOG} belongs to another database; move {path}{LOG} to another "
                    "folder."
                )


def open_log(connection: sqlite3.Connection) -> None:
    """Let a connection open the database and its log, which SQLite does at the first read."""
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()


@contextmanager
def keeping_log(name: str) -> Iterator[None]:
    """Keep the log if this block closes the last connection to a database.

    SQLite would write the log into the database and delete it. That would make damage permanent, for example if the
    database was restored and the log belongs to another one.
    """
    with ExitStack() as stack:
        # If the database cannot be opened, nobody can write the log into it either.
        with suppress(sqlite3.Error, UnicodeDecodeError):
            keeper = sqlite3.connect(f"file:{quote(name)}?mode=ro", uri=True, timeout=0)
            stack.callback(keeper.close)
            open_log(keeper)
        yield

"""The files of an open SQLite database: the database, its write-ahead log (WAL) and the index of the log.

If one of them is removed or replaced, SQLite goes on with the file that it has open. What it writes there is lost when
the process ends. So every write compares the files with those that were opened, and the log with what it was before.

If the log was removed, SQLite still has its content. It is written into the database once, unless somebody else may
have changed the database meanwhile: two logs must not be mixed.
"""

import os
import sqlite3
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from erkle.store.database.sqlite.log_file import LOG, LogState, check_log, open_log
from erkle.store.errors import Damaged, StoreError, Unavailable

# Endings of the other files next to a database: the index of the log, and the numbers of acknowledged answers.
INDEX, ACKNOWLEDGED = "-shm", "-acknowledged"
# How often each database is open in this process.
_open = Counter[str]()


class _File(NamedTuple):
    """A file on disk; all fields are 0 if it does not exist."""

    device: int = 0
    inode: int = 0
    size: int = 0
    modified_ns: int = 0

    @classmethod
    def at(cls, path: str) -> "_File":
        try:
            found = os.stat(path)  # noqa: PTH116
        except OSError:
            return cls()
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def is_same(self, other: "_File") -> bool:
        """Whether this is the same file, though its content may have changed."""
        return self[:2] == other[:2]


class _Files(NamedTuple):
    database: _File
    log: _File
    log_index: _File

    @classmethod
    def of(cls, name: str) -> "_Files":
        return cls(_File.at(name), _File.at(name + LOG), _File.at(name + INDEX))


def prepare_file(name: str) -> None:
    """Create a database file that only its owner can read; refuse one that has several names, or has lost its content.

    SQLite gives the log and its index the permissions of the database. It would delete the log of an empty database.
    """
    refuse_other_log(name)
    if Path(name).is_file() and Path(name).stat().st_nlink > 1:
        # SQLite has a log for each name, and does not read the others.
        raise StoreError(
            f"{name}: has several names (hard links), and another server may use another of them; delete the other "
            "names, or copy the file."
        )
    if not _File.at(name).size:
        for other in (name + LOG, name + ACKNOWLEDGED):
            if _File.at(other).size:
                raise Damaged(
                    f"{name}: is missing or empty, but {other} is there, so a server has used it before; restore the "
                    f"file or a backup, or move {other} to another folder to start anew."
                )
    # If this fails, SQLite reports why the file cannot be opened.
    with suppress(OSError):
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def refuse_other_log(name: str) -> None:
    """Raise `Damaged` if the log next to a database belongs to another one."""
    if not _open[name]:
        check_log(name)


class OpenFiles:
    """The files of a database that is in WAL mode, and a connection that keeps the log open.

    Without that connection, SQLite itself would remove the log whenever the last connection is closed.

    Parameters
    ----------
    name : str
        The path of the database.

    Attributes
    ----------
    connection : sqlite3.Connection
        A connection for checks and checkpoints, which begins no transactions of its own.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        self._lock = threading.Lock()
        # Whether everything in a removed log has been written into the database.
        self._is_saved = False
        try:
            self.connection.execute("PRAGMA synchronous=FULL")
            open_log(self.connection)
        except BaseException:
            self.connection.close()
            raise
        _open[self._name] += 1
        # The files as they were when nothing was wrong with them.
        self._sound, self._log = _Files.of(self._name), LogState.of(self._name + LOG)

    def check(self) -> None:
        """Raise `Unavailable` if one of the files was removed or replaced, or the log cut short or overwritten."""
        with self._lock:
            self._check()

    def close(self) -> None:
        """Close the connection. The last connection to a database removes its log."""
        self.connection.close()
        _open[self._name] -= 1

    def _check(self) -> None:
        found = _Files.of(self._name)
        if all(map(_File.is_same, found, self._sound)):
            self._sound = found
            self._check_log()
            return
        if not found.database.is_same(self._sound.database):
            raise Unavailable(
                f"{self._name}: was removed or replaced while it was in use, so nothing more is written to it; export "
                "what you need, stop the server, restore the file and start the server again."
            )
        if found.log.is_same(self._sound.log):
            raise Unavailable(
                f"{self._name}: its file {Path(self._name).name}{INDEX} was removed or replaced while it was in use, "
                "so nothing more is written to it; stop the server and start it again."
            )
        raise Unavailable(f"{self._name}: {self._log_is_lost(found)}")

    def _check_log(self) -> None:
        log = LogState.of(self._name + LOG)
        if not log.may_follow(self._log):
            raise Unavailable(
                f"{self._name}: its write-ahead log {Path(self._name).name}{LOG} was cut short or overwritten while it "
                "was in use, so nothing more is written; stop the server, and start it again to see whether answers "
                "are missing."
            )
        self._log = log

    def _log_is_lost(self, found: _Files) -> str:
        if not self._is_saved and self._may_save(found):
            self._is_saved = self._checkpoint()
        lost = f"its write-ahead log {Path(self._name).name}{LOG} was removed or replaced while it was in use"
        if self._is_saved:
            return (
                f"{lost}. Its content has been saved in the database, but nothing more is written; stop the server and "
                "start it again."
            )
        return (
            f"{lost}, and its content may not be in the database. Nothing more is written; export what you need before "
            "you stop the server, then run erkle check."
        )

    def _may_save(self, found: _Files) -> bool:
        """Whether the database is as this process knows it, and nobody can have written to another log."""
        is_unchanged = found.database == self._sound.database
        return (
            is_unchanged
            and not found.log.size
            and (not found.log_index.inode or found.log_index.is_same(self._sound.log_index))
        )

    def _checkpoint(self) -> bool:
        """Write the log into the database; return whether all of it is there now, and not only a part."""
        with suppress(sqlite3.Error):
            # Passive: this thread may be inside a write transaction, for which any other checkpoint would wait.
            [[_, n_pages, n_written]] = self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._sound = self._sound._replace(database=_File.at(self._name))
            return bool(n_pages == n_written)
        return False

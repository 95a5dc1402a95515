"""SQLite as the database: one file, in WAL mode, with every commit flushed to disk.

Writers queue, and each write transaction locks the whole database from its first statement on.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection, event

from erkle.files import write_atomically
from erkle.store.database.database import Database
from erkle.store.database.engines import new_sqlite_engine
from erkle.store.database.group_commit import GroupCommit
from erkle.store.database.location import Pathlike
from erkle.store.database.readiness import Readiness
from erkle.store.database.sqlite.acknowledged import AcknowledgedAnswers
from erkle.store.database.sqlite.files import OpenFiles, prepare_file
from erkle.store.database.sqlite.log_file import keeping_log, open_log
from erkle.store.database.sqlite.room import is_full
from erkle.store.database.sqlite.soundness import check_soundness
from erkle.store.database.trouble import SQLITE_LOCK_SECONDS, translating_errors
from erkle.store.errors import Busy, Damaged, StoreError

T = TypeVar("T")


class SqliteDatabase(Database):
    """An SQLite file, which is created if it does not exist.

    Parameters
    ----------
    url : URL
        With the real path of the file, not that of a symbolic link: SQLite puts the log next to the real file.
    """

    def __init__(self, url: URL) -> None:
        super().__init__(str(url.database), new_sqlite_engine(url), Readiness(is_shared=False))
        self._files: OpenFiles | None = None
        self._group_commit = GroupCommit(self.writing)
        self._acknowledged = AcknowledgedAnswers(self.name)

    def prepare(self) -> None:
        """Check the file and its log, and create or migrate its tables if necessary."""
        prepare_file(self.name)
        with keeping_log(self.name):
            super().prepare()

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work(connection)`` returns once it is on disk; waiting threads share a transaction."""
        return self._group_commit.write(work)

    def check_files(self) -> None:
        """Raise `Unavailable` if a file was removed or replaced: writes to a removed file are lost."""
        if self._files is not None:
            self._files.check()

    def tend(self) -> None:
        """Try to write if necessary, and note the numbers of the last answers in a file next to the database."""
        # On a full disk, the trial may fit and other writes not.
        if self._readiness.failed and is_full(self.name):
            self.check_files()
        else:
            super().tend()
        with self.reading() as connection:
            self._acknowledged.note(connection)

    def back_up(self, path: Pathlike) -> None:
        """Copy the database as it is at one moment; others can write meanwhile."""
        if os.path.realpath(path) == self.name:
            raise StoreError(f"{self.name}: cannot be its own backup; pass another path.")
        with translating_errors(self.name), write_atomically(path) as file, self.engine.connect() as connection:
            # The copy contains password hashes, so only its owner may read it.
            Path(file.name).chmod(0o600)
            with closing(sqlite3.connect(file.name)) as target:
                connection.connection.driver_connection.backup(target)  # type: ignore[union-attr]
                # In WAL mode, even reading the copy would create another file beside it.
                target.execute("PRAGMA journal_mode=DELETE")

    def close(self) -> None:
        """Close all connections."""
        super().close()
        if self._files is not None:
            self._files.close()

    def _is_current(self, connection: Connection) -> bool:
        current = super()._is_current(connection)
        if missing := self._acknowledged.missing(connection):
            raise Damaged(f"{self.name}: {missing}.")
        return current

    def _open_files(self) -> None:
        self._enable_wal()
        with translating_errors(self.name):
            self._files = OpenFiles(self.name)
            check_soundness(self._files.connection, self.name)
        event.listen(self.engine, "do_connect", self._check_before_connecting)
        event.listen(self.engine, "connect", self._check_after_connecting)

    def _check_before_connecting(self, *_: object) -> None:
        # If the file was removed, SQLite would create an empty one.
        self.check_files()

    def _check_after_connecting(self, connection: sqlite3.Connection, _: object) -> None:
        # If the log was removed in between, SQLite has created another one: two connections would use two logs.
        open_log(connection)
        self.check_files()

    def _enable_wal(self) -> None:
        deadline = time.monotonic() + SQLITE_LOCK_SECONDS
        while True:
            try:
                # SQLAlchemy would begin a transaction first, inside which the mode cannot be changed.
                with translating_errors(self.name), closing(self.engine.raw_connection()) as connection:
                    [[mode]] = connection.driver_connection.execute("PRAGMA journal_mode=WAL")  # type: ignore[union-attr]
                break
            except Busy:
                # SQLite does not wait here if two processes create the same file, so try again until the deadline.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        if mode != "wal":
            raise StoreError(f"{self.name}: this disk does not support a write-ahead log; use a local disk.")

"""Connections to a database in which every commit survives a crash and a power failure.

SQLite runs in WAL mode and flushes every commit to disk. Writers queue, and each write transaction locks the whole
database from its first statement on. PostgreSQL must also flush every commit, so ``synchronous_commit`` is never off.
"""

import copy
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection, Engine, event, text

from erkle.files import write_atomically
from erkle.store.database.engines import new_postgresql_engine, new_sqlite_engine
from erkle.store.database.group_commit import GroupCommit
from erkle.store.database.location import Pathlike, database_url, shown_name
from erkle.store.database.readiness import Readiness
from erkle.store.database.sqlite.acknowledged import AcknowledgedAnswers
from erkle.store.database.sqlite.files import OpenFiles, prepare_file
from erkle.store.database.sqlite.log_file import keeping_log, open_log
from erkle.store.database.sqlite.room import is_full
from erkle.store.database.sqlite.soundness import check_soundness
from erkle.store.database.trouble import SQLITE_LOCK_SECONDS, opening, translating_errors
from erkle.store.database.versioning import VERSION_TABLE, check_encoding, is_current, migrate
from erkle.store.errors import Busy, Damaged, StoreError

T = TypeVar("T")
# A write that changes nothing.
_TRIAL = text(f"UPDATE {VERSION_TABLE} SET version_num = version_num")


class Database:
    """An open database with the tables of this version of erkle.

    Parameters
    ----------
    location : path or str
        The path of an SQLite file, which is created if it does not exist, or a URL such as
        ``postgresql://user@host/name``.
    """

    def __init__(self, location: Pathlike) -> None:
        self._url = database_url(location)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self.name = shown_name(self._url)
        self._readiness = Readiness(is_shared=not self.is_sqlite)
        self._files: OpenFiles | None = None
        if self.is_sqlite:
            prepare_file(self.name)
            self.engine = new_sqlite_engine(self._url)
        else:
            self.engine = new_postgresql_engine(self._url)
        # Not on PostgreSQL, where shared transactions that lock several studies could deadlock.
        self._group_commit = GroupCommit(self.writing) if self.is_sqlite else None
        self._acknowledged = AcknowledgedAnswers(self.name)
        with keeping_log(self.name) if self.is_sqlite else nullcontext():
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads; on SQLite, it sees the database at one moment."""
        with self._readiness.reading(), translating_errors(self.name), _transaction(self.engine) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is committed to disk when the block ends without an exception."""
        writer = self.engine.execution_options(writes=True)
        with self._readiness.writing():
            with translating_errors(self.name), _transaction(writer) as connection:
                yield connection
                self.check_files()
            # Once more, because nothing may be acknowledged that was committed to a removed file.
            self.check_files()

    def check_files(self) -> None:
        """Raise `Unavailable` if a file was removed or replaced: writes to a removed file are lost."""
        if self._files is not None:
            self._files.check()

    def check(self) -> None:
        """Raise `Unavailable` if a file was removed, or if the last write failed."""
        self.check_files()
        self._readiness.check()

    def try_again(self) -> None:
        """If the last write failed, or there was none, write something that changes nothing."""
        is_still_full = self._readiness.failed and self.is_sqlite and is_full(Path(self.name).parent)
        if self._readiness.is_doubtful and not is_still_full:
            with self.writing() as connection:
                connection.execute(_TRIAL)

    def note_acknowledged(self) -> None:
        """Note the numbers of the last answers in a file next to an SQLite database."""
        if self.is_sqlite:
            with self.reading() as connection:
                self._acknowledged.note(connection)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work(connection)`` returns, in a transaction that only reads."""
        with self.reading() as connection:
            return work(connection)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work(connection)`` returns once it is on disk; waiting threads share a transaction."""
        if self._group_commit is not None:
            return self._group_commit.write(work)
        with self.writing() as connection:
            return work(connection)

    def set_aside(self) -> Self:
        """Return the same database with connections of its own, which are free when all others are in use.

        SQLite needs none: it has a connection for each thread.
        """
        if self.is_sqlite:
            return self
        other = copy.copy(self)
        other.engine = new_postgresql_engine(self._url, pool_size=1, max_overflow=1)
        return other

    def back_up(self, path: Pathlike) -> None:
        """Copy an SQLite database as it is at one moment; others can write meanwhile."""
        if not self.is_sqlite:
            raise StoreError(f"{self.name}: is a PostgreSQL database; use pg_dump to back it up.")
        if os.path.realpath(path) == os.path.realpath(self.name):
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
        self.engine.dispose()
        if self._files is not None:
            self._files.close()

    def _prepare(self) -> None:
        with opening(self.name):
            if self.is_sqlite:
                self._open_files()
            with self.reading() as connection:
                if not self.is_sqlite:
                    check_encoding(connection, self.name)
                current = is_current(connection, self.name)
                if self.is_sqlite and (missing := self._acknowledged.missing(connection)):
                    raise Damaged(f"{self.name}: {missing}.")
        if not current:
            with self.writing() as connection:
                migrate(connection, self.name)

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


@contextmanager
def _transaction(engine: Engine) -> Iterator[Connection]:
    """Open a transaction; after an unexpected exception, its connection is not used again."""
    with engine.connect() as connection:
        try:
            with connection.begin():
                yield connection
        except StoreError:
            raise
        except BaseException:
            # A query whose rows were not all read would keep an old state of an SQLite database open.
            connection.invalidate()
            raise

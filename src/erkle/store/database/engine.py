"""Connections to a database in which every commit survives a crash and a power failure.

SQLite runs in WAL mode and flushes every commit to disk. Writers queue, and each write transaction locks the whole
database from its first statement on. PostgreSQL must also flush every commit, so ``synchronous_commit`` is never off.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from erkle.files import write_atomically
from erkle.store.database.group_commit import GroupCommit
from erkle.store.database.versioning import is_current, migrate
from erkle.store.errors import StoreError, Unavailable
from erkle.store.sanitising import stored_json

T = TypeVar("T")
Pathlike = str | os.PathLike[str]

# Seconds to wait for another process that locks an SQLite database.
_LOCK_TIMEOUT = 30.0
_SENTENCES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "cannot be written to; change the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that its folder exists and that you may write to it",
    sqlite3.SQLITE_PERM: "cannot be opened; change its permissions",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; pass another path",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a backup",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk",
    sqlite3.SQLITE_BUSY: f"has been locked by another process for {_LOCK_TIMEOUT:.0f} seconds; end that process",
}


class Database:
    """An open database with the tables of this version of erkle.

    Parameters
    ----------
    location : path or str
        The path of an SQLite file, which is created if it does not exist, or a URL such as
        ``postgresql://user@host/name``.
    """

    def __init__(self, location: Pathlike) -> None:
        url = database_url(location)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.name = shown_name(url)
        self.engine = _engine(url)
        # Not on PostgreSQL, where shared transactions that lock several studies could deadlock.
        self._group_commit = GroupCommit(self.writing) if self.is_sqlite else None
        # Device and inode of the SQLite file that was opened.
        self._opened_file: tuple[int, int] | None = None
        try:
            self._prepare()
            if self.is_sqlite:
                self._opened_file = self._current_file()
                event.listen(self.engine, "do_connect", self._check_before_connecting)
        except BaseException:
            self.engine.dispose()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads; on SQLite, it sees the database at one moment."""
        with translating_errors(self.name), _transaction(self.engine) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is committed to disk when the block ends without an exception."""
        with translating_errors(self.name), _transaction(self.engine.execution_options(writes=True)) as connection:
            yield connection
            self.check()

    def check(self) -> None:
        """Raise `Unavailable` if the file was removed or replaced: writes to a removed file are lost."""
        if self._opened_file is not None and self._current_file() != self._opened_file:
            raise Unavailable(
                f"{self.name}: was removed or replaced while it was in use, so nothing more is written to it; export "
                "what you need, stop the server, restore the file and start the server again."
            )

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

    def back_up(self, path: Pathlike) -> None:
        """Copy an SQLite database as it is at one moment; others can write meanwhile."""
        if not self.is_sqlite:
            raise StoreError(f"{self.name}: is a PostgreSQL database; use pg_dump to back it up.")
        if os.path.realpath(path) == os.path.realpath(self.name):
            raise StoreError(f"{self.name}: cannot be its own backup; pass another path.")
        with translating_errors(self.name), write_atomically(path) as file, self.engine.connect() as connection:
            # The copy contains password hashes, so only its owner may read it.
            Path(file.name).chmod(0o600)
            with closing(sqlite3.connect(file.name)) as copy:
                connection.connection.driver_connection.backup(copy)  # type: ignore[union-attr]
                # In WAL mode, even reading the copy would create another file beside it.
                copy.execute("PRAGMA journal_mode=DELETE")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _current_file(self) -> tuple[int, int] | None:
        try:
            found = Path(self.name).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_before_connecting(self, *_: object) -> None:
        # If the file was removed, SQLite would create an empty one.
        self.check()

    def _prepare(self) -> None:
        if self.is_sqlite:
            self._enable_wal()
        with self.reading() as connection:
            current = is_current(connection, self.name)
        if not current:
            with self.writing() as connection:
                migrate(connection, self.name)

    def _enable_wal(self) -> None:
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                # SQLAlchemy would begin a transaction first, inside which the mode cannot be changed.
                with translating_errors(self.name), closing(self.engine.raw_connection()) as connection:
                    [[mode]] = connection.driver_connection.execute("PRAGMA journal_mode=WAL")  # type: ignore[union-attr]
                break
            except StoreError as error:
                # SQLite does not wait here if two processes create the same file, so try again until the deadline.
                if _code(error.__cause__) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        if mode != "wal":
            raise StoreError(f"{self.name}: this disk does not support a write-ahead log; use a local disk.")


@contextmanager
def translating_errors(name: str) -> Iterator[None]:
    """Turn errors of the database that a user can fix into `Unavailable`, with a sentence."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        raise Unavailable(f"{name}: {sentence}.") from error


def database_url(location: Pathlike) -> URL:
    """Return the URL of a database, given the path of an SQLite file or a URL."""
    text = os.fspath(location)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreError("The URL of the database cannot be read; write it as postgresql://user@host/name.") from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise StoreError(f"The database is of the kind {backend}; use SQLite (a path) or postgresql://user@host/name.")
    if backend == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError("The database is in memory, where answers would be lost; pass the path of a file.")
    return url.set(drivername="postgresql+psycopg") if backend == "postgresql" else url


def shown_name(url: URL) -> str:
    """Return the name of a database in messages: the path of a file, or a URL without the password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


def new_engine(url: URL, **options: Any) -> Engine:
    """Create an engine, or raise an error if its driver is not installed."""
    try:
        return create_engine(url, **options)
    except ImportError:
        raise StoreError(f"{shown_name(url)}: psycopg is not installed; pip install 'erkle[postgres]'.") from None


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        # Enough connections for every thread of a web server; threads that wait to write hold none.
        options: dict[str, Any] = {"connect_args": {"timeout": _LOCK_TIMEOUT}, "pool_size": 8, "max_overflow": 56}
        engine = create_engine(url, json_serializer=stored_json, **options)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = new_engine(url, json_serializer=stored_json, pool_pre_ping=True, pool_size=8, max_overflow=8)
    event.listen(engine, "connect", _prepare_postgresql)
    return engine


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


def _prepare_sqlite(connection: Any, _: object) -> None:
    # `_begin_sqlite` begins transactions; the driver would begin them only at the first write.
    connection.isolation_level = None
    # trusted_schema stays on: without it, some versions of SQLite refuse json_valid in a CHECK constraint.
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "recursive_triggers=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgresql(connection: Any, _: object) -> None:
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


def _sentence(error: BaseException) -> str | None:
    """Return what is wrong and what to do, or None for an error that only a programmer can fix."""
    if (code := _code(error)) is not None:
        return _SENTENCES.get(code)
    original = getattr(error, "orig", error)
    state = getattr(original, "sqlstate", None)
    if state == "53100":
        return "the disk is full; free some space"
    if state == "25006":
        return "cannot be written to; use the primary server and a role that may write"
    if isinstance(original, sqlite3.OperationalError):
        # SQLite's own errors have a code; this one comes from Python's decoding of text.
        return "is damaged: a text is not UTF-8; run erkle check or restore a backup"
    if type(original).__name__ == "OperationalError":
        return f"cannot be reached ({str(original).strip().splitlines()[0]}); check the URL and the server"
    return None


def _code(error: BaseException | None) -> int | None:
    """Return SQLite's primary error code, without the extended part."""
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)
    return None if code is None else code & 0xFF

"""A database that is safe to write to: what was committed survives the end of the process, and of the power.

SQLite runs in WAL mode and flushes every commit to the disk; writers queue, and each has the whole database for its
transaction from the first statement on. PostgreSQL must not delay its flushes either.
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

T = TypeVar("T")
Pathlike = str | os.PathLike[str]

_WAIT = 30.0
_SENTENCES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "may not be written to; change its permissions, or those of its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that its folder is there and that you may write to it",
    sqlite3.SQLITE_PERM: "may not be opened; change its permissions",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; give another path",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a backup",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk",
    sqlite3.SQLITE_BUSY: f"has been locked by another process for {_WAIT:.0f} seconds; end that process",
}


class Database:
    """An open database whose tables are those of this erkle.

    Parameters
    ----------
    place : path or str
        The path of an SQLite file, made if it is not there, or a URL such as ``postgresql://user@host/name``.
    """

    def __init__(self, place: Pathlike) -> None:
        url = database_url(place)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.name = shown_name(url)
        self.engine = _engine(url)
        # On PostgreSQL transactions that lock several studies could wait for each other for ever.
        self._group_commit = GroupCommit(self.writing) if self.is_sqlite else None
        # Which file was opened, as the disk knows it.
        self._opened: tuple[int, int] | None = None
        try:
            self._prepare()
            if self.is_sqlite:
                self._opened = self._on_disk()
                event.listen(self.engine, "do_connect", self._check_before_connecting)
        except BaseException:
            self.engine.dispose()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees one state of an SQLite database."""
        with in_sentences(self.name), _begun(self.engine) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on the disk when the block has ended without an error."""
        with in_sentences(self.name), _begun(self.engine.execution_options(writes=True)) as connection:
            yield connection
            self.check()

    def check(self) -> None:
        """Nothing, if the file is the one that was opened: what is written to another is lost when the process ends."""
        if self._opened is not None and self._on_disk() != self._opened:
            raise Unavailable(
                f"{self.name}: was removed or replaced while it was in use, and nothing is written any more; export "
                "what you need, stop the server, restore the file and start the server again."
            )

    def read(self, work: Callable[[Connection], T]) -> T:
        """What the work returns, in a transaction that only reads."""
        with self.reading() as connection:
            return work(connection)

    def write(self, work: Callable[[Connection], T]) -> T:
        """What the work returns, when it is on the disk; threads that wait to write share a transaction."""
        if self._group_commit is not None:
            return self._group_commit.write(work)
        with self.writing() as connection:
            return work(connection)

    def back_up(self, path: Pathlike) -> None:
        """Copy an SQLite database as it is at one moment, while others go on writing."""
        if not self.is_sqlite:
            raise StoreError(f"{self.name}: is a PostgreSQL database; back it up with pg_dump.")
        if os.path.realpath(path) == os.path.realpath(self.name):
            raise StoreError(f"{self.name}: cannot be its own backup; give another path.")
        with in_sentences(self.name), write_atomically(path) as file, self.engine.connect() as connection:
            # There are hashes of passwords in it.
            Path(file.name).chmod(0o600)
            with closing(sqlite3.connect(file.name)) as copy:
                connection.connection.driver_connection.backup(copy)  # type: ignore[union-attr]
                # In WAL mode the copy would need a second file beside it while it is only read.
                copy.execute("PRAGMA journal_mode=DELETE")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _on_disk(self) -> tuple[int, int] | None:
        try:
            found = Path(self.name).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_before_connecting(self, *_: object) -> None:
        # SQLite would make an empty file in place of one that was removed.
        self.check()

    def _prepare(self) -> None:
        if self.is_sqlite:
            self._turn_on_wal()
        with self.reading() as connection:
            current = is_current(connection, self.name)
        if not current:
            with self.writing() as connection:
                migrate(connection, self.name)

    def _turn_on_wal(self) -> None:
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                # Not through SQLAlchemy, which would begin a transaction first.
                with in_sentences(self.name), closing(self.engine.raw_connection()) as connection:
                    [[mode]] = connection.driver_connection.execute("PRAGMA journal_mode=WAL")  # type: ignore[union-attr]
                break
            except StoreError as error:
                # Two processes that create the same file: for this one statement SQLite does not wait.
                if _code(error.__cause__) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        if mode != "wal":
            raise StoreError(f"{self.name}: cannot keep a write-ahead log there; use a disk of this machine.")


@contextmanager
def in_sentences(name: str) -> Iterator[None]:
    """Turn what the database complains about into a sentence."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        raise Unavailable(f"{name}: {sentence}.") from error


def database_url(place: Pathlike) -> URL:
    """The URL of a database, given the path of an SQLite file or a URL."""
    text = os.fspath(place)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreError("The URL of the database cannot be read; it looks like postgresql://user@host/name.") from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise StoreError(f"The database is of the kind {backend}; use SQLite (a path) or postgresql://user@host/name.")
    if backend == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError("The database is in memory, where answers would be lost; give the path of a file.")
    return url.set(drivername="postgresql+psycopg") if backend == "postgresql" else url


def shown_name(url: URL) -> str:
    """What messages call a database: the path of a file, or a URL without the password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


def new_engine(url: URL, **options: Any) -> Engine:
    """SQLAlchemy's engine, if the driver is installed."""
    try:
        return create_engine(url, **options)
    except ImportError:
        raise StoreError(f"{shown_name(url)}: psycopg is not installed; pip install 'erkle[postgres]'.") from None


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        # Room for every thread of a web server: those that wait to write hold no connection.
        engine = create_engine(url, connect_args={"timeout": _WAIT}, pool_size=8, max_overflow=56)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = new_engine(url, pool_pre_ping=True, pool_size=8, max_overflow=8)
    event.listen(engine, "connect", _prepare_postgresql)
    return engine


@contextmanager
def _begun(engine: Engine) -> Iterator[Connection]:
    """A transaction; a connection on which something unforeseen has happened is used for no other."""
    with engine.connect() as connection:
        try:
            with connection.begin():
                yield connection
        except StoreError:
            raise
        except BaseException:
            # A statement that nobody has read to its end would keep an old state of an SQLite database open.
            connection.invalidate()
            raise


def _prepare_sqlite(connection: Any, _: object) -> None:
    # Transactions are begun below, and not by the driver, which would begin them late.
    connection.isolation_level = None
    # Not trusted_schema=OFF: with it some versions of SQLite refuse json_valid in a CHECK constraint.
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
    """What to say of an error; None of one that is a mistake of ours."""
    if (code := _code(error)) is not None:
        return _SENTENCES.get(code)
    original = getattr(error, "orig", error)
    state = getattr(original, "sqlstate", None)
    if state == "53100":
        return "the disk is full; free some space"
    if state == "25006":
        return "may not be written to; use the primary server and a role that may write"
    if isinstance(original, sqlite3.OperationalError):
        # Python's own error, and not SQLite's, which has a code.
        return "is damaged: a text is not UTF-8; run erkle check, or restore it from a backup"
    if type(original).__name__ == "OperationalError":
        return f"cannot be reached ({str(original).strip().splitlines()[0]}); check the URL and the server"
    return None


def _code(error: BaseException | None) -> int | None:
    """SQLite's number of an error, without what it adds for details."""
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)
    return None if code is None else code & 0xFF

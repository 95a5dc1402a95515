"""Transactions in a database in which every commit survives a crash and a power failure.

What differs between the two kinds of database is in `sqlite.database` and in `postgresql`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine, text

from erkle.store.database.location import Pathlike
from erkle.store.database.readiness import Readiness
from erkle.store.database.trouble import opening, translating_errors
from erkle.store.database.versioning import VERSION_TABLE, is_current, migrate
from erkle.store.errors import StoreError

T = TypeVar("T")
# A write that changes nothing.
_TRIAL = text(f"UPDATE {VERSION_TABLE} SET version_num = version_num")


class Database:
    """A database that has the tables of this version of erkle once it is prepared.

    Parameters
    ----------
    name : str
        The name of the database in messages.
    engine : Engine
        The connections to it.
    readiness : Readiness
        Whether it can store something now.

    Attributes
    ----------
    aside : Database
        The same database, with connections that are free when all others are in use.
    """

    def __init__(self, name: str, engine: Engine, readiness: Readiness) -> None:
        self.name, self.engine, self._readiness = name, engine, readiness
        self.aside = self

    def prepare(self) -> None:
        """Check the database, and create or migrate its tables if necessary; after an error, it is closed."""
        try:
            with opening(self.name):
                self._open_files()
                with self.reading() as connection:
                    current = self._is_current(connection)
            if not current:
                with self.writing() as connection:
                    migrate(connection, self.name)
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

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work(connection)`` returns, in a transaction that only reads."""
        with self.reading() as connection:
            return work(connection)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work(connection)`` returns once it is on disk."""
        with self.writing() as connection:
            return work(connection)

    def check_files(self) -> None:
        """Raise `Unavailable` if a file was removed or replaced: writes to a removed file are lost."""

    def check(self) -> None:
        """Raise `Unavailable` if a file was removed, or if the last write failed."""
        self.check_files()
        self._readiness.check()

    def tend(self) -> None:
        """Look after the database: if the last write failed, or there was none, try to write."""
        self.check_files()
        if self._readiness.is_doubtful:
            with self.writing() as connection:
                connection.execute(_TRIAL)

    def back_up(self, path: Pathlike) -> None:
        """Copy the database as it is at one moment; others can write meanwhile."""
        raise StoreError(f"{self.name}: is a PostgreSQL database; use pg_dump to back it up.")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _open_files(self) -> None:
        """Open what is needed besides the connections."""

    def _is_current(self, connection: Connection) -> bool:
        """Return whether the tables have the current version; raise an error if the database cannot be used."""
        return is_current(connection, self.name)


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

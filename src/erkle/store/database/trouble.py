"""Errors of the database that a user can fix, as `Unavailable` with a sentence.

What happened is decided by SQLite's error code, by PostgreSQL's SQLSTATE, or by the type of the error.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from erkle.store.errors import Busy, Damaged, Unavailable

# Seconds to wait for another process that locks an SQLite database.
SQLITE_LOCK_SECONDS = 10.0
# Seconds to wait for another transaction that locks a row on PostgreSQL.
LOCK_SECONDS = 3.0
# Seconds that a statement may take on PostgreSQL.
STATEMENT_SECONDS = 60.0
# Seconds to wait for a free connection. Longer than a lock, so that a locked study does not fail the others.
POOL_SECONDS = 5.0
# The SQLSTATE of a lock that was not granted in time.
LOCK_NOT_AVAILABLE = "55P03"


class _Trouble(NamedTuple):
    sentence: str
    kind: type[Unavailable] = Unavailable


_FULL = _Trouble("the disk is full; free some space")
_DAMAGED = _Trouble("is damaged; restore a backup", Damaged)
_NOT_UTF8 = _Trouble("is damaged: a text is not UTF-8; run erkle check or restore a backup")
_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _Trouble("cannot be written to; change the permissions of the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: _Trouble("cannot be opened; check that its folder exists and that you may write to it"),
    sqlite3.SQLITE_PERM: _Trouble("cannot be opened; change its permissions"),
    sqlite3.SQLITE_NOTADB: _Trouble("is not an SQLite database; pass another path, or restore a backup", Damaged),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_IOERR: _Trouble("cannot be read or written; check the disk"),
    sqlite3.SQLITE_BUSY: _Trouble(
        f"has been locked by another process for {SQLITE_LOCK_SECONDS:.0f} seconds; end that process", Busy
    ),
}
_ENDED = _Trouble("the database server has ended a transaction that took too long; try again", Busy)
# By SQLSTATE or its beginning; the longest that matches counts.
_POSTGRESQL = {
    "08": _Trouble("cannot be reached; check the database server and the network"),
    "25006": _Trouble("cannot be written to; use the primary server and a role that may write"),
    "25P03": _ENDED,
    "25P04": _ENDED,
    "40": _Trouble("was changed by another transaction at the same time; try again", Busy),
    "42501": _Trouble("does not allow its role to do this; grant the role all rights to the database"),
    "53": _Trouble("the database server has too little memory or too few connections; give it more"),
    "53100": _FULL,
    LOCK_NOT_AVAILABLE: _Trouble(
        f"another transaction has locked a row for {LOCK_SECONDS:.0f} seconds; end that transaction", Busy
    ),
    "57": _Trouble("the database server has ended the connection or is shutting down; start it again"),
    "57014": _Trouble(f"a statement was cancelled or took more than {STATEMENT_SECONDS:.0f} seconds; try again", Busy),
    "58": _Trouble("the database server cannot read or write its files; check its disk"),
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}


@contextmanager
def translating_errors(name: str) -> Iterator[None]:
    """Turn errors of the database that a user can fix into `Unavailable`, with a sentence."""
    try:
        yield
    except (DBAPIError, sqlite3.Error, PoolTimeout, UnicodeDecodeError) as error:
        trouble = _trouble(error)
        if trouble is None:
            raise
        raise trouble.kind(f"{name}: {trouble.sentence}.") from error


@contextmanager
def opening(name: str) -> Iterator[None]:
    """Turn all errors of a database that is being opened into sentences: the cause can only be its content."""
    try:
        with translating_errors(name):
            yield
    except (DBAPIError, sqlite3.Error) as error:
        reason = _first_line(getattr(error, "orig", error))
        raise Damaged(f"{name}: is not a sound database of erkle ({reason}); restore a backup.") from error


def sqlite_code(error: BaseException | None) -> int | None:
    """Return SQLite's primary error code, without the extended part."""
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def sqlstate(error: BaseException) -> str | None:
    """Return PostgreSQL's code of an error."""
    return getattr(getattr(error, "orig", error), "sqlstate", None)


def _trouble(error: Exception) -> _Trouble | None:
    """Return what is wrong and what to do, or None for an error that only a programmer can fix."""
    if isinstance(error, PoolTimeout):
        return _Trouble(f"all connections have been in use for {POOL_SECONDS:.0f} seconds; try again", Busy)
    if isinstance(error, UnicodeDecodeError):
        # Python cannot decode what SQLite reports about a damaged schema.
        return _DAMAGED
    if (code := sqlite_code(error)) is not None:
        return _SQLITE.get(code)
    original = getattr(error, "orig", error)
    if isinstance(original, sqlite3.Error):
        # SQLite's own errors have a code; this one comes from Python's decoding of text.
        return _NOT_UTF8 if isinstance(original, sqlite3.OperationalError) else None
    state = sqlstate(error) or ""
    for known in (state, state[:2]):
        if known in _POSTGRESQL:
            return _POSTGRESQL[known]
    if isinstance(error, OperationalError) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return _Trouble(f"cannot be reached ({_first_line(original)}); check the URL and the server")
    return None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

"""Waiting for the lock of a study on PostgreSQL, so that one locked study does not use up all connections.

Once a lock was not granted in time, only one connection at a time waits for that study, and all others are refused at
once, until the lock is granted again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from erkle.store.database.trouble import LOCK_NOT_AVAILABLE, sqlstate
from erkle.store.errors import Busy
from erkle.store.sanitising import is_id

# Where a connection of PostgreSQL keeps the `LockedStudies` of its database.
KEY = "erkle.locked_studies"


class LockedStudies:
    """The studies of a database whose lock was not granted in time."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        # For each study, whether a connection is waiting for it now.
        self._is_awaited: dict[str, bool] = {}

    @contextmanager
    def waiting(self, study: str) -> Iterator[None]:
        """Wait for the lock of a study in this block, or raise `Busy` if another connection already does."""
        with self._mutex:
            if self._is_awaited.get(study):
                raise Busy(f"The study {study!r} is locked by another transaction; try again later.")
            if study in self._is_awaited:
                self._is_awaited[study] = True
        is_locked = False
        try:
            yield
        except DBAPIError as error:
            is_locked = sqlstate(error) == LOCK_NOT_AVAILABLE
            raise
        finally:
            with self._mutex:
                if is_locked:
                    self._is_awaited[study] = False
                else:
                    self._is_awaited.pop(study, None)


@contextmanager
def waiting_for(connection: Connection, study: str) -> Iterator[None]:
    """Wait for the lock of a study in this block. SQLite has no such locks: a writer locks the whole database."""
    locked: LockedStudies | None = connection.info.get(KEY)
    if locked is None or not is_id(study):
        yield
        return
    with locked.waiting(study):
        yield


def allow_long_statements(connection: Connection) -> None:
    """Let statements take as long as they need, until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL statement_timeout = 0"))

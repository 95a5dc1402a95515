"""An open database, and how the methods of a store work in it."""

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import Connection, select

from erkle.store.clock import Clock, now
from erkle.store.database import Database, Pathlike
from erkle.store.transaction import Transaction

__all__ = ["Opened"]

T = TypeVar("T")


class Opened:
    """A database with a clock, until it is closed."""

    def __init__(self, place: Pathlike, clock: Clock = now) -> None:
        self._database = Database(place)
        self._clock = clock

    def together(self, work: Callable[[Transaction], T]) -> T:
        """What the work returns, when everything that it did is on the disk; if it raises, nothing of it is done.

        The work is done once more if others with whom it shared a flush to the disk have failed; so it may change
        nothing but the transaction, and should be short: on SQLite nobody else writes meanwhile.
        """
        return self._database.write(lambda connection: work(Transaction(connection, self._clock)))

    def check(self) -> None:
        """Nothing, if the database answers and is the one that was opened; else `Unavailable`."""
        self._database.check()
        self._read(lambda connection: connection.execute(select(1)).scalar_one())

    def back_up(self, path: Pathlike) -> None:
        """Copy an SQLite database to a file as it is at one moment, while others go on writing."""
        self._database.back_up(path)

    def close(self) -> None:
        """Close all connections; the store cannot be used any more."""
        self._database.close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self._database.reading() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], T]) -> T:
        return self._database.write(work)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

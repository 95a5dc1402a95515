"""Topics: classes that hold the operations on one kind of data.

With a connection, a topic works in the open transaction of that connection. With a database, it opens a transaction
for each call of a method that is marked with `reading` or `writing`.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from erkle.store.clock import Clock
from erkle.store.database.database import Database

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound="Topic")


class Topic:
    """Operations on one kind of data.

    Parameters
    ----------
    source : Connection or Database
        The connection of an open transaction, or a database in which each call opens a transaction.
    clock : function
        Returns the time in microseconds since 1970, UTC.
    """

    # Set only while a transaction is open.
    connection: Connection

    def __init__(self, source: Connection | Database, clock: Clock) -> None:
        self.clock = clock
        self._database = source if isinstance(source, Database) else None
        if isinstance(source, Connection):
            self.connection = source


def reading(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Let a method read in the open transaction, or in a new one, which sees the database at one moment."""
    return _in_transaction(method, lambda database, work: database.read(work))


def writing(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Let a method write in the open transaction, or in a new one, which is on disk when the method returns."""
    return _in_transaction(method, lambda database, work: database.write(work))


def _in_transaction(
    method: Callable[Concatenate[T, P], R], run: Callable[[Database, Callable[[Connection], R]], R]
) -> Callable[Concatenate[T, P], R]:
    @wraps(method)
    def call(topic: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if topic._database is None:
            return method(topic, *args, **kwargs)

        def work(connection: Connection) -> R:
            return method(type(topic)(connection, topic.clock), *args, **kwargs)

        return run(topic._database, work)

    return call

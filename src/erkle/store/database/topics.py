"""A topic is a class with the operations on one kind of data, each written once.

A topic that is given a connection works in the open transaction of that connection. A topic that is given a database
opens a transaction for each call: `reading` and `writing` mark the methods that can be called so.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from erkle.store.clock import Clock
from erkle.store.database.engine import Database

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound="Topic")


class Topic:
    """Operations on one kind of data.

    Parameters
    ----------
    source : Connection or Database
        An open transaction that all calls share, or a database in which each call opens a transaction.
    clock : function
        Returns the time in microseconds since 1970, UTC.
    """

    # Only there while a transaction is open.
    connection: Connection

    def __init__(self, source: Connection | Database, clock: Clock) -> None:
        self.clock = clock
        self._database = source if isinstance(source, Database) else None
        if isinstance(source, Connection):
            self.connection = source


def reading(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Let a method read: in the open transaction, or in one of its own, which sees one state of the database."""
    return _in_transaction(method, Database.read)


def writing(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Let a method write: in the open transaction, or in one of its own, which is on the disk when it returns."""
    return _in_transaction(method, Database.write)


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

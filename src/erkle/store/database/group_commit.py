"""Group commit: threads that wait to write share a transaction and thus one flush to disk, the main cost of a write.

While one thread writes, others queue. The first thread in the queue then becomes the leader and runs all queued writes
in one transaction. Results are returned only after the commit. A write that raises an exception is undone alone. If the
whole transaction fails, each write is tried again in its own transaction, so that one failure does not affect others.
If the database is locked by another process, all writes fail at once, because each would wait for as long.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from erkle.store.errors import Busy, Unavailable

T = TypeVar("T")


class GroupCommit:
    """A queue of writes.

    Parameters
    ----------
    transaction : function
        Returns a context manager that opens a transaction and commits it if the block ends without an exception.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction
        self._mutex = threading.Lock()
        self._waiting: deque[_Write] = deque()
        self._busy = False

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work(connection)`` returns, after it is committed."""
        mine = _Write(work)
        with self._mutex:
            mine.leads, self._busy = not self._busy, True
            if not mine.leads:
                self._waiting.append(mine)
        if not mine.leads:
            self._wait(mine)
        if mine.leads:
            self._lead(mine)
        return mine.result()  # type: ignore[no-any-return]

    def _wait(self, mine: "_Write") -> None:
        try:
            mine.woken.wait()
        except BaseException:
            # This thread was interrupted: if it was chosen as leader, another must lead the queue.
            with self._mutex:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                elif mine.leads:
                    self._choose_leader()
            raise

    def _lead(self, mine: "_Write") -> None:
        with self._mutex:
            batch = [mine, *self._waiting]
            self._waiting.clear()
        try:
            self._commit(batch)
        finally:
            with self._mutex:
                self._choose_leader()
            for each in batch:
                each.woken.set()

    def _choose_leader(self) -> None:
        self._busy = bool(self._waiting)
        if self._waiting:
            following = self._waiting.popleft()
            following.leads = True
            following.woken.set()

    def _commit(self, batch: list["_Write"]) -> None:
        if len(batch) == 1:
            return self._one_by_one(batch)
        try:
            with self._transaction() as connection:
                for each in batch:
                    each.attempt(connection)
        except Busy as error:
            return _fail(batch, error)
        except Exception:
            return self._one_by_one(batch)
        for each in batch:
            each.committed = True

    def _one_by_one(self, batch: list["_Write"]) -> None:
        for number, each in enumerate(batch):
            each.error = None
            try:
                with self._transaction() as connection:
                    each.value = each.work(connection)
                each.committed = True
            except Busy as error:
                return _fail(batch[number:], error)
            except Exception as error:
                each.error = error


def _fail(batch: list["_Write"], error: Exception) -> None:
    for each in batch:
        # A copy, because each thread adds its own calls to the traceback of what it raises.
        each.error = copy(error)


class _Write:
    """A queued write and its result."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work = work
        self.woken = threading.Event()
        self.leads = self.committed = False
        self.value: Any = None
        self.error: Exception | None = None

    def attempt(self, connection: Connection) -> None:
        """Run the write in a savepoint and undo it if it fails; a database error fails the whole transaction."""
        savepoint = connection.begin_nested()
        try:
            self.value = self.work(connection)
        except DBAPIError:
            raise
        except Exception as error:
            savepoint.rollback()
            self.error = error
        else:
            savepoint.commit()

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        if not self.committed:
            raise Unavailable("The write was interrupted and may not have been saved; try again.")
        return self.value

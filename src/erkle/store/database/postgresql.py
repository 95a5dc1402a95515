"""PostgreSQL as the database. It must also flush every commit, so ``synchronous_commit`` is never off.

Waiting writers do not share a transaction as they do on SQLite: transactions that lock several studies could deadlock.
"""

from sqlalchemy import URL, Connection

from erkle.store.database.database import Database
from erkle.store.database.engines import new_postgresql_engine
from erkle.store.database.location import shown_name
from erkle.store.database.readiness import Readiness
from erkle.store.database.versioning import check_encoding


class PostgresqlDatabase(Database):
    """A database of a PostgreSQL server.

    Parameters
    ----------
    url : URL
    """

    def __init__(self, url: URL) -> None:
        super().__init__(shown_name(url), new_postgresql_engine(url), Readiness(is_shared=True))
        # SQLite has a connection for each thread.
        self.aside = Database(self.name, new_postgresql_engine(url, pool_size=1, max_overflow=1), self._readiness)

    def close(self) -> None:
        """Close all connections."""
        self.aside.close()
        super().close()

    def _is_current(self, connection: Connection) -> bool:
        check_encoding(connection, self.name)
        return super()._is_current(connection)

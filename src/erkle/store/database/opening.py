"""Opens a database of either kind."""

from erkle.store.database.database import Database
from erkle.store.database.location import Pathlike, database_url
from erkle.store.database.postgresql import PostgresqlDatabase
from erkle.store.database.sqlite.database import SqliteDatabase


def open_database(location: Pathlike) -> Database:
    """Open a database, check it, and create or migrate its tables if necessary.

    Parameters
    ----------
    location : path or str
        The path of an SQLite file, which is created if it does not exist, or a URL such as
        ``postgresql://user@host/name``.
    """
    url = database_url(location)
    is_sqlite = url.get_backend_name() == "sqlite"
    database: Database = SqliteDatabase(url) if is_sqlite else PostgresqlDatabase(url)
    database.prepare()
    return database

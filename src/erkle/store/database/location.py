"""Where a database is: the path of an SQLite file, or a URL of PostgreSQL."""

import os

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from erkle.store.errors import StoreError

Pathlike = str | os.PathLike[str]


def database_url(location: Pathlike) -> URL:
    """Return the URL of a database, given the path of an SQLite file or a URL.

    Symbolic links are followed here and nowhere else: SQLite puts the log next to the real file.
    """
    text = os.fspath(location)
    if "://" not in text:
        return URL.create("sqlite", database=os.path.realpath(text))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreError("The URL of the database cannot be read; write it as postgresql://user@host/name.") from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise StoreError(f"The database is of the kind {backend}; use SQLite (a path) or postgresql://user@host/name.")
    if backend == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError("The database is in memory, where answers would be lost; pass the path of a file.")
    if backend == "sqlite":
        return url.set(database=os.path.realpath(str(url.database)))
    return url.set(drivername="postgresql+psycopg")


def shown_name(url: URL) -> str:
    """Return the name of a database in messages: the path of a file, or a URL without the password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)

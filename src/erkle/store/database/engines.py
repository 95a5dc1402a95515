"""Engines: pools of connections, with the settings that every connection needs."""

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from erkle.store.database.contention import KEY, LockedStudies
from erkle.store.database.location import shown_name
from erkle.store.database.trouble import LOCK_SECONDS, POOL_SECONDS, SQLITE_LOCK_SECONDS, STATEMENT_SECONDS
from erkle.store.errors import StoreError
from erkle.store.sanitising import stored_json

# Seconds to wait for a new connection to PostgreSQL.
_CONNECT_SECONDS = 5
# Milliseconds after which a connection is given up if the database server does not confirm what it was sent.
_UNCONFIRMED_MS = 20_000


def new_sqlite_engine(url: URL) -> Engine:
    """Create an engine with enough connections for every thread of a web server; waiting writers hold none."""
    engine = create_engine(
        url,
        json_serializer=stored_json,
        connect_args={"timeout": SQLITE_LOCK_SECONDS},
        pool_size=8,
        max_overflow=56,
        pool_timeout=POOL_SECONDS,
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def new_postgresql_engine(url: URL, pool_size: int = 8, max_overflow: int = 8, **execution_options: Any) -> Engine:
    """Create an engine whose connections wait only a short time for locks, statements and the server."""
    limits = {"connect_timeout": _CONNECT_SECONDS, "tcp_user_timeout": _UNCONFIRMED_MS}
    try:
        engine = create_engine(
            url,
            json_serializer=stored_json,
            connect_args={name: value for name, value in limits.items() if name not in url.query},
            execution_options=execution_options,
            pool_pre_ping=True,
            pool_size=pool_size,
            max_overflow=max_overflow,
            pool_timeout=POOL_SECONDS,
        )
    except ImportError:
        raise StoreError(f"{shown_name(url)}: psycopg is not installed; pip install 'erkle[postgres]'.") from None
    locked = LockedStudies()

    def prepare(connection: Any, record: Any) -> None:
        try:
            configure(connection, record)
        except engine.dialect.loaded_dbapi.Error as error:
            # SQLAlchemy translates errors of its own calls only.
            raise OperationalError(None, None, error) from error

    def configure(connection: Any, record: Any) -> None:
        record.info[KEY] = locked
        connection.execute(
            f"SELECT set_config('lock_timeout', '{1000 * LOCK_SECONDS:.0f}ms', false), "
            f"set_config('statement_timeout', '{1000 * STATEMENT_SECONDS:.0f}ms', false)"
        )
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.commit()

    event.listen(engine, "connect", prepare)
    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:
    # `_begin_sqlite` begins transactions; the driver would begin them only at the first write.
    connection.isolation_level = None
    # trusted_schema stays on: without it, some versions of SQLite refuse json_valid in a CHECK constraint.
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "recursive_triggers=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

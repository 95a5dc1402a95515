"""Which version a database is of, and the steps that bring it to this one: all of them, or none.

An empty database gets everything. One that holds other tables, or comes from a newer erkle, is left as it is.
"""

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from erkle.store.database import migrations
from erkle.store.errors import StoreError

__all__ = ["VERSION_TABLE", "is_current", "migrate"]

VERSION_TABLE = "erkle_version"

# Any number that other programs are unlikely to lock.
_LOCK = 0x65726B6C65


def is_current(connection: Connection, name: str) -> bool:
    """Whether nothing is to be done; an error where nothing can be."""
    script = _script()
    current = _context(connection).get_current_revision()
    known = [revision.revision for revision in script.walk_revisions()]
    if current is not None and current not in known:
        raise StoreError(
            f"{name}: comes from a newer erkle (version {current} of the tables, {known[0]} is the newest known); "
            "update erkle."
        )
    if current is None and (others := inspect(connection).get_table_names()):
        raise StoreError(
            f"{name}: holds tables of something else ({', '.join(sorted(others)[:3])}); give a database of its own."
        )
    return current == known[0]


def migrate(connection: Connection, name: str) -> None:
    """Take every step that is missing, inside the transaction that the connection is in."""
    if connection.dialect.name == "postgresql":
        # On SQLite the transaction itself keeps other processes out.
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if is_current(connection, name):
        return
    script, context = _script(), _context(connection)
    steps = script.iterate_revisions("head", context.get_current_revision() or "base")
    for step in reversed(list(steps)):
        with Operations.context(context):
            step.module.upgrade()
        context.stamp(script, step.revision)


def _script() -> ScriptDirectory:
    return ScriptDirectory(str(Path(migrations.__path__[0])))


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})

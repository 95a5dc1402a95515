"""The version of a database's tables.

An empty database gets the tables of this erkle. One that holds other tables, or tables of another version that cannot
be brought to this one, is left as it is.
"""

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from erkle.store.database import migrations
from erkle.store.errors import StoreError

VERSION_TABLE = "erkle_version"

# Any number that other programs are unlikely to lock.
_LOCK = 0x65726B6C65


def is_current(connection: Connection, name: str) -> bool:
    """Whether the tables are those of this erkle; an error if they cannot become so."""
    found = _context(connection).get_current_revision()
    wanted, *older = [revision.revision for revision in _script().walk_revisions()]
    if found not in (None, wanted, *older):
        raise StoreError(
            f"{name}: has tables of version {found}, but this erkle uses version {wanted}; open it with the erkle that "
            "made it, export its studies there, and import them into a new database."
        )
    if found is None and (others := inspect(connection).get_table_names()):
        raise StoreError(
            f"{name}: holds tables of something else ({', '.join(sorted(others)[:3])}); give a database of its own."
        )
    return found == wanted


def migrate(connection: Connection, name: str) -> None:
    """Create what is missing, all of it or nothing, inside the transaction of the connection."""
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


def initial_statements(dialect: str) -> list[str]:
    """The statements that make an empty database one of the first version."""
    return statements(Path(migrations.__path__[0], "versions", f"v0001_{dialect}.sql"))


def statements(file: Path) -> list[str]:
    """The statements of an SQL file, which are separated by empty lines; those without SQL are comments."""
    found = file.read_text().strip().split("\n\n")
    return [each.rstrip(";") for each in found if not all(line.startswith("--") for line in each.splitlines())]


def _script() -> ScriptDirectory:
    return ScriptDirectory(str(Path(migrations.__path__[0])))


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})

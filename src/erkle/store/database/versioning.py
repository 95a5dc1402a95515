"""The version of a database's tables.

An empty database gets the tables of this version of erkle. A database of a known older version is migrated. Any other
database is refused and left unchanged.
"""

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from erkle.store.database import migrations
from erkle.store.errors import StoreError

VERSION_TABLE = "erkle_version"

# The advisory lock of migrations on PostgreSQL: "erkle" in ASCII, which other programs are unlikely to use.
_LOCK = 0x65726B6C65


def check_encoding(connection: Connection, name: str) -> None:
    """Raise `StoreError` if a PostgreSQL database cannot store every text."""
    if (found := connection.execute(text("SHOW server_encoding")).scalar_one()) != "UTF8":
        raise StoreError(f"{name}: has the encoding {found}; create a database with ENCODING 'UTF8' and use that.")


def is_current(connection: Connection, name: str) -> bool:
    """Return whether the tables have the current version; raise an error if they cannot be migrated to it."""
    found = ", ".join(_context(connection).get_current_heads()) or None
    wanted, *older = [revision.revision for revision in _script().walk_revisions()]
    if found not in (None, wanted, *older):
        raise StoreError(
            f"{name}: has tables of version {found}, but this erkle uses version {wanted}; open it with the version of "
            "erkle that created it, export the studies, and import them into a new database."
        )
    if found is None and (others := inspect(connection).get_table_names()):
        raise StoreError(
            f"{name}: contains tables of another program ({', '.join(sorted(others)[:3])}); use a separate database."
        )
    return found == wanted


def migrate(connection: Connection, name: str) -> None:
    """Bring the tables to the current version, inside the open transaction."""
    if connection.dialect.name == "postgresql":
        # SQLite needs no extra lock: a write transaction locks the whole database.
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
    """Return the statements that create the tables of the first version."""
    return statements(Path(migrations.__path__[0], "versions", f"v0001_{dialect}.sql"))


def statements(file: Path) -> list[str]:
    """Return the statements of an SQL file, separated by empty lines, without blocks that are only comments."""
    found = file.read_text().strip().split("\n\n")
    return [each.rstrip(";") for each in found if not all(line.startswith("--") for line in each.splitlines())]


def _script() -> ScriptDirectory:
    return ScriptDirectory(str(Path(migrations.__path__[0])))


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})

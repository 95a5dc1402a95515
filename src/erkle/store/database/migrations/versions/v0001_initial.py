"""The first tables and triggers, written out for each engine in the SQL files beside this module.

They are what `erkle.store.database.schema` and `erkle.store.database.triggers` say; a test compares them. Statements
are separated by an empty line.
"""

from pathlib import Path

from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    bind = op.get_bind()
    file = Path(__file__).with_name(f"v0001_{bind.dialect.name}.sql")
    for statement in file.read_text().split(";\n\n"):
        bind.exec_driver_sql(statement)

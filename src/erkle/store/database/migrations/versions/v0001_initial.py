"""The first tables, in an SQL file for each engine; a test compares them with `erkle.store.database.schema`."""

from alembic import op

from erkle.store.database.versioning import initial_statements

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    bind = op.get_bind()
    for statement in initial_statements(bind.dialect.name):
        bind.exec_driver_sql(statement)

"""The first version, with one SQL file per engine; a test compares it with `erkle.store.database.schema`."""

from alembic import op

from erkle.store.database.versioning import initial_statements

revision = "2"
down_revision = None


def upgrade() -> None:
    """Create all tables, indexes and triggers."""
    bind = op.get_bind()
    for statement in initial_statements(bind.dialect.name):
        bind.exec_driver_sql(statement)

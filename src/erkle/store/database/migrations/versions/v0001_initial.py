"""The first tables and triggers, written out for each engine in the SQL files beside this module.

The tables are those of `erkle.store.database.schema`; a test compares the two. The triggers are only there.
"""

from alembic import op

from erkle.store.database.versioning import initial_statements

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    bind = op.get_bind()
    for statement in initial_statements(bind.dialect.name):
        bind.exec_driver_sql(statement)

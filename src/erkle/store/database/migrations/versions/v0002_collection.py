"""What a collection service needs: accounts, media, identities and flags of participants, fences, whole deletions."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
# Where each of the tables that are only added to says of which study a row is.
_STUDY = {
    "answers": "OLD.study_id",
    "questions": "OLD.study_id",
    "skips": "(SELECT study_id FROM questions WHERE id = OLD.question_id)",
    "refusals": "OLD.study_id",
}


def upgrade() -> None:
    """Add tables and columns, and let the triggers make way for a deletion of everything."""
    _accounts()
    _media()
    _columns()
    _deletions()
    change = _postgresql if op.get_context().dialect.name == "postgresql" else _sqlite
    for table, study in _STUDY.items():
        for statement in change(table, study):
            op.execute(statement)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False)


def _time(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger, nullable=False)


def _account(table: str, nullable: bool) -> "sa.Column[str]":
    key = sa.ForeignKey("accounts.id", name=f"fk_{table}_account_id")
    return sa.Column("account_id", sa.Text, key, nullable=nullable)


def _accounts() -> None:
    op.create_table(
        "accounts",
        *map(_text, ("id", "name", "folded", "password_hash")),
        sa.Column("admin", sa.Boolean, nullable=False),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("folded", name="uq_accounts_folded"),
    )
    op.create_table(
        "sessions",
        _text("digest"),
        _account("sessions", nullable=False),
        _time("expires_at"),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
    )
    op.create_index("ix_sessions_account", "sessions", ["account_id"])
    op.create_table(
        "links",
        *map(_text, ("digest", "purpose")),
        _account("links", nullable=True),
        _time("expires_at"),
        sa.PrimaryKeyConstraint("digest", name="pk_links"),
    )


def _media() -> None:
    op.create_table(
        "media",
        sa.Column("study_id", _Number, sa.ForeignKey("studies.id", name="fk_media_study_id"), nullable=False),
        *map(_text, ("name", "type")),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "name", name="pk_media"),
    )


def _columns() -> None:
    # Alembic adds the reference in a statement of its own, which SQLite does not have.
    op.execute("ALTER TABLE studies ADD COLUMN owner TEXT CONSTRAINT fk_studies_owner REFERENCES accounts (id)")
    op.add_column("participants", sa.Column("identity", sa.Text))
    op.add_column("participants", sa.Column("flagged", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("ix_participants_identity", "participants", ["study_id", "identity"], unique=True)
    op.add_column("leases", sa.Column("fence", sa.BigInteger, nullable=False, server_default="0"))


def _deletions() -> None:
    smaller = sa.ForeignKey("deletions.study_id", name="fk_deletions_smaller", deferrable=True, initially="DEFERRED")
    op.create_table(
        "deletions",
        sa.Column("study_id", _Number, nullable=False, autoincrement=False),
        sa.Column("smaller", _Number, smaller, nullable=False),
        sa.PrimaryKeyConstraint("study_id", name="pk_deletions"),
        sa.CheckConstraint("smaller < study_id", name="ck_deletions_smaller"),
    )


def _sqlite(table: str, study: str) -> list[str]:
    return [
        f"DROP TRIGGER {table}_delete",
        f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} "
        f"WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE study_id = {study}) "
        f"BEGIN SELECT RAISE(ABORT, 'rows of {table} are never changed or deleted'); END",
    ]


def _postgresql(table: str, study: str) -> list[str]:
    return [
        f"CREATE OR REPLACE FUNCTION erkle_keep_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF TG_OP = 'DELETE' THEN "
        f"IF EXISTS (SELECT 1 FROM deletions WHERE study_id = {study}) THEN RETURN OLD; END IF; "
        "END IF; "
        f"RAISE EXCEPTION 'rows of {table} are never changed or deleted'; END $$"
    ]

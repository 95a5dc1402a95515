"""The first tables, and the triggers that keep what was acknowledged."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_KEPT = ("answers", "questions", "skips", "refusals")


def upgrade() -> None:
    """Create everything."""
    _studies()
    _participants()
    _answers()
    _learners()
    dialect = op.get_context().dialect.name
    for table in _KEPT:
        for statement in _postgresql(table) if dialect == "postgresql" else _sqlite(table):
            op.execute(statement)
    if dialect == "sqlite":
        op.execute(_NO_REPLACEMENT)


def _number(name: str, *arguments: sa.ForeignKey, **options: Any) -> "sa.Column[int]":
    return sa.Column(name, _Number, *arguments, nullable=False, **options)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False)


def _time(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger, nullable=False)


def _whole(name: str, **options: Any) -> "sa.Column[int]":
    return sa.Column(name, sa.Integer, nullable=False, **options)


def _json(name: str) -> "sa.Column[object]":
    return sa.Column(name, sa.JSON, nullable=False)


def _of_study(table: str) -> sa.ForeignKey:
    return sa.ForeignKey("studies.id", name=f"fk_{table}_study_id")


def _studies() -> None:
    op.create_table(
        "studies",
        _number("id"),
        _text("public_id"),
        _text("title"),
        _json("settings"),
        _text("state"),
        _whole("n_objects"),
        _time("roster"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("public_id", name="uq_studies_public_id"),
    )
    op.create_table(
        "objects",
        _number("study_id", _of_study("objects")),
        _whole("number", autoincrement=False),
        _text("name"),
        _json("payload"),
        sa.PrimaryKeyConstraint("study_id", "number", name="pk_objects"),
    )


def _participants() -> None:
    op.create_table(
        "participants",
        _number("id"),
        _text("public_id"),
        _number("study_id", _of_study("participants")),
        _json("parameters"),
        _text("state"),
        sa.Column("excluded", sa.Boolean, nullable=False),
        _time("joined_at"),
        sa.PrimaryKeyConstraint("id", name="pk_participants"),
        sa.UniqueConstraint("public_id", name="uq_participants_public_id"),
    )
    op.create_index("ix_participants_study", "participants", ["study_id", "id"])
    op.create_table(
        "questions",
        _number("id"),
        _text("token"),
        _number("study_id", _of_study("questions")),
        _number("participant_id", sa.ForeignKey("participants.id", name="fk_questions_participant_id")),
        *map(_whole, ("head", "o1", "o2", "left_object")),
        _text("kind"),
        _text("strategy"),
        _time("issued_at"),
        _time("expires_at"),
        sa.PrimaryKeyConstraint("id", name="pk_questions"),
        sa.UniqueConstraint("token", name="uq_questions_token"),
    )
    op.create_index("ix_questions_pending", "questions", ["study_id", "expires_at"])
    op.create_index("ix_questions_participant", "questions", ["participant_id"])


def _answers() -> None:
    op.create_table(
        "answers",
        _number("study_id", _of_study("answers")),
        sa.Column("sequence", sa.BigInteger, nullable=False, autoincrement=False),
        _number("question_id", sa.ForeignKey("questions.id", name="fk_answers_question_id")),
        _whole("choice"),
        sa.Column("response_ms", sa.BigInteger),
        _json("client"),
        _time("answered_at"),
        sa.PrimaryKeyConstraint("study_id", "sequence", name="pk_answers"),
        sa.UniqueConstraint("question_id", name="uq_answers_question_id"),
    )
    op.create_table(
        "skips",
        _number("question_id", sa.ForeignKey("questions.id", name="fk_skips_question_id"), autoincrement=False),
        _text("reason"),
        _time("skipped_at"),
        sa.PrimaryKeyConstraint("question_id", name="pk_skips"),
    )
    op.create_table(
        "refusals",
        _number("id"),
        sa.Column("study_id", _Number, _of_study("refusals")),
        *map(_text, ("reason", "token", "participant")),
        _json("payload"),
        _time("refused_at"),
        sa.PrimaryKeyConstraint("id", name="pk_refusals"),
    )
    op.create_index("ix_refusals_study", "refusals", ["study_id", "id"])


def _learners() -> None:
    op.create_table(
        "snapshots",
        _number("id"),
        _number("study_id", _of_study("snapshots")),
        _time("sequence"),
        _time("roster"),
        sa.Column("data", sa.LargeBinary, nullable=False),
        _time("saved_at"),
        sa.PrimaryKeyConstraint("id", name="pk_snapshots"),
    )
    op.create_index("ix_snapshots_study", "snapshots", ["study_id", "id"])
    op.create_table(
        "leases",
        _number("study_id", _of_study("leases")),
        _text("owner"),
        _time("until"),
        sa.PrimaryKeyConstraint("study_id", name="pk_leases"),
    )


def _sqlite(table: str) -> list[str]:
    return [
        f"CREATE TRIGGER {table}_{deed.lower()} BEFORE {deed} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'rows of {table} are never changed or deleted'); END"
        for deed in ("UPDATE", "DELETE")
    ]


# INSERT OR REPLACE deletes the old row, and SQLite fires no trigger for that.
_NO_REPLACEMENT = """
CREATE TRIGGER answers_insert BEFORE INSERT ON answers
WHEN EXISTS (SELECT 1 FROM answers WHERE question_id = NEW.question_id)
  OR EXISTS (SELECT 1 FROM answers WHERE study_id = NEW.study_id AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'rows of answers are never changed or deleted'); END
"""


def _postgresql(table: str) -> list[str]:
    refuse = f"erkle_keep_{table}"
    return [
        f"CREATE FUNCTION {refuse}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION 'rows of {table} are never changed or deleted'; END $$",
        f"CREATE TRIGGER {table}_keep BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {refuse}()",
        f"CREATE TRIGGER {table}_whole BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {refuse}()",
    ]

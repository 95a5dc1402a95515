"""The tables.

Answers, questions, skips and refusals are only ever added to: triggers refuse to change or to delete them (see the
migrations). Times are whole microseconds since 1970, UTC. Numbers of rows are our own business; what leaves the store
is a public id or a token, which nobody can guess.
"""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["answers", "leases", "metadata", "objects", "participants", "questions", "refusals", "skips", "snapshots"]
__all__ += ["studies"]

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers the rows of a table itself only where the type is exactly INTEGER.
_Number = BigInteger().with_variant(Integer, "sqlite")


def _study(**options: Any) -> Column[int]:
    return Column("study_id", _Number, ForeignKey("studies.id"), nullable=False, **options)


studies = Table(
    "studies",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("state", Text, nullable=False),
    Column("n_objects", Integer, nullable=False),
    Column("roster", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

objects = Table(
    "objects",
    metadata,
    _study(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("payload", JSON, nullable=False),
)

participants = Table(
    "participants",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    _study(),
    Column("parameters", JSON, nullable=False),
    Column("state", Text, nullable=False),
    Column("excluded", Boolean, nullable=False),
    Column("joined_at", BigInteger, nullable=False),
    Index("ix_participants_study", "study_id", "id"),
)

questions = Table(
    "questions",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    _study(),
    Column("participant_id", _Number, ForeignKey("participants.id"), nullable=False),
    Column("head", Integer, nullable=False),
    Column("o1", Integer, nullable=False),
    Column("o2", Integer, nullable=False),
    Column("left_object", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("issued_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("ix_questions_pending", "study_id", "expires_at"),
    Index("ix_questions_participant", "participant_id"),
)

answers = Table(
    "answers",
    metadata,
    _study(primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("question_id", _Number, ForeignKey("questions.id"), nullable=False),
    Column("choice", Integer, nullable=False),
    Column("response_ms", BigInteger),
    Column("client", JSON, nullable=False),
    Column("answered_at", BigInteger, nullable=False),
    UniqueConstraint("question_id"),
)

skips = Table(
    "skips",
    metadata,
    Column("question_id", _Number, ForeignKey("questions.id"), primary_key=True, autoincrement=False),
    Column("reason", Text, nullable=False),
    Column("skipped_at", BigInteger, nullable=False),
)

refusals = Table(
    "refusals",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("study_id", _Number, ForeignKey("studies.id")),
    Column("reason", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("participant", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("refused_at", BigInteger, nullable=False),
    Index("ix_refusals_study", "study_id", "id"),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", _Number, primary_key=True),
    _study(),
    Column("sequence", BigInteger, nullable=False),
    Column("roster", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("saved_at", BigInteger, nullable=False),
    Index("ix_snapshots_study", "study_id", "id"),
)

leases = Table(
    "leases",
    metadata,
    _study(primary_key=True),
    Column("owner", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
)

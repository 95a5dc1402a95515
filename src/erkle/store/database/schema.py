"""The tables.

Answers, questions, skips and refusals are only ever added to: triggers refuse to change or to delete them (see the
migrations). They let go of a whole study only, while it stands in ``deletions``, where no row can ever be committed.
Times are whole microseconds since 1970, UTC. Numbers of rows are our own business; what leaves the store is a public
id or a token, which nobody can guess. Of the tokens that open something to a researcher only a digest is kept.
"""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)

__all__ = ["accounts", "answers", "deletions", "leases", "links", "media", "metadata", "objects", "participants"]
__all__ += ["questions", "refusals", "sessions", "skips", "snapshots", "studies"]

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


# SQLite numbers the rows of a table itself only where the type is exactly INTEGER.
_Number = BigInteger().with_variant(Integer, "sqlite")


def _study(**options: Any) -> Column[int]:
    return Column("study_id", _Number, ForeignKey("studies.id"), nullable=False, **options)


def _account(name: str, nullable: bool = True) -> Column[str]:
    return Column(name, Text, ForeignKey("accounts.id"), nullable=nullable)


accounts = Table(
    "accounts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    # The name in lower case: names that differ in nothing else would be taken for each other.
    Column("folded", Text, nullable=False, unique=True),
    Column("password_hash", Text, nullable=False),
    Column("admin", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    _account("account_id", nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("ix_sessions_account", "account_id"),
)

links = Table(
    "links",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("purpose", Text, nullable=False),
    _account("account_id"),
    Column("expires_at", BigInteger, nullable=False),
)

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
    _account("owner"),
)

objects = Table(
    "objects",
    metadata,
    _study(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("payload", JSON, nullable=False),
)

media = Table(
    "media",
    metadata,
    _study(primary_key=True),
    Column("name", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
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
    Column("identity", Text),
    Column("flagged", Boolean, nullable=False, server_default=false()),
    Index("ix_participants_study", "study_id", "id"),
    Index("ix_participants_identity", "study_id", "identity", unique=True),
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
    Column("fence", BigInteger, nullable=False, server_default="0"),
)

# Each row must name one with a smaller number when its transaction ends. Of the rows that there are, the smallest
# cannot; so no row ever outlives the transaction in which a study is deleted.
deletions = Table(
    "deletions",
    metadata,
    Column("study_id", _Number, primary_key=True, autoincrement=False),
    Column("smaller", _Number, ForeignKey("deletions.study_id", deferrable=True, initially="DEFERRED"), nullable=False),
    CheckConstraint("smaller < study_id", name="smaller"),
)

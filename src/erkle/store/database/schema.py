"""The tables, as queries need to know them.

What the database itself makes sure of is in the SQL files of `erkle.store.database.migrations`, which create the
tables: CHECK constraints refuse values that cannot be, and triggers keep every answer, question, skip and refusal.

Times are whole microseconds since 1970, UTC. The numbers of rows stay inside the store; what leaves it is a public id
or a token, which nobody can guess. Of the tokens that let a researcher in only a digest is kept.
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
)  # fmt: skip

__all__ = ["accounts", "answers", "deletions", "leases", "links", "media", "metadata", "objects", "participants"]
__all__ += ["questions", "refusals", "sessions", "skips", "snapshots", "studies"]

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers the rows of a table itself only where the type is exactly INTEGER.
_Number = BigInteger().with_variant(Integer, "sqlite")


def _column(name: str, kind: Any, *arguments: Any, **options: Any) -> Column[Any]:
    return Column(name, kind, *arguments, nullable=False, **options)


def _study(**options: Any) -> Column[int]:
    return _column("study_id", _Number, ForeignKey("studies.id"), **options)


def _text(name: str, **options: Any) -> Column[str]:
    return _column(name, Text, **options)


def _whole(name: str, **options: Any) -> Column[int]:
    return _column(name, BigInteger, **options)


accounts = Table(
    "accounts",
    metadata,
    _text("id", primary_key=True),
    _text("name"),
    # The name in lower case: names that differ in nothing else would be taken for each other.
    _text("folded", unique=True),
    _text("password_hash"),
    _column("admin", Boolean),
    _whole("created_at"),
)

sessions = Table(
    "sessions",
    metadata,
    _text("digest", primary_key=True),
    _column("account_id", Text, ForeignKey("accounts.id")),
    _whole("expires_at"),
    Index("ix_sessions_account", "account_id"),
)

links = Table(
    "links",
    metadata,
    _text("digest", primary_key=True),
    _text("purpose"),
    Column("account_id", Text, ForeignKey("accounts.id")),
    _whole("expires_at"),
)

studies = Table(
    "studies",
    metadata,
    Column("id", _Number, primary_key=True),
    _text("public_id", unique=True),
    _text("title"),
    _column("settings", JSON),
    _text("state"),
    _column("n_objects", Integer),
    _whole("roster"),
    _whole("created_at"),
    Column("owner", Text, ForeignKey("accounts.id")),
)

objects = Table(
    "objects",
    metadata,
    _study(primary_key=True),
    _column("number", Integer, primary_key=True, autoincrement=False),
    _text("name"),
    _column("payload", JSON),
)

media = Table(
    "media",
    metadata,
    _study(primary_key=True),
    _text("name", primary_key=True),
    _text("type"),
    _column("data", LargeBinary),
)

participants = Table(
    "participants",
    metadata,
    Column("id", _Number, primary_key=True),
    _text("public_id", unique=True),
    _study(),
    _column("parameters", JSON),
    _text("state"),
    _column("excluded", Boolean),
    _whole("joined_at"),
    Column("identity", Text),
    _column("flagged", Boolean),
    Index("ix_participants_study", "study_id", "id"),
    Index("ix_participants_identity", "study_id", "identity", unique=True),
)

questions = Table(
    "questions",
    metadata,
    Column("id", _Number, primary_key=True),
    _text("token", unique=True),
    _study(),
    _column("participant_id", _Number, ForeignKey("participants.id")),
    *(_column(name, Integer) for name in ("head", "o1", "o2", "left_object")),
    _text("kind"),
    _text("strategy"),
    _whole("issued_at"),
    _whole("expires_at"),
    Index("ix_questions_pending", "study_id", "expires_at"),
    Index("ix_questions_participant", "participant_id"),
    Index("ix_questions_strategy", "strategy", "kind"),
)

answers = Table(
    "answers",
    metadata,
    _study(primary_key=True),
    _whole("sequence", primary_key=True, autoincrement=False),
    _column("question_id", _Number, ForeignKey("questions.id")),
    _column("choice", Integer),
    Column("response_ms", Integer),
    _column("client", JSON),
    _whole("answered_at"),
    UniqueConstraint("question_id"),
)

skips = Table(
    "skips",
    metadata,
    _column("question_id", _Number, ForeignKey("questions.id"), primary_key=True, autoincrement=False),
    _text("reason"),
    _whole("skipped_at"),
)

refusals = Table(
    "refusals",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("study_id", _Number, ForeignKey("studies.id")),
    *map(_text, ("reason", "token", "participant")),
    _column("payload", JSON),
    _whole("refused_at"),
    Index("ix_refusals_study", "study_id", "id"),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", _Number, primary_key=True),
    _study(),
    _whole("sequence"),
    _whole("roster"),
    _column("data", LargeBinary),
    _whole("saved_at"),
    Index("ix_snapshots_study", "study_id", "id"),
)

leases = Table("leases", metadata, _study(primary_key=True), _text("owner"), _whole("until"), _whole("fence"))

# Each row must name one with a smaller number when its transaction ends. Of the rows that there are, the smallest
# cannot; so no row ever outlives the transaction in which a study is deleted.
deletions = Table(
    "deletions",
    metadata,
    _column("study_id", _Number, primary_key=True, autoincrement=False),
    _column("smaller", _Number, ForeignKey("deletions.study_id", deferrable=True, initially="DEFERRED")),
)

"""The tables, as SQLAlchemy needs them for queries.

The SQL files in `erkle.store.database.migrations` create the tables. They also contain what the database itself
enforces: CHECK constraints refuse invalid values, and triggers refuse to change or delete answers, questions, skips
and refusals.

Times are whole microseconds since 1970, UTC. Row numbers never leave the store; outside, rows are identified by random
public ids and tokens. Tokens of sessions and links are stored only as digests.
"""

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers new rows automatically only if the type is exactly INTEGER.
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _column(name: str, kind: Any, *arguments: Any, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, *arguments, nullable=False, **options)


def _study(**options: Any) -> sa.Column[int]:
    return _column("study_id", _Number, sa.ForeignKey("studies.id"), **options)


def _text(name: str, **options: Any) -> sa.Column[str]:
    return _column(name, sa.Text, **options)


def _integer(name: str, **options: Any) -> sa.Column[int]:
    return _column(name, sa.BigInteger, **options)


accounts = sa.Table(
    "accounts",
    metadata,
    _text("id", primary_key=True),
    _text("name"),
    # What `names.folded` makes of the name: the same for names that look alike, of which only one can exist.
    _text("folded", unique=True),
    _text("password_hash"),
    _column("admin", sa.Boolean),
    _integer("created_at"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    _text("digest", primary_key=True),
    _column("account_id", sa.Text, sa.ForeignKey("accounts.id")),
    _integer("expires_at"),
    sa.Index("ix_sessions_account", "account_id"),
)

links = sa.Table(
    "links",
    metadata,
    _text("digest", primary_key=True),
    _text("purpose"),
    sa.Column("account_id", sa.Text, sa.ForeignKey("accounts.id")),
    _integer("expires_at"),
)

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    _text("public_id", unique=True),
    _text("title"),
    _column("settings", sa.JSON),
    _text("state"),
    _column("n_objects", sa.Integer),
    _integer("roster"),
    _integer("created_at"),
    sa.Column("owner", sa.Text, sa.ForeignKey("accounts.id")),
    _text("signing_key"),
)

objects = sa.Table(
    "objects",
    metadata,
    _study(primary_key=True),
    _column("number", sa.Integer, primary_key=True, autoincrement=False),
    _text("name"),
    _column("payload", sa.JSON),
)

media = sa.Table(
    "media",
    metadata,
    _study(primary_key=True),
    _text("name", primary_key=True),
    _text("type"),
    _integer("size"),
)

# The bytes of media, in parts of `media.PART` bytes, so that a piece of a medium can be read without the rest.
media_parts = sa.Table(
    "media_parts",
    metadata,
    _column("study_id", _Number, primary_key=True),
    _text("name", primary_key=True),
    _column("number", sa.Integer, primary_key=True, autoincrement=False),
    _column("data", sa.LargeBinary),
    sa.ForeignKeyConstraint(["study_id", "name"], ["media.study_id", "media.name"]),
)

# Vectors of the first objects in single precision, row by row.
features = sa.Table(
    "features",
    metadata,
    _study(primary_key=True),
    _text("name", primary_key=True),
    _column("n_columns", sa.Integer),
    _column("data", sa.LargeBinary),
)

participants = sa.Table(
    "participants",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    _text("public_id", unique=True),
    _study(),
    _column("parameters", sa.JSON),
    _text("state"),
    _column("excluded", sa.Boolean),
    _integer("joined_at"),
    sa.Column("identity", sa.Text),
    _column("flagged", sa.Boolean),
    sa.Index("ix_participants_study", "study_id", "id"),
    sa.Index("ix_participants_identity", "study_id", "identity", unique=True),
)

questions = sa.Table(
    "questions",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    _text("token", unique=True),
    _study(),
    _column("participant_id", _Number, sa.ForeignKey("participants.id")),
    *(_column(name, sa.Integer) for name in ("anchor", "first", "second", "left_object")),
    *map(_text, ("kind", "strategy")),
    # The number of the question among those of its participant, from 1; unknown for some imported questions.
    sa.Column("position", sa.Integer),
    *map(_integer, ("issued_at", "expires_at")),
    sa.Index("ix_questions_pending", "study_id", "expires_at"),
    sa.Index("ix_questions_participant", "participant_id"),
    sa.Index("ix_questions_strategy", "strategy", "kind"),
)

answers = sa.Table(
    "answers",
    metadata,
    _study(primary_key=True),
    _integer("sequence", primary_key=True, autoincrement=False),
    _column("question_id", _Number, sa.ForeignKey("questions.id")),
    _column("choice", sa.Integer),
    sa.Column("response_ms", sa.Integer),
    _column("client", sa.JSON),
    _integer("answered_at"),
    sa.UniqueConstraint("question_id"),
)

skips = sa.Table(
    "skips",
    metadata,
    _column("question_id", _Number, sa.ForeignKey("questions.id"), primary_key=True, autoincrement=False),
    _text("reason"),
    _integer("skipped_at"),
)

refusals = sa.Table(
    "refusals",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    sa.Column("study_id", _Number, sa.ForeignKey("studies.id")),
    *map(_text, ("reason", "token", "participant")),
    _column("payload", sa.JSON),
    _integer("refused_at"),
    sa.Index("ix_refusals_study", "study_id", "id"),
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    _study(),
    *map(_integer, ("sequence", "roster")),
    _column("data", sa.LargeBinary),
    _integer("saved_at"),
    sa.Index("ix_snapshots_study", "study_id", "id"),
)

usage = sa.Table("usage", metadata, _study(primary_key=True), _integer("stored_bytes"))

leases = sa.Table("leases", metadata, _study(primary_key=True), _text("owner"), _integer("until"), _integer("fence"))

# The studies of which the current transaction deletes rows. At the commit, each row must refer to a row with a smaller
# number, which the smallest row cannot do. So no row can be committed.
deletions = sa.Table(
    "deletions",
    metadata,
    _column("study_id", _Number, primary_key=True, autoincrement=False),
    _column("smaller", _Number, sa.ForeignKey("deletions.study_id", deferrable=True, initially="DEFERRED")),
)

# Studies that are being written or deleted, in several transactions. Nobody sees them.
unfinished_studies = sa.Table("unfinished_studies", metadata, _study(primary_key=True), _integer("written_at"))

# Answers that are to be appended to a log. A batch is ready once all batches of its import are here.
import_batches = sa.Table(
    "import_batches",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    _study(),
    _text("import_id"),
    _column("ready", sa.Boolean),
    _column("content", sa.JSON),
    _integer("staged_at"),
    sa.Index("ix_import_batches_study", "study_id", "id"),
)

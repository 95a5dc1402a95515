"""The tables, and what the database itself makes sure of.

CHECK constraints refuse values that cannot be. On SQLite, which keeps a text in a column of numbers and takes any text
for JSON, further ones refuse values of another type. What concerns rows of several tables is up to triggers, which are
in the SQL files of `erkle.store.database.migrations`: answers, questions, skips and refusals are only ever added to.

Times are whole microseconds since 1970, UTC. The numbers of rows stay inside the store; what leaves it is a public id
or a token, which nobody can guess. Of the tokens that let a researcher in only a digest is kept.
"""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from erkle.store import limits
from erkle.store.database.enumerations import Kind, Purpose, Reason, Standing, State

__all__ = ["accounts", "answers", "deletions", "leases", "links", "media", "metadata", "objects", "participants"]
__all__ += ["questions", "refusals", "sessions", "skips", "snapshots", "studies"]

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# SQLite numbers the rows of a table itself only where the type is exactly INTEGER.
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _table(name: str, *items: SchemaItem | Iterable[SchemaItem]) -> sa.Table:
    flat = (each for item in items for each in ([item] if isinstance(item, SchemaItem) else item))
    return sa.Table(name, metadata, *flat)


def _check(name: str, sql: str, dialect: str | None = None) -> sa.CheckConstraint:
    constraint = sa.CheckConstraint(sql, name=name)
    return constraint if dialect is None else constraint.ddl_if(dialect=dialect)


def _id() -> sa.Column[int]:
    return sa.Column("id", _Number, primary_key=True)


def _study(**options: Any) -> sa.Column[int]:
    return sa.Column("study_id", _Number, sa.ForeignKey("studies.id"), nullable=False, **options)


def _account(name: str, nullable: bool = True) -> sa.Column[str]:
    return sa.Column(name, sa.Text, sa.ForeignKey("accounts.id"), nullable=nullable)


def _whole(name: str, least: int, most: int, nullable: bool = False, **options: Any) -> Iterable[SchemaItem]:
    """A column of whole numbers in a range."""
    yield sa.Column(name, sa.Integer if most < 2**31 else sa.BigInteger, nullable=nullable, **options)
    yield _check(name, f"{name} BETWEEN {least} AND {most}")
    yield _check(f"{name}_type", f"typeof({name}) IN ('integer', 'null')", "sqlite")


def _object(name: str) -> Iterable[SchemaItem]:
    """A column of object numbers; that they are less than the study's n_objects is up to a trigger."""
    return _whole(name, 0, 2**31 - 1)


def _time(name: str) -> Iterable[SchemaItem]:
    return _whole(name, 0, limits.LATEST)


def _text(name: str, empty: bool = False, nullable: bool = False, **options: Any) -> Iterable[SchemaItem]:
    """A column of texts without NUL, which PostgreSQL does not keep."""
    yield sa.Column(name, sa.Text, nullable=nullable, **options)
    if not empty:
        yield _check(name, f"length({name}) > 0")
    has_nul = f"coalesce(instr({name}, char(0)), 0)"
    yield _check(f"{name}_type", f"typeof({name}) IN ('text', 'null') AND NOT {has_nul}", "sqlite")


def _public_id(name: str, **options: Any) -> Iterable[SchemaItem]:
    """A column of ids or tokens."""
    yield sa.Column(name, sa.Text, nullable=False, **options)
    letters = f"{name} NOT GLOB '*[^A-Za-z0-9_-]*' AND length({name}) BETWEEN 1 AND {limits.ID}"
    yield _check(name, f"typeof({name}) = 'text' AND {letters}", "sqlite")
    yield _check(name, f"{name} ~ '^[A-Za-z0-9_-]{{1,{limits.ID}}}$'", "postgresql")


def _one_of(name: str, values: Iterable[str]) -> Iterable[SchemaItem]:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.Column(name, sa.Text, nullable=False), _check(name, f"{name} IN ({listed})")


def _json(name: str) -> Iterable[SchemaItem]:
    """A column of sa.JSON objects."""
    yield sa.Column(name, sa.JSON, nullable=False)
    # By CASE: of text that is no sa.JSON, json_type is an error.
    is_object = f"CASE WHEN json_valid({name}) THEN json_type({name}) = 'object' ELSE 0 END"
    yield _check(name, f"typeof({name}) = 'text' AND {is_object}", "sqlite")
    yield _check(name, f"json_typeof({name}) = 'object'", "postgresql")


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(name=name, create_constraint=True), nullable=False)


def _bytes(name: str) -> Iterable[SchemaItem]:
    return sa.Column(name, sa.LargeBinary, nullable=False), _check(name, f"typeof({name}) = 'blob'", "sqlite")


accounts = _table(
    "accounts",
    _public_id("id", primary_key=True),
    _text("name"),
    # The name in lower case: names that differ in nothing else would be taken for each other.
    _text("folded", empty=True, unique=True),
    _text("password_hash"),
    _flag("admin"),
    _time("created_at"),
)

sessions = _table(
    "sessions",
    _public_id("digest", primary_key=True),
    _account("account_id", nullable=False),
    _time("expires_at"),
    sa.Index("ix_sessions_account", "account_id"),
)

links = _table(
    "links",
    _public_id("digest", primary_key=True),
    _one_of("purpose", Purpose),
    _account("account_id"),
    _time("expires_at"),
    _check("account", "(purpose = 'enter') = (account_id IS NOT NULL)"),
)

studies = _table(
    "studies",
    _id(),
    _public_id("public_id", unique=True),
    _text("title"),
    _json("settings"),
    _one_of("state", State),
    _whole("n_objects", 3, 2**31 - 1),
    _whole("roster", 0, limits.SEQUENCE),
    _time("created_at"),
    _account("owner"),
)

objects = _table(
    "objects",
    _study(primary_key=True),
    _whole("number", 0, 2**31 - 1, primary_key=True, autoincrement=False),
    _text("name"),
    _json("payload"),
)

media = _table(
    "media",
    _study(primary_key=True),
    _text("name", primary_key=True),
    _text("type"),
    _bytes("data"),
)

participants = _table(
    "participants",
    _id(),
    _public_id("public_id", unique=True),
    _study(),
    _json("parameters"),
    _one_of("state", (standing for standing in Standing if standing != Standing.EXCLUDED)),
    _flag("excluded"),
    _time("joined_at"),
    _text("identity", empty=True, nullable=True),
    _flag("flagged"),
    sa.Index("ix_participants_study", "study_id", "id"),
    sa.Index("ix_participants_identity", "study_id", "identity", unique=True),
)

questions = _table(
    "questions",
    _id(),
    _public_id("token", unique=True),
    _study(),
    sa.Column("participant_id", _Number, sa.ForeignKey("participants.id"), nullable=False),
    *map(_object, ("head", "o1", "o2")),
    sa.Column("left_object", sa.Integer, nullable=False),
    _one_of("kind", Kind),
    _text("strategy", empty=True),
    _time("issued_at"),
    _time("expires_at"),
    _check("objects", "head <> o1 AND head <> o2 AND o1 <> o2"),
    _check("left", "left_object IN (o1, o2)"),
    sa.Index("ix_questions_pending", "study_id", "expires_at"),
    sa.Index("ix_questions_participant", "participant_id"),
    sa.Index("ix_questions_strategy", "strategy", "kind"),
)

answers = _table(
    "answers",
    _study(primary_key=True),
    _whole("sequence", 1, limits.SEQUENCE, primary_key=True, autoincrement=False),
    sa.Column("question_id", _Number, sa.ForeignKey("questions.id"), nullable=False),
    _object("choice"),
    _whole("response_ms", 0, limits.RESPONSE_MS, nullable=True),
    _json("client"),
    _time("answered_at"),
    sa.UniqueConstraint("question_id"),
)

skips = _table(
    "skips",
    sa.Column("question_id", _Number, sa.ForeignKey("questions.id"), primary_key=True, autoincrement=False),
    _text("reason", empty=True),
    _time("skipped_at"),
)

refusals = _table(
    "refusals",
    _id(),
    sa.Column("study_id", _Number, sa.ForeignKey("studies.id")),
    _one_of("reason", Reason),
    _text("token", empty=True),
    _text("participant", empty=True),
    _json("payload"),
    _time("refused_at"),
    sa.Index("ix_refusals_study", "study_id", "id"),
)

snapshots = _table(
    "snapshots",
    _id(),
    _study(),
    _whole("sequence", 0, limits.SEQUENCE),
    _whole("roster", 0, limits.SEQUENCE),
    _bytes("data"),
    _time("saved_at"),
    sa.Index("ix_snapshots_study", "study_id", "id"),
)

leases = _table(
    "leases",
    _study(primary_key=True),
    _text("owner", empty=True),
    _time("until"),
    _whole("fence", 0, limits.SEQUENCE),
)

# Each row must name one with a smaller number when its transaction ends. Of the rows that there are, the smallest
# cannot; so no row ever outlives the transaction in which a study is deleted.
deletions = _table(
    "deletions",
    sa.Column("study_id", _Number, primary_key=True, autoincrement=False),
    sa.Column(
        "smaller", _Number, sa.ForeignKey("deletions.study_id", deferrable=True, initially="DEFERRED"), nullable=False
    ),
    _check("smaller", "smaller < study_id"),
)

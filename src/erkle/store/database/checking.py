"""Whether a database keeps the laws that everything else relies on.

The database is only read, and may be in use. First the engine checks itself: its pages, its constraints and its
references. Then each law of the log is a query for rows that break it. Nothing is repaired.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote

from sqlalchemy import JSON, URL, Connection, Engine, Text, create_engine, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from erkle.store.database import schema, triggers
from erkle.store.database.engine import Pathlike, database_url, in_sentences, shown_name
from erkle.store.database.versioning import is_current
from erkle.store.errors import StoreError
from erkle.store.media import PARTS

__all__ = ["Report", "check_database"]

# Findings of one kind that are listed.
_LISTED = 20

# A sentence, and a query for the values in it, one row for each finding.
_LAWS = (
    (
        "study {}: its answers are numbered {} to {}, but there are {}",
        """SELECT s.public_id, min(a.sequence), max(a.sequence), count(*)
        FROM answers a JOIN studies s ON s.id = a.study_id GROUP BY s.public_id
        HAVING min(a.sequence) <> 1 OR max(a.sequence) <> count(*)""",
    ),
    (
        "study {}: answer {} is to no question of the study",
        """SELECT s.public_id, a.sequence FROM answers a JOIN studies s ON s.id = a.study_id
        LEFT JOIN questions q ON q.id = a.question_id AND q.study_id = a.study_id WHERE q.id IS NULL""",
    ),
    (
        "study {}: answer {} chooses object {}, but its question is about {} and {}",
        """SELECT s.public_id, a.sequence, a.choice, q.o1, q.o2 FROM answers a JOIN studies s ON s.id = a.study_id
        JOIN questions q ON q.id = a.question_id WHERE a.choice NOT IN (q.o1, q.o2)""",
    ),
    (
        "study {}: question {} was answered (answer {}) and skipped",
        """SELECT s.public_id, a.question_id, a.sequence FROM answers a JOIN studies s ON s.id = a.study_id
        JOIN skips k ON k.question_id = a.question_id""",
    ),
    (
        "study {}: question {} was put to nobody of the study",
        """SELECT s.public_id, q.id FROM questions q JOIN studies s ON s.id = q.study_id
        LEFT JOIN participants p ON p.id = q.participant_id AND p.study_id = q.study_id WHERE p.id IS NULL""",
    ),
    (
        "study {}: question {} is about objects {}, {} and {}, of {} objects",
        """SELECT s.public_id, q.id, q.head, q.o1, q.o2, s.n_objects
        FROM questions q JOIN studies s ON s.id = q.study_id
        WHERE NOT (q.head >= 0 AND q.o1 >= 0 AND q.o2 >= 0 AND q.head <> q.o1 AND q.head <> q.o2 AND q.o1 <> q.o2
        AND q.head < s.n_objects AND q.o1 < s.n_objects AND q.o2 < s.n_objects)""",
    ),
    (
        "study {}: has {} objects, the last of which is number {}, but should have {}",
        """SELECT s.public_id, count(o.number), max(o.number), s.n_objects
        FROM studies s LEFT JOIN objects o ON o.study_id = s.id GROUP BY s.id, s.public_id, s.n_objects
        HAVING count(o.number) <> s.n_objects OR max(o.number) <> s.n_objects - 1""",
    ),
    (
        "study {}: {} objects have the name {!r}",
        """SELECT s.public_id, count(*), o.name FROM objects o JOIN studies s ON s.id = o.study_id
        GROUP BY s.public_id, o.name HAVING count(*) > 1""",
    ),
    (
        "study {}: has no lease, so no server can learn from it",
        """SELECT s.public_id FROM studies s LEFT JOIN leases l ON l.study_id = s.id WHERE l.study_id IS NULL""",
    ),
    (
        "study {}: a snapshot is of answer {} and roster {}, but the study has {} answers and roster {}",
        """SELECT s.public_id, n.sequence, n.roster, count(a.sequence), s.roster
        FROM snapshots n JOIN studies s ON s.id = n.study_id LEFT JOIN answers a ON a.study_id = s.id
        GROUP BY n.id, s.public_id, n.sequence, n.roster, s.roster
        HAVING n.sequence > count(a.sequence) OR n.roster > s.roster""",
    ),
    ("study number {}: its deletion was begun and not ended", "SELECT study_id FROM deletions"),
)


class Report(NamedTuple):
    """What a check has found: how many rows there are, and a sentence for each fault."""

    name: str
    counts: dict[str, int]
    findings: list[str]


def check_database(place: Pathlike) -> Report:
    """Read a database and report what breaks a law.

    Parameters
    ----------
    place : path or str
        The path of an SQLite file, or a URL such as ``postgresql://user@host/name``.

    Raises
    ------
    StoreError
        When it is no database of this version of erkle, or cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from erkle.store import Store, check_database
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/answers.db") as store:
    ...     _ = store.studies.create("Cities", ["Paris", "Lyon", "Madrid"])
    ...     report = check_database(f"{folder}/answers.db")
    >>> report.counts["studies"], report.findings
    (1, [])
    """
    with _reading(place) as (name, connection):
        if not is_current(connection, name):
            raise StoreError(f"{name}: is empty; give a database that a server has used.")
        counts: dict[str, int] = {}
        findings: list[str] = []
        try:
            for found in (_engine_faults, _changed_definitions, _unreadable, _broken_laws, _missing_media):
                findings += found(connection)
            for table in (schema.studies, schema.participants, schema.questions, schema.answers):
                counts[table.name] = connection.execute(select(func.count()).select_from(table)).scalar_one()
        except (DBAPIError, ValueError) as error:
            findings.append(f"not everything could be checked ({_first_line(error)})")
    return Report(name, counts, findings)


@contextmanager
def _reading(place: Pathlike) -> Iterator[tuple[str, Connection]]:
    """A transaction that sees one state of a database and cannot change it."""
    url = database_url(place)
    name, engine = shown_name(url), _read_only(url)
    try:
        with in_sentences(name), engine.connect() as connection, connection.begin():
            yield name, connection
    finally:
        engine.dispose()


def _read_only(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        options = {"postgresql_readonly": True, "isolation_level": "REPEATABLE READ"}
        return create_engine(url, execution_options=options)

    def connect() -> sqlite3.Connection:
        # Not mode=ro, in which SQLite ignores CHECK constraints, and so the integrity check does, too.
        connection = sqlite3.connect(f"file:{quote(str(url.database))}?mode=rw", uri=True)
        connection.execute("PRAGMA query_only=ON")
        return connection

    return create_engine("sqlite://", creator=connect)


def _engine_faults(connection: Connection) -> Iterator[str]:
    """What the engine finds wrong with its file and with references."""
    if connection.dialect.name != "sqlite":
        return
    for [line] in connection.exec_driver_sql(f"PRAGMA integrity_check({_LISTED})"):
        if line != "ok":
            yield f"the file: {line}"
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check")
    yield from _listed(
        f"{table}: row {row} refers to a row of {parent} that is gone" for table, row, parent, _ in broken
    )


def _changed_definitions(connection: Connection) -> Iterator[str]:
    """Triggers and CHECK constraints that somebody has removed."""
    dialect = connection.dialect
    created = [*triggers.create_statements(dialect.name)]
    created += [str(CreateTable(table).compile(dialect=dialect)) for table in schema.metadata.sorted_tables]
    wanted = {
        name for sql in created for name in re.findall(r"(?:CONSTRAINT|CREATE TRIGGER) ((?!pk_|fk_|uq_)\w+)", sql)
    }
    if dialect.name == "sqlite":
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    else:
        here = "namespace = current_schema()::regnamespace"
        query = f"""SELECT conname FROM pg_constraint WHERE convalidated AND con{here}
        UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
        WHERE tgenabled IN ('O', 'A') AND rel{here}"""
    found = {word for [sql] in connection.exec_driver_sql(query) for word in re.findall(r"\w+", sql)}
    for name in sorted(wanted - found):
        yield f"{name}: this constraint or trigger was removed"


def _unreadable(connection: Connection) -> Iterator[str]:
    """Tables with a text that is no UTF-8, or JSON that cannot be read."""
    for table in schema.metadata.sorted_tables:
        columns = [column for column in table.c if isinstance(column.type, Text | JSON)]
        try:
            for _ in connection.execute(select(*columns)) if columns else ():
                pass
        except (DBAPIError, ValueError, RecursionError) as error:
            yield f"{table.name}: has a value that cannot be read ({_first_line(error)})"


def _broken_laws(connection: Connection) -> Iterator[str]:
    for sentence, query in _LAWS:
        yield from _listed(sentence.format(*row) for row in connection.execute(text(query)))


def _missing_media(connection: Connection) -> list[str]:
    o, m, s = schema.objects.c, schema.media.c, schema.studies.c
    known = {tuple(row) for row in connection.execute(select(m.study_id, m.name))}
    shown = connection.execute(select(o.study_id, s.public_id, o.number, o.payload).join(schema.studies))
    return _listed(
        f"study {study}: object {number} shows the {part} {payload[part]!r}, which the study does not have"
        for study_number, study, number, payload in shown
        for part in PARTS
        if part in payload and (study_number, payload[part]) not in known
    )


def _listed(findings: Iterable[str]) -> list[str]:
    """The first findings of a kind, and that there are more."""
    listed = list(islice(findings, _LISTED + 1))
    return listed if len(listed) <= _LISTED else [*listed[:_LISTED], "... and more of this kind"]


def _first_line(error: BaseException) -> str:
    return str(getattr(error, "orig", error)).splitlines()[0]

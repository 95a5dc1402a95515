"""A check that a database keeps the laws that the rest of erkle relies on.

The check only reads, and the database may be in use. First the engine checks its own file, constraints and references.
Then each query in ``laws.sql`` looks for rows that break a law. Nothing is repaired.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from sqlalchemy import JSON, URL, Connection, Text, create_engine, func, select, text
from sqlalchemy.exc import DBAPIError

from erkle.store.database import schema
from erkle.store.database.contention import allow_long_statements
from erkle.store.database.engines import new_postgresql_engine
from erkle.store.database.location import Pathlike, database_url, shown_name
from erkle.store.database.sqlite.acknowledged import AcknowledgedAnswers
from erkle.store.database.sqlite.files import refuse_other_log
from erkle.store.database.sqlite.log_file import keeping_log
from erkle.store.database.trouble import opening, translating_errors
from erkle.store.database.versioning import initial_statements, is_current, statements
from erkle.store.errors import StoreError
from erkle.store.media import PARTS

Check = Callable[[Connection], Iterable[str]]
# Number of findings of one kind that are listed.
_LISTED = 20


class Report(NamedTuple):
    """The result of a check: the numbers of rows, and a sentence for each fault."""

    name: str
    counts: dict[str, int]
    findings: list[str]


def check_database(location: Pathlike) -> Report:
    """Read a database and report every fault in it.

    Parameters
    ----------
    location : path or str
        The path of an SQLite file, or a URL such as ``postgresql://user@host/name``.

    Raises
    ------
    StoreError
        If the database cannot be read or does not belong to this version of erkle.

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
    url = database_url(location)
    acknowledged = AcknowledgedAnswers(str(url.database)) if url.get_backend_name() == "sqlite" else None
    with _reading(url) as (name, connection):
        with opening(name):
            current = is_current(connection, name)
        if not current:
            raise StoreError(f"{name}: is empty; pass a database that a server has used.")
        counts: dict[str, int] = {}
        findings: list[str] = []
        laws = (partial(_broken, law) for law in statements(Path(__file__).with_name("laws.sql")))
        checks: list[Check] = [_engine_faults, _changed_definitions, _unreadable, *laws, _missing_media]
        if acknowledged is not None:
            checks.append(partial(_missing_answers, acknowledged))
        for check in checks:
            with _noting_failure(connection, findings):
                findings += check(connection)
        for table in (schema.studies, schema.participants, schema.questions, schema.answers):
            with _noting_failure(connection, findings):
                counts[table.name] = connection.execute(select(func.count()).select_from(table)).scalar_one()
    return Report(name, counts, findings)


@contextmanager
def _reading(url: URL) -> Iterator[tuple[str, Connection]]:
    """Open a transaction that sees the database at one moment and cannot change it."""
    if url.get_backend_name() == "sqlite":
        engine = create_engine("sqlite://", creator=partial(_sqlite, str(url.database)))
    else:
        engine = new_postgresql_engine(url, postgresql_readonly=True, isolation_level="REPEATABLE READ")
    name = shown_name(url)
    is_sqlite = engine.dialect.name == "sqlite"
    with keeping_log(name) if is_sqlite else nullcontext():
        try:
            with translating_errors(name), engine.connect() as connection:
                for statement in ("PRAGMA query_only=ON", "BEGIN") if is_sqlite else ():
                    connection.exec_driver_sql(statement)
                allow_long_statements(connection)
                yield name, connection
        finally:
            engine.dispose()


def _sqlite(file: str) -> sqlite3.Connection:
    """Connect to a file; connect to a copy of a read-only file, in which SQLite would not check constraints."""
    refuse_other_log(file)
    uri = f"file:{quote(file)}?mode="
    if os.access(file, os.W_OK):
        return sqlite3.connect(f"{uri}rw", uri=True, isolation_level=None)
    # Without a WAL file, no process uses the database. It is opened as immutable then, because otherwise SQLite would
    # create a WAL file, which fails in a read-only folder.
    uri += "ro" if Path(f"{file}-wal").exists() else "ro&immutable=1"
    # A database without a name is a temporary file, which SQLite deletes when the connection is closed.
    copy = sqlite3.connect("", isolation_level=None)
    with closing(sqlite3.connect(uri, uri=True)) as original:
        original.backup(copy)
    return copy


@contextmanager
def _noting_failure(connection: Connection, findings: list[str]) -> Iterator[None]:
    """Run a part of the check; if it fails, report that as a finding, so that the other parts still run."""
    try:
        # After a failed statement, PostgreSQL refuses all others unless it can return to a savepoint.
        with connection.begin_nested():
            yield
    except Exception as error:
        if (finding := f"the check is incomplete: one part failed ({_first_line(error)})") not in findings:
            findings.append(finding)


def _engine_faults(connection: Connection) -> Iterator[str]:
    """Yield what SQLite finds wrong with its file, constraints and references."""
    if connection.dialect.name != "sqlite":
        return
    for [line] in connection.exec_driver_sql(f"PRAGMA integrity_check({_LISTED})"):
        if line != "ok":
            yield f"the file: {line}"
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check")
    yield from _listed(
        f"{table}: row {row} refers to a row of {parent} that does not exist" for table, row, parent, _ in broken
    )


def _changed_definitions(connection: Connection) -> Iterator[str]:
    """Yield the names of constraints, indexes and triggers that were removed."""
    dialect = connection.dialect.name
    wanted = re.findall(r"(?:CONSTRAINT|INDEX|CREATE TRIGGER) (\w+)", " ".join(initial_statements(dialect)))
    if dialect == "sqlite":
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    else:
        here = "namespace = current_schema()::regnamespace"
        query = f"""SELECT conname FROM pg_constraint WHERE convalidated AND con{here}
        UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
        WHERE tgenabled IN ('O', 'A') AND rel{here}
        UNION ALL SELECT relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indisvalid AND rel{here}"""
    found = {word for [sql] in connection.exec_driver_sql(query) for word in re.findall(r"\w+", sql)}
    for name in sorted({*wanted} - found):
        yield f"{name}: this constraint, index or trigger is missing"


def _unreadable(connection: Connection) -> Iterator[str]:
    """Yield the tables in which a text is not valid UTF-8 or a JSON value cannot be parsed."""
    for table in schema.metadata.sorted_tables:
        columns = [column for column in table.c if isinstance(column.type, Text | JSON)]
        try:
            # After a failed statement, PostgreSQL refuses all others unless it can return to a savepoint.
            with connection.begin_nested():
                for _ in connection.execute(select(*columns)) if columns else ():
                    pass
        except (DBAPIError, ValueError, RecursionError) as error:
            yield f"{table.name}: contains a value that cannot be read ({_first_line(error)})"


def _broken(law: str, connection: Connection) -> list[str]:
    """Return a message for each row that breaks a law; the first line of the law is the message, the rest the query."""
    sentence, query = law.removeprefix("-- ").split("\n", 1)
    return _listed(sentence.format(*row) for row in connection.execute(text(query)))


def _missing_media(connection: Connection) -> list[str]:
    o, m, s = schema.objects.c, schema.media.c, schema.studies.c
    known = {(study, repr(name)) for study, name in connection.execute(select(m.study_id, m.name))}
    # The media of an unfinished study may not be there yet.
    finished = s.id.not_in(select(schema.unfinished_studies.c.study_id))
    shown = connection.execute(
        select(o.study_id, s.public_id, o.number, o.payload).join(schema.studies).where(finished)
    )
    return _listed(
        f"study {study}: object {number} shows the {part} {payload[part]!r}, which does not exist"
        for study_number, study, number, payload in shown
        for part in PARTS
        # A payload that is not a dictionary breaks a constraint, so `_engine_faults` reports it.
        if isinstance(payload, dict) and part in payload and (study_number, repr(payload[part])) not in known
    )


def _missing_answers(acknowledged: AcknowledgedAnswers, connection: Connection) -> Iterator[str]:
    if missing := acknowledged.missing(connection):
        yield missing


def _listed(findings: Iterable[str]) -> list[str]:
    """Return the first findings of one kind, and a note if there are more."""
    listed = list(islice(findings, _LISTED + 1))
    return listed if len(listed) <= _LISTED else [*listed[:_LISTED], "... and more findings of this kind"]


def _first_line(error: BaseException) -> str:
    return (str(getattr(error, "orig", error)).splitlines() or [type(error).__name__])[0]

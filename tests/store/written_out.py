"""The first tables as SQL; run this module to write the files anew, as long as nothing has been released."""

from pathlib import Path

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from erkle.store.database import migrations, schema

DIALECTS = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}


def path(name):
    return Path(migrations.__path__[0], "versions", f"v0001_tables_{name}.sql")


def written_out(name):
    """What schema.py says, for an engine."""
    tables = schema.metadata.sorted_tables
    elements = [
        element
        for table in tables
        for element in (CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda index: index.name)))
    ]
    statements = [str(element.compile(dialect=DIALECTS[name])).strip() for element in elements]
    lines = ";\n\n".join(statements).replace("\t", "  ").splitlines()
    return "\n".join(line.rstrip() for line in lines) + ";\n"


if __name__ == "__main__":
    for name in DIALECTS:
        path(name).write_text(written_out(name))

"""The first version of the tables as SQL; run this module to write the files anew while nothing has been released."""

from pathlib import Path

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from erkle.store.database import migrations, schema, triggers

DIALECTS = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}


def path(name):
    return Path(migrations.__path__[0], "versions", f"v0001_{name}.sql")


def written_out(name):
    """What schema.py and triggers.py say, for an engine."""
    tables = schema.metadata.sorted_tables
    elements = [
        element
        for table in tables
        for element in (CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda index: index.name)))
    ]
    statements = [str(element.compile(dialect=DIALECTS[name])).strip() for element in elements]
    lines = ";\n\n".join(statements).replace("\t", "  ").splitlines()
    return ";\n\n".join(["\n".join(line.rstrip() for line in lines), *triggers.create_statements(name)]) + "\n"


if __name__ == "__main__":
    for name in DIALECTS:
        path(name).write_text(written_out(name))

"""All rows of a database, to compare it before and after."""

from erkle.store.database import schema


def all_rows(store):
    """Return the rows of each table as sorted texts."""
    with store._database.reading() as connection:
        return {
            name: sorted(map(str, connection.execute(table.select()).all()))
            for name, table in schema.metadata.tables.items()
        }

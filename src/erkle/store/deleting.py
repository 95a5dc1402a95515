"""A study is deleted as a whole: answers go only together with everything that they are part of.

The triggers that keep every row make way for the rows of a study that stands in ``deletions``. It stands there
within this transaction only, for the table lets no row be committed.
"""

from sqlalchemy import Connection, delete, insert, select

from erkle.store import schema, studies

__all__ = ["delete_study"]

# A table is emptied before those that it refers to.
_OF_STUDY = (
    schema.answers, schema.questions, schema.participants, schema.refusals, schema.snapshots, schema.leases,
    schema.media, schema.objects,
)  # fmt: skip


def delete_study(connection: Connection, study: str) -> None:
    """Delete a study and everything of it."""
    number = studies.locked(connection, study, alone=True)["id"]
    connection.execute(insert(schema.deletions).values(study_id=number, smaller=number - 1))
    asked = select(schema.questions.c.id).where(schema.questions.c.study_id == number)
    connection.execute(delete(schema.skips).where(schema.skips.c.question_id.in_(asked)))
    for table in _OF_STUDY:
        connection.execute(delete(table).where(table.c.study_id == number))
    connection.execute(delete(schema.studies).where(schema.studies.c.id == number))
    connection.execute(delete(schema.deletions).where(schema.deletions.c.study_id == number))

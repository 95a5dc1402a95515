"""Deletion of a study with all its data. This is the only way to delete an answer.

A study can have millions of rows, so they are deleted in batches, and others can write in between. First the study gets
an id that nobody knows and is listed in ``unfinished_studies``, so that nobody can find it any more. If the process is
killed meanwhile, `UnfinishedStudies.recover` deletes the rest.

Triggers refuse to delete rows unless their study is listed in the table ``deletions``. That table refuses to commit any
row, so a study is listed only inside the transactions that delete its rows.
"""

from functools import partial

from sqlalchemy import Connection, Table, delete, insert, select, tuple_, update

from erkle.store.database import rows, schema
from erkle.store.questions import new_token

# Rows deleted in one transaction: some 50 ms of work, for which other writers wait.
_BATCH = 1000
# The same for parts of media, batches of imports, snapshots and features, which are large.
_LARGE_ROWS = 16


def hide(connection: Connection, study: str, at: int) -> str:
    """Give a study an id that nobody knows, and return it."""
    number, hidden = rows.lock_study(connection, study, exclusive=True)["id"], new_token()
    t, unfinished = schema.studies, schema.unfinished_studies
    connection.execute(update(t).where(t.c.id == number).values(public_id=hidden))
    connection.execute(delete(unfinished).where(unfinished.c.study_id == number))
    connection.execute(insert(unfinished), {"study_id": number, "written_at": at})
    return hidden


def delete_batch(connection: Connection, study: str) -> bool:
    """Delete a batch of the rows of a hidden study, and finally the study; return whether rows are left."""
    number = rows.lock_study(connection, study, exclusive=True)["id"]
    t = schema.deletions
    connection.execute(insert(t), {"study_id": number, "smaller": number - 1})
    is_more = any(delete_some(connection, number) for delete_some in _IN_ORDER)
    if not is_more:
        for table in _AT_LAST:
            connection.execute(delete(table).where(table.c.study_id == number))
        connection.execute(delete(schema.studies).where(schema.studies.c.id == number))
    connection.execute(delete(t).where(t.c.study_id == number))
    return is_more


def _delete_rows(table: Table, most: int, connection: Connection, number: int) -> bool:
    """Delete the last rows of a study in a table; return whether there may be more."""
    key = table.primary_key.columns
    # From the end, so that the log has no gaps in between.
    last = select(*key).where(table.c.study_id == number).order_by(*(column.desc() for column in key)).limit(most)
    return connection.execute(delete(table).where(tuple_(*key).in_(last))).rowcount == most


def _delete_questions(connection: Connection, number: int) -> bool:
    q, s = schema.questions.c, schema.skips.c
    some = list(connection.execute(select(q.id).where(q.study_id == number).limit(_BATCH)).scalars())
    connection.execute(delete(schema.skips).where(s.question_id.in_(some)))
    connection.execute(delete(schema.questions).where(q.id.in_(some)))
    return len(some) == _BATCH


# Each table comes before the tables that it refers to, and snapshots before the answers that they have read.
_IN_ORDER = (
    partial(_delete_rows, schema.snapshots, _LARGE_ROWS),
    partial(_delete_rows, schema.import_batches, _LARGE_ROWS),
    partial(_delete_rows, schema.answers, _BATCH),
    _delete_questions,
    partial(_delete_rows, schema.participants, _BATCH),
    partial(_delete_rows, schema.refusals, _BATCH),
    partial(_delete_rows, schema.media_parts, _LARGE_ROWS),
    partial(_delete_rows, schema.media, _BATCH),
    partial(_delete_rows, schema.features, _LARGE_ROWS),
)
# Tables whose rows every study has, until it is gone.
_AT_LAST = (schema.leases, schema.usage, schema.objects, schema.unfinished_studies)

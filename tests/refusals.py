"""What the store refused, read from its database."""

from sqlalchemy import select

from erkle.store.database import rows, schema


def refusals(store, study):
    """The refusals of a study, newest first; of None, those that name no study that exists."""
    t = schema.refusals.c
    with store._database.reading() as connection:
        number = None if study is None else rows.study(connection, study)["id"]
        return connection.execute(select(schema.refusals).where(t.study_id == number).order_by(t.id.desc())).all()

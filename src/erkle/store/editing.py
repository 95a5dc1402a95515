"""What can be changed of a study: how it is called and set, and, until somebody was asked, what it asks about."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from erkle.store import schema, studies
from erkle.store.errors import NotAllowed
from erkle.store.sanitising import Json
from erkle.store.studies import Object, Study

__all__ = ["Revision", "edit", "replace_objects", "revise"]

Revision = Callable[[Study, list[Object]], tuple[str | None, Json | None]]


def edit(connection: Connection, study: str, title: str | None, settings: Json | None) -> Study:
    """Give a study another title, other settings, or both."""
    number = studies.locked(connection, study)["id"]
    values: dict[str, Any] = {}
    if title is not None:
        values["title"] = studies.checked_title(title)
    if settings is not None:
        values["settings"] = studies.checked_settings(settings)
    if values:
        connection.execute(update(schema.studies).where(schema.studies.c.id == number).values(values))
    return studies.get(connection, study)


def revise(connection: Connection, study: str, revision: Revision) -> Study:
    """Give a study the title and the settings that follow from those that it has, while nobody else changes them."""
    studies.locked(connection, study)
    # Read after the lock: before it others may have changed something.
    title, settings = revision(studies.get(connection, study), studies.objects(connection, study))
    return edit(connection, study, title, settings)


def replace_objects(connection: Connection, study: str, things: Sequence[Object | str]) -> Study:
    """Ask about other objects; refused once a question was asked, whose numbers would then mean others."""
    number = studies.locked(connection, study)["id"]
    asked = select(schema.questions.c.id).where(schema.questions.c.study_id == number).limit(1)
    if connection.execute(asked).first() is not None:
        raise NotAllowed("Questions about the objects of this study were asked already; create another study.")
    rows = studies.checked_objects(things)
    connection.execute(delete(schema.objects).where(schema.objects.c.study_id == number))
    connection.execute(insert(schema.objects), [{"study_id": number, **row} for row in rows])
    connection.execute(update(schema.studies).where(schema.studies.c.id == number).values(n_objects=len(rows)))
    return studies.get(connection, study)

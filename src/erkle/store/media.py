"""Media: what a study shows beside names, as bytes; they are in the same backup as the answers about them."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from erkle.store import schema, studies
from erkle.store.damaged import text
from erkle.store.errors import StoreError, Unknown
from erkle.store.sanitising import bounded_text, strict_text

__all__ = ["Medium", "add", "get", "listed"]

_NAME, _TYPE = 200, 100
_T = schema.media.c


class Medium(NamedTuple):
    """An image, a sound or a film; ``type`` is such as ``image/webp``."""

    type: str
    data: bytes


def add(connection: Connection, study: str, media: Mapping[str, Medium]) -> None:
    """Keep media by their names; one that has the name of another replaces it."""
    number = studies.locked(connection, study)["id"]
    for name, (kind, data) in media.items():
        key = {"study_id": number, "name": strict_text(name, "The name of a medium", _NAME)}
        if not isinstance(data, bytes):
            raise StoreError(f"What is in {name[:60]!r} is of type {type(data).__name__}; pass bytes.")
        content = {"type": strict_text(kind, f"The type of {name[:60]!r}", _TYPE), "data": data}
        connection.execute(delete(schema.media).where(_T.study_id == number, _T.name == name))
        # One after the other: all of them in one statement would be in memory twice.
        connection.execute(insert(schema.media), {**key, **content})


def get(connection: Connection, study: str, name: str) -> Medium:
    """The medium with this name."""
    number = studies.find(connection, study)["id"]
    known = isinstance(name, str) and bounded_text(name, _NAME) == name
    query = select(_T.type, _T.data).where(_T.study_id == number, _T.name == name)
    row = connection.execute(query).one_or_none() if known else None
    if row is None or row.data is None:
        raise Unknown(f"The study has no medium {bounded_text(name, 60)!r}; check its name.")
    return Medium(text(row.type), row.data)


def listed(connection: Connection, study: str) -> list[str]:
    """The names of all media, in their order, but for those that are no texts."""
    number = studies.find(connection, study)["id"]
    names = connection.execute(select(_T.name).where(_T.study_id == number)).scalars().all()
    # Ordered here: databases do not agree on the order of letters.
    return sorted(name for name in names if isinstance(name, str))

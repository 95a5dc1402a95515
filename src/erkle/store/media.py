"""Media: what a study shows besides names, as bytes; they are in the same backup as the answers about them."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from erkle.store import limits
from erkle.store.database import rows, schema
from erkle.store.database.topics import Topic, reading
from erkle.store.errors import StoreError, Unknown
from erkle.store.sanitising import bounded_text, strict_text

# Parts of an object's payload that name a medium.
PARTS = ("image", "thumb", "audio", "video")

_T = schema.media.c


class Medium(NamedTuple):
    """An image, a sound or a film; ``type`` is a MIME type such as ``image/webp``."""

    type: str
    data: bytes


class Media(Topic):
    """The media of studies, by name; they are added when a study is created."""

    @reading
    def get(self, study: str, name: str) -> Medium:
        """The medium with this name."""
        number = rows.study(self.connection, study)["id"]
        known = isinstance(name, str) and bounded_text(name, limits.MEDIA_NAME) == name
        query = select(_T.type, _T.data).where(_T.study_id == number, _T.name == name)
        row = self.connection.execute(query).one_or_none() if known else None
        if row is None:
            raise Unknown(f"The study has no medium {bounded_text(name, 60)!r}; check its name.")
        return Medium(*row)

    @reading
    def names(self, study: str) -> list[str]:
        """The names of all media of a study, sorted."""
        number = rows.study(self.connection, study)["id"]
        # Sorted here: databases do not agree on the order of letters.
        return sorted(self.connection.execute(select(_T.name).where(_T.study_id == number)).scalars())


def add_media(connection: Connection, study_number: int, media: Mapping[str, Medium]) -> None:
    """Add the media of a new study, given the number of its row."""
    for name, (kind, data) in media.items():
        key = {"study_id": study_number, "name": strict_text(name, "The name of a medium", limits.MEDIA_NAME)}
        if not isinstance(data, bytes):
            raise StoreError(f"What is in {name[:60]!r} is of type {type(data).__name__}; pass bytes.")
        content = {"type": strict_text(kind, f"The type of {name[:60]!r}", limits.MEDIA_TYPE), "data": data}
        # One after the other: all of them in one statement would be in memory twice.
        connection.execute(insert(schema.media), {**key, **content})

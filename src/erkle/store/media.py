"""Media: the images, sounds and videos of studies, stored in the database so that a backup includes them."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from erkle.store import limits
from erkle.store.database import rows, schema
from erkle.store.database.room import check_room
from erkle.store.database.topics import Topic, reading
from erkle.store.errors import StoreError, Unknown
from erkle.store.sanitising import bounded_text, is_text, strict_text

# Keys of an object's payload whose value is the name of a medium.
PARTS = ("image", "thumb", "audio", "video")

_T = schema.media.c


class Medium(NamedTuple):
    """An image, a sound or a video; ``type`` is a MIME type such as ``image/webp``."""

    type: str
    data: bytes


class Media(Topic):
    """The media of studies, by name; they are added when the study is created."""

    @reading
    def get(self, study: str, name: str) -> Medium:
        """Return the medium with this name."""
        number = rows.study(self.connection, study)["id"]
        query = select(_T.type, _T.data).where(_T.study_id == number, _T.name == name)
        row = self.connection.execute(query).one_or_none() if is_text(name, limits.MEDIA_NAME) else None
        if row is None:
            raise Unknown(f"The study has no medium {bounded_text(name, 60)!r}; check the name.")
        return Medium(*row)

    @reading
    def names(self, study: str) -> list[str]:
        """Return the names of all media of a study, sorted."""
        number = rows.study(self.connection, study)["id"]
        # Sorted in Python, because databases sort letters differently.
        return sorted(self.connection.execute(select(_T.name).where(_T.study_id == number)).scalars())


def add_media(connection: Connection, study_number: int, media: Mapping[str, Medium]) -> None:
    """Add the media of a new study, given the number of the study's row."""
    check_room(connection, sum(len(medium.data) for medium in media.values() if isinstance(medium.data, bytes)))
    for name, (kind, data) in media.items():
        key = {"study_id": study_number, "name": strict_text(name, "The name of a medium", limits.MEDIA_NAME)}
        if not isinstance(data, bytes):
            raise StoreError(f"The data of medium {name[:60]!r} are of type {type(data).__name__}; pass bytes.")
        content = {"type": strict_text(kind, f"The type of medium {name[:60]!r}", limits.MEDIA_TYPE), "data": data}
        # One statement per medium: a single statement would hold all of them in memory twice.
        connection.execute(insert(schema.media), {**key, **content})

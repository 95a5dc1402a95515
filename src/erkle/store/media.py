"""Media: the images, sounds and videos of studies, stored in the database so that a backup includes them.

The bytes of a medium are stored in parts, so that a piece of a long sound is read without the rest of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Table, insert, select

from erkle.store import limits
from erkle.store.database import rows, schema
from erkle.store.database.topics import Topic, reading
from erkle.store.errors import StoreError, Unknown
from erkle.store.sanitising import bounded_text, is_text, strict_text

# Keys of an object's payload whose value is the name of a medium.
PARTS = ("image", "thumb", "audio", "video")
# Bytes of a part of a medium; only the last part is shorter.
PART = 1 << 18
# Bytes of media written in one transaction, and the most rows: a statement has a limited number of parameters.
_GROUP_BYTES, _GROUP_ROWS = 4 << 20, 500

T = TypeVar("T")

_M, _P = schema.media.c, schema.media_parts.c
# A table and the values of a new row.
Row = tuple[Table, dict[str, Any]]


class Medium(NamedTuple):
    """An image, a sound or a video; ``type`` is a MIME type such as ``image/webp``."""

    type: str
    data: bytes


class MediumInfo(NamedTuple):
    """The MIME type of a medium, and its size in bytes."""

    type: str
    size: int


class Media(Topic):
    """The media of studies, by name; `UnfinishedStudies` and `Drafts` add them."""

    @reading
    def info(self, study: str, name: str) -> MediumInfo:
        """Return the type and the size of the medium with this name, without reading its bytes."""
        number = rows.study(self.connection, study)["id"]
        query = select(_M.type, _M.size).where(_M.study_id == number, _M.name == name)
        row = self.connection.execute(query).one_or_none() if is_text(name, limits.MEDIA_NAME) else None
        if row is None:
            raise _unknown(name)
        return MediumInfo(*row)

    @reading
    def get(self, study: str, name: str) -> Medium:
        """Return the medium with this name."""
        info, number = self.info(study, name), rows.study(self.connection, study)["id"]
        query = select(_P.data).where(_P.study_id == number, _P.name == name).order_by(_P.number)
        return Medium(info.type, b"".join(self.connection.execute(query).scalars()))

    def read(self, study: str, name: str, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes from ``start`` to before ``end`` in pieces; each piece is read when it is needed."""
        for number in range(start // PART, (end - 1) // PART + 1):
            # One transaction per part, so that a slow reader does not block others.
            part, offset = self._part(study, name, number), number * PART
            yield part[max(start - offset, 0) : end - offset]

    @reading
    def names(self, study: str) -> list[str]:
        """Return the names of all media of a study, sorted."""
        # Sorted in Python, because databases sort letters differently.
        return sorted(self.sizes(study))

    @reading
    def sizes(self, study: str) -> dict[str, int]:
        """Return the number of bytes of each medium of a study, by name."""
        number = rows.study(self.connection, study)["id"]
        query = select(_M.name, _M.size).where(_M.study_id == number)
        return {row.name: row.size for row in self.connection.execute(query)}

    @reading
    def _part(self, study: str, name: str, number: int) -> bytes:
        of_study = _P.study_id == rows.study(self.connection, study)["id"]
        query = select(_P.data).where(of_study, _P.name == name, _P.number == number)
        part: bytes | None = self.connection.execute(query).scalar_one_or_none()
        if part is None:
            raise _unknown(name)
        return part


def in_groups(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items in groups that are each written in one transaction, given the bytes of each item."""
    group: list[T] = []
    total = 0
    for item in items:
        group.append(item)
        total += size(item)
        if total >= _GROUP_BYTES or len(group) == _GROUP_ROWS:
            yield group
            group, total = [], 0
    if group:
        yield group


def media_rows(media: Mapping[str, Medium]) -> Iterator[Row]:
    """Yield the rows of media, without the number of their study: each medium, and then its parts."""
    for name, (kind, data) in media.items():
        key = {"name": strict_text(name, "The name of a medium", limits.MEDIA_NAME)}
        if not isinstance(data, bytes):
            raise StoreError(f"The data of medium {name[:60]!r} are of type {type(data).__name__}; pass bytes.")
        about = {"type": strict_text(kind, f"The type of medium {name[:60]!r}", limits.MEDIA_TYPE), "size": len(data)}
        yield schema.media, {**key, **about}
        for number, start in enumerate(range(0, len(data), PART)):
            yield schema.media_parts, {**key, "number": number, "data": data[start : start + PART]}


def add_rows(connection: Connection, study_number: int, added: Iterable[Row]) -> None:
    """Add rows of media, given the number of the study's row."""
    for table, values in added:
        # One statement per row: a single statement would hold all of them in memory twice.
        connection.execute(insert(table), {"study_id": study_number, **values})


def _unknown(name: object) -> Unknown:
    return Unknown(f"The study has no medium {bounded_text(name, 60)!r}; check the name.")

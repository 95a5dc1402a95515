"""Drafts: the objects of a study can be replaced until there are questions about them.

The changes are checked first. New media are then added in several transactions, so that others can write in between. In
the end the objects are replaced in one transaction, which also removes media that no object refers to any more.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, exists, insert, select, update

from erkle.store.database import rows, schema
from erkle.store.database.enumerations import State
from erkle.store.database.sqlite.room import check_room
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed
from erkle.store.media import PARTS, Media, Medium, add_rows, in_groups, media_rows
from erkle.store.sanitising import Json, strict_json
from erkle.store.studies import Object, Studies, Study, checked_objects

Replacement = Callable[[Study, list[Object]], tuple[Sequence[Object], Json]]


class Drafts(Topic):
    """Changes to the objects of drafts."""

    @reading
    def check(self, study: str, replacement: Replacement) -> None:
        """Raise what `replace_objects` would raise, except for media that are missing; nothing changes."""
        self._replaced(study, rows.study(self.connection, study)["id"], replacement)

    def add_media(self, study: str, media: Mapping[str, Medium], n_bytes: int) -> None:
        """Add media for new objects of a draft; media that it already has are left out.

        `NoRoom` is raised if the disk has too little space for ``n_bytes``, the size of all media.
        """
        new = self._new(study, media)
        self._check_room(n_bytes)
        # One medium at a time is read: all of them may not fit into memory.
        for group in in_groups(((name, media[name]) for name in new), lambda item: len(item[1].data)):
            self._add(study, dict(group))

    @writing
    def replace_objects(self, study: str, replacement: Replacement) -> Study:
        """Replace the objects and the settings of a draft by what ``replacement(study, objects)`` returns.

        An exception changes nothing. Nobody else can change the study while the function runs, so it should be short.
        It may be called twice.

        Raises
        ------
        NotAllowed
            If the study has been opened, or if it has answers, which refer to objects by their numbers.
        """
        number = rows.lock_study(self.connection, study)["id"]
        numbered, settings = self._replaced(study, number, replacement)
        self._keep_media(study, number, {name for row in numbered for name in media_of(row["payload"])})
        o, s, n = schema.objects, schema.studies, schema.snapshots
        self.connection.execute(delete(o).where(o.c.study_id == number))
        self.connection.execute(insert(o), [{"study_id": number, **row} for row in numbered])
        # A snapshot is of a learner for the old number of objects.
        self.connection.execute(delete(n).where(n.c.study_id == number))
        values = {"n_objects": len(numbered), "roster": s.c.roster + 1, "settings": settings}
        self.connection.execute(update(s).where(s.c.id == number).values(values))
        return Studies(self.connection, self.clock).get(study)

    def _replaced(self, study: str, number: int, replacement: Replacement) -> tuple[list[dict[str, Any]], Json]:
        """Return the rows of the new objects, and the new settings."""
        studies = Studies(self.connection, self.clock)
        before = studies.get(study)
        self._check_draft(before, number)
        objects, settings = replacement(before, studies.objects(study))
        return checked_objects(objects), strict_json(settings, "The settings")

    def _check_draft(self, study: Study, number: int) -> None:
        if study.state != State.DRAFT:
            raise NotAllowed(
                f"The study is {study.state}, so its objects can no longer change; duplicate it, and change the copy."
            )
        q, b = schema.questions.c, schema.import_batches.c
        used = exists().where(q.study_id == number) | exists().where(b.study_id == number)
        if self.connection.execute(select(used)).scalar_one():
            raise NotAllowed(
                "The study has answers, which belong to its present objects; duplicate it, and change the copy."
            )

    def _keep_media(self, study: str, number: int, wanted: set[str]) -> None:
        """Delete the media that no object refers to; refuse objects whose media are gone."""
        known = set(Media(self.connection, self.clock).names(study))
        if wanted - known:
            # Somebody else replaced the objects after this request had added its media.
            raise NotAllowed("Somebody else changed the objects at the same time; reload the page and try again.")
        unused = [{"unused": name} for name in sorted(known - wanted)]
        for table in (schema.media_parts, schema.media) if unused else ():
            of_study = delete(table).where(table.c.study_id == number, table.c.name == bindparam("unused"))
            self.connection.execute(of_study, unused)

    @reading
    def _check_room(self, n_bytes: int) -> None:
        check_room(self.connection, n_bytes)

    @reading
    def _new(self, study: str, media: Mapping[str, Medium]) -> list[str]:
        known = set(Media(self.connection, self.clock).names(study))
        return [name for name in media if name not in known]

    @writing
    def _add(self, study: str, media: Mapping[str, Medium]) -> None:
        number = rows.lock_study(self.connection, study)["id"]
        self._check_draft(Studies(self.connection, self.clock).get(study), number)
        # Another request may have added some of them since.
        add_rows(self.connection, number, media_rows({name: media[name] for name in self._new(study, media)}))


def media_of(payload: Json) -> list[str]:
    """Return the names of the media that the payload of an object refers to."""
    return [payload[part] for part in PARTS if part in payload]

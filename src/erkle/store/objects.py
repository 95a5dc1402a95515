"""Changes to the objects of a study: those of a draft can be replaced, and every study can get more until it is closed.

Answers refer to objects by their numbers, so objects are replaced only before there are questions about them, and
further objects get the next numbers.

The changes are checked first. New media are then added in several transactions, so that others can write in between. In
the end the objects are changed in one transaction. If they are replaced, it also removes media that no object refers to
any more, and features follow their objects.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, exists, insert, select, update

from erkle.store.database import rows, schema
from erkle.store.database.enumerations import State
from erkle.store.database.sqlite.room import check_room
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed
from erkle.store.features import Blocks, Features
from erkle.store.media import PARTS, Media, Medium, add_rows, in_groups, media_rows
from erkle.store.sanitising import Json, strict_json
from erkle.store.studies import Object, Studies, Study, checked_objects


class Replaced(NamedTuple):
    """New objects of a draft with its settings; ``kept`` has the number that each object had before, or None."""

    objects: Sequence[Object]
    settings: Json
    kept: Sequence[int | None]


Replacement = Callable[[Study, list[Object]], Replaced]


class Objects(Topic):
    """Changes to the objects of studies."""

    @reading
    def check_replacement(self, study: str, replacement: Replacement) -> None:
        """Raise what `replace` would raise, except for media that are missing; nothing changes."""
        self._replaced(study, rows.study(self.connection, study)["id"], replacement)

    @reading
    def check_addition(self, study: str, objects: Sequence[Object], features: Blocks | None = None) -> None:
        """Raise what `add` would raise, except for media that are missing; nothing changes."""
        before, _ = self._with(study, objects)
        Features(self.connection, self.clock).check_extension(study, before.n_objects, features or {})

    def add_media(self, study: str, media: Mapping[str, Medium], n_bytes: int) -> None:
        """Add media for new objects; media that the study already has are left out.

        `NoRoom` is raised if the disk has too little space for ``n_bytes``, the size of all media.
        """
        new = self._new(study, media)
        self._check_room(n_bytes)
        # One medium at a time is read: all of them may not fit into memory.
        for group in in_groups(((name, media[name]) for name in new), lambda item: len(item[1].data)):
            self._add_media(study, dict(group))

    @writing
    def replace(self, study: str, replacement: Replacement) -> Study:
        """Replace the objects and the settings of a draft by what ``replacement(study, objects)`` returns.

        An exception changes nothing. Nobody else can change the study while the function runs, so it should be short.
        It may be called twice.

        Raises
        ------
        NotAllowed
            If the study has been opened, or if it has answers, which refer to objects by their numbers.
        """
        number = rows.lock_study(self.connection, study)["id"]
        replaced = self._replaced(study, number, replacement)
        numbered, settings = checked_objects(replaced.objects), strict_json(replaced.settings, "The settings")
        self._keep_media(study, number, {name for row in numbered for name in media_of(row["payload"])})
        o, s = schema.objects, schema.studies
        self.connection.execute(delete(o).where(o.c.study_id == number))
        self.connection.execute(insert(o), [{"study_id": number, **row} for row in numbered])
        self._changed(number, len(numbered))
        self.connection.execute(update(s).where(s.c.id == number).values(settings=settings))
        Features(self.connection, self.clock).reorder(study, replaced.kept)
        return Studies(self.connection, self.clock).get(study)

    @writing
    def add(self, study: str, objects: Sequence[Object], features: Blocks | None = None) -> Study:
        """Add objects to a study, with the next numbers.

        Parameters
        ----------
        study : str
        objects : sequence of Object
            The new objects. Their media must have been added before.
        features : mapping from names to (n_new, d) arrays, optional
            Vectors of the new objects, for blocks of features that the study has.
        """
        number = rows.lock_study(self.connection, study)["id"]
        before, numbered = self._with(study, objects)
        missing = {name for row in numbered for name in media_of(row["payload"])} - set(self._media_names(study))
        if missing:
            raise NotAllowed("Media of the new objects are missing; send the objects again.")
        added = [{"study_id": number, **row} for row in numbered[before.n_objects :]]
        if added:
            self.connection.execute(insert(schema.objects), added)
            self._changed(number, len(numbered))
            Features(self.connection, self.clock).extend(study, before.n_objects, features or {})
        return Studies(self.connection, self.clock).get(study)

    def _with(self, study: str, objects: Sequence[Object]) -> tuple[Study, list[dict[str, Any]]]:
        """Return the study, and the rows of its objects with the new ones."""
        studies = Studies(self.connection, self.clock)
        before = studies.get(study)
        _check_not_closed(before)
        return before, checked_objects([*studies.objects(study), *objects])

    def _changed(self, number: int, n_objects: int) -> None:
        """Note a new number of objects; a snapshot is of a learner for the old number."""
        s, n = schema.studies, schema.snapshots
        self.connection.execute(delete(n).where(n.c.study_id == number))
        values = {"n_objects": n_objects, "roster": s.c.roster + 1}
        self.connection.execute(update(s).where(s.c.id == number).values(values))

    def _replaced(self, study: str, number: int, replacement: Replacement) -> Replaced:
        studies = Studies(self.connection, self.clock)
        before = studies.get(study)
        self._check_draft(before, number)
        replaced = replacement(before, studies.objects(study))
        checked_objects(replaced.objects)
        strict_json(replaced.settings, "The settings")
        return replaced

    def _check_draft(self, study: Study, number: int) -> None:
        if study.state != State.DRAFT:
            raise NotAllowed(
                f"The study is {study.state}, so its objects can no longer change, but you can add objects; "
                "or duplicate it, and change the copy."
            )
        q, b = schema.questions.c, schema.import_batches.c
        used = exists().where(q.study_id == number) | exists().where(b.study_id == number)
        if self.connection.execute(select(used)).scalar_one():
            raise NotAllowed(
                "The study has answers, which belong to its present objects; add objects, or duplicate the study and "
                "change the copy."
            )

    def _keep_media(self, study: str, number: int, wanted: set[str]) -> None:
        """Delete the media that no object refers to; refuse objects whose media are gone."""
        known = set(self._media_names(study))
        if wanted - known:
            # Somebody else replaced the objects after this request had added its media.
            raise NotAllowed("Somebody else changed the objects at the same time; reload the page and try again.")
        unused = [{"unused": name} for name in sorted(known - wanted)]
        for table in (schema.media_parts, schema.media) if unused else ():
            of_study = delete(table).where(table.c.study_id == number, table.c.name == bindparam("unused"))
            self.connection.execute(of_study, unused)

    def _media_names(self, study: str) -> list[str]:
        return Media(self.connection, self.clock).names(study)

    @reading
    def _check_room(self, n_bytes: int) -> None:
        check_room(self.connection, n_bytes)

    @reading
    def _new(self, study: str, media: Mapping[str, Medium]) -> list[str]:
        known = set(self._media_names(study))
        return [name for name in media if name not in known]

    @writing
    def _add_media(self, study: str, media: Mapping[str, Medium]) -> None:
        number = rows.lock_study(self.connection, study)["id"]
        _check_not_closed(Studies(self.connection, self.clock).get(study))
        # Another request may have added some of them since.
        add_rows(self.connection, number, media_rows({name: media[name] for name in self._new(study, media)}))


def media_of(payload: Json) -> list[str]:
    """Return the names of the media that the payload of an object refers to."""
    return [payload[part] for part in PARTS if part in payload]


def _check_not_closed(study: Study) -> None:
    if study.state == State.CLOSED:
        raise NotAllowed("The study is closed, so it cannot get more objects; duplicate it, and change the copy.")

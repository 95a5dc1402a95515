"""New studies that are written in several transactions, so that others can write in between.

A large study, with many media or answers, takes long to write. Until it is complete, it is listed in the table
``unfinished_studies``: it belongs to no list of studies, and nobody knows its id. If it cannot be completed, it is
deleted. If the process is killed meanwhile, nobody writes to the study any more, and `UnfinishedStudies.recover`
deletes it after a while. The same happens to a study whose deletion was interrupted.
"""

import logging
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, literal, select, update

from erkle import triplets
from erkle.store import limits
from erkle.store.answers import Answers, Skip
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import State
from erkle.store.database.sqlite.room import check_room
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.deletion import delete_batch
from erkle.store.errors import StoreError, Unavailable, Unknown
from erkle.store.imports.rows import Imported, add_answers, add_skips, checked, in_batches
from erkle.store.media import Media, Medium, Row, add_rows, in_groups, media_rows
from erkle.store.participants import Participant, join_all, new_participant
from erkle.store.sanitising import Json, bounded_json, bounded_text, strict_member
from erkle.store.studies import Object, Studies, Study

# Microseconds after which a study or an import that nobody writes to is abandoned: five minutes.
ABANDONED = 300 * 1_000_000

_U = schema.unfinished_studies.c

log = logging.getLogger("erkle.store")


class ImportedStudy(NamedTuple):
    """A complete study to import; answers and skips refer to participants by their place in ``participants``."""

    title: str
    objects: Sequence[Object | str]
    settings: Json
    state: State
    created_at: int
    participants: Iterable[Participant] = ()
    answers: Iterable[Imported] = ()
    skips: Iterable[Skip] = ()
    media: Mapping[str, Medium] = {}


class UnfinishedStudies(Topic):
    """New studies that are written in several transactions; nobody sees them until they are complete."""

    @contextmanager
    def create(
        self,
        title: str,
        objects: Sequence[Object | str],
        settings: Json | None = None,
        owner: str | None = None,
        n_bytes: int = 0,
    ) -> Iterator[Study]:
        """Create a draft that others see when the block ends; an exception deletes it.

        `NoRoom` is raised if the disk has too little space for the ``n_bytes`` that the block will add.
        """
        study = self._begin(title, objects, settings, owner, n_bytes)
        try:
            yield study
            self._finish(study.id)
        except Unknown as error:
            raise interrupted() from error
        except BaseException:
            with suppress(StoreError):
                Studies(self._database or self.connection, self.clock).delete(study.id)
            raise

    def add_media(self, study: str, media: Mapping[str, Medium]) -> None:
        """Add media to an unfinished study."""
        for group in in_groups(media_rows(media), lambda row: len(row[1].get("data", b""))):
            self._add_rows(study, group)

    def copy_media(self, source: str, study: str) -> None:
        """Copy all media of another study to an unfinished one."""
        sizes = Media(self._database or self.connection, self.clock).sizes(source)
        for group in in_groups(sizes.items(), lambda item: item[1]):
            self._copy(source, study, [name for name, _ in group])

    def fill(self, study: str, imported: ImportedStudy) -> None:
        """Add participants, answers, skips, media and the state of an imported study to an unfinished one."""
        state = strict_member(imported.state, "The state", State)
        self.add_media(study, imported.media)
        # One number per participant, in eight bytes.
        numbers = array("q")
        for people in in_batches(imported.participants):
            numbers.extend(self._join(study, people))
        for answers in in_batches(imported.answers):
            self._append(study, answers, numbers)
        for skips in in_batches(imported.skips):
            self._skip(study, skips, numbers)
        # No questions are issued until somebody opens the study on this server.
        self._restore(study, State.PAUSED if state == State.OPEN else state, imported.created_at)

    def recover(self) -> bool:
        """Delete one batch of each study that was abandoned by a process that ended; return whether there are more."""
        return recover_each(self._delete_batch, self._abandoned())

    @writing
    def _begin(
        self, title: str, objects: Sequence[Object | str], settings: Json | None, owner: str | None, n_bytes: int
    ) -> Study:
        check_room(self.connection, n_bytes)
        study = Studies(self.connection, self.clock).create(title, objects, settings, owner)
        values = {"study_id": rows.study(self.connection, study.id)["id"], "written_at": self.clock()}
        self.connection.execute(insert(schema.unfinished_studies), values)
        return study

    @writing
    def _finish(self, study: str) -> None:
        number = rows.lock_study(self.connection, study)["id"]
        self.connection.execute(delete(schema.unfinished_studies).where(_U.study_id == number))

    @writing
    def _delete_batch(self, study: str) -> bool:
        return delete_batch(self.connection, study)

    @writing
    def _copy(self, source: str, study: str, names: Sequence[str]) -> None:
        number, old = self._number(study), rows.study(self.connection, source)["id"]
        for table in (schema.media, schema.media_parts):
            columns = [column for column in table.c if column.name != "study_id"]
            copied = select(literal(number), *columns).where(table.c.study_id == old, table.c.name.in_(names))
            self.connection.execute(insert(table).from_select(["study_id", *(each.name for each in columns)], copied))

    @writing
    def _add_rows(self, study: str, added: Sequence[Row]) -> None:
        add_rows(self.connection, self._number(study), added)

    @writing
    def _join(self, study: str, participants: Sequence[Participant]) -> list[int]:
        number = self._number(study)
        return join_all(self.connection, [_participant(number, each) for each in participants])

    @writing
    def _append(self, study: str, answers: Sequence[Imported], participants: Sequence[int]) -> None:
        number, last = self._number(study), Answers(self.connection, self.clock).last(study)
        given = checked(answers, rows.study(self.connection, study)["n_objects"], self.clock(), last)
        who = [_at(participants, row.participant) for row in given]
        add_answers(self.connection, number, given, who, last)

    @writing
    def _skip(self, study: str, skips: Sequence[Skip], participants: Sequence[int]) -> None:
        number = self._number(study)
        triplets.check([skip[1:4] for skip in skips], rows.study(self.connection, study)["n_objects"])
        add_skips(self.connection, number, skips, [_at(participants, skip.participant) for skip in skips])

    @writing
    def _restore(self, study: str, state: State, created_at: int) -> None:
        values = {"state": state, "created_at": min(created_at, self.clock())}
        t = schema.studies
        self.connection.execute(update(t).where(t.c.id == self._number(study)).values(values))

    @reading
    def _abandoned(self) -> list[str]:
        s = schema.studies.c
        old = select(_U.study_id).where(_U.written_at < self.clock() - ABANDONED)
        return list(self.connection.execute(select(s.public_id).where(s.id.in_(old))).scalars())

    def _number(self, study: str) -> int:
        """Return the number of an unfinished study's row, and note that it is still being written."""
        number: int = rows.lock_study(self.connection, study)["id"]
        written(self.connection, number, self.clock())
        return number


def interrupted() -> Unavailable:
    """Return the error of a process that did nothing for minutes, so that another one took its work for abandoned."""
    return Unavailable("The work was interrupted, and nothing has changed; try again.")


def recover_each(step: Callable[[str], bool], studies: Iterable[str]) -> bool:
    """Call a function for each study, and return whether one of the calls has returned true.

    A study that is locked, or that somebody has deleted meanwhile, does not keep the others waiting.
    """
    more = False
    for study in studies:
        try:
            more |= step(study)
        except Unknown:
            pass
        except Unavailable as trouble:
            log.warning("a study could not be recovered", extra={"study": study, "trouble": str(trouble)})
    return more


def written(connection: Connection, study_number: int, at: int) -> None:
    """Note that a study is still being written, if it is unfinished."""
    t = schema.unfinished_studies
    connection.execute(update(t).where(_U.study_id == study_number).values(written_at=at))


def _at(participants: Sequence[int], place: str) -> int:
    if not place.isdecimal() or int(place) >= len(participants):
        known = f"pass a place among its {len(participants)} participants"
        raise StoreError(f"The study has no participant {bounded_text(place, 40)!r}; {known}.")
    return participants[int(place)]


def _participant(study: int, participant: Participant) -> dict[str, Any]:
    parameters = bounded_json(participant.parameters, limits.PARAMETERS)
    known = parameters, participant.state, participant.joined_at, participant.identity
    return new_participant(study, *known, excluded=participant.excluded, flagged=participant.flagged)

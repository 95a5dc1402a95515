"""Imports the bundle of another server as a new study, completely or not at all. Nothing in it is trusted.

Settings, objects and media pass the same checks as those of a researcher who uploads them, so pictures are drawn again.
Answers must be numbered without gaps, by participants and about objects that the bundle has. Data that participants
sent is cut, not refused, if it is nested too deeply. Everything is checked before the first row is written.

The ZIP is read with limits on its size, its growth, the length of a line and the number of lines. One line is read at a
time, and media wait on the disk, so memory use depends on the largest medium and not on what a ZIP unpacks to.
"""

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from erkle.files import FileError
from erkle.service.exchange import bundle
from erkle.service.studies import spec
from erkle.service.studies.complaints import Complaints
from erkle.service.studies.features import check_name
from erkle.service.studies.objects import MEDIA, Entry, ObjectReader
from erkle.service.studies.uploads import Caps, Files
from erkle.store import (
    Imported,
    ImportedStudy,
    Kind,
    Participant,
    Skip,
    Standing,
    State,
    Store,
    StoreError,
    Study,
    limits,
)
from erkle.store.sanitising import cleaned

T = TypeVar("T")

_CAPS = Caps(entries=50_000, file=512 << 20, total=2 << 30)
# Bytes of a file of lines: enough for two million answers of 500 bytes each, which is a long answer.
_LONGEST_LIST = 1 << 30
# Bytes of the description of a study.
_LARGEST_STUDY = 4 << 20
# Bytes of a line; the longest has the text of an object.
_LONGEST_LINE = 256 << 10

_PARTS = frozenset(("text", *MEDIA))

Moment = Field(ge=0, le=limits.LATEST)
Id = Field(ge=0, le=10_000_000)
# Not strict, because JSON has strings for the members of an enumeration.
Member = Field(strict=False)
# Data that a participant's browser sent.
Sent = Annotated[dict[str, Any], BeforeValidator(cleaned)]


class _Part(BaseModel):
    # Additional keys are ignored; a bundle of a newer version is refused because of its version number.
    model_config = ConfigDict(extra="ignore", strict=True)


class _Counts(_Part):
    objects: int = Field(ge=0, le=limits.OBJECTS)
    participants: int = Field(ge=0, le=limits.IMPORTED_PARTICIPANTS)
    answers: int = Field(ge=0, le=limits.IMPORTED_ANSWERS)
    skips: int = Field(ge=0, le=limits.IMPORTED_ANSWERS)


class _Features(_Part):
    name: str = Field(min_length=1, max_length=limits.FEATURE_NAME)
    n_columns: int = Field(ge=1, le=limits.FEATURE_BYTES)


class _Kind(_Part):
    format: str
    version: int


class _Study(_Part):
    title: str = Field(min_length=1, max_length=limits.TITLE)
    state: State = Member
    created_at: int = Moment
    settings: dict[str, Any]
    counts: _Counts
    features: list[_Features] = Field(max_length=limits.FEATURE_BLOCKS)


class _Object(_Part):
    name: str = Field(min_length=1, max_length=limits.OBJECT_NAME)
    payload: dict[str, str]


class _Participant(_Part):
    parameters: Sent
    state: Standing = Member
    excluded: bool
    joined_at: int = Moment
    identity: str | None = Field(max_length=limits.IDENTITY)
    flagged: bool


class _Answer(_Part):
    sequence: int = Field(ge=1, le=limits.SEQUENCE)
    participant: int = Id
    anchor: int = Id
    near: int = Id
    far: int = Id
    left: int = Id
    kind: Kind = Member
    strategy: str = Field(max_length=limits.STRATEGY)
    response_ms: int | None
    client: Sent
    issued_at: int = Moment
    answered_at: int = Moment
    position: int | None = Field(ge=1, lt=2**31)


class _Skip(_Part):
    participant: int = Id
    anchor: int = Id
    first: int = Id
    second: int = Id
    reason: str = Field(max_length=limits.SKIP_REASON)
    skipped_at: int = Moment


def import_bundle(store: Store, file: BinaryIO, name: str, owner: str | None = None) -> Study:
    """Import a bundle as a new study with the same log; it is paused if it was open.

    Raises
    ------
    FileError
        If the file is damaged or is not a bundle. Nothing is imported then.
    """
    given = _Bundle(Files.sent([(name, file)], _CAPS), name)
    given.check()
    reader, features = given.objects(), given.features()
    whole = ImportedStudy(
        title=given.about.title,
        objects=reader.objects,
        settings=_settings(given.about, reader),
        state=given.about.state,
        created_at=given.about.created_at,
        participants=given.participants(),
        answers=given.answers(),
        skips=given.skips(),
        media=reader.media,
    )
    try:
        with store.unfinished.create(whole.title, whole.objects, whole.settings, owner, given.n_bytes(reader)) as study:
            store.unfinished.fill(study.id, whole)
            if features:
                store.features.add(study.id, features)
    except StoreError:
        raise
    except ValueError as trouble:
        raise FileError(f"{name}: {trouble}") from None
    return store.studies.get(study.id)


class _Bundle:
    """The contents of a bundle. Each iterator reads its file again, and checks each line."""

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._names = frozenset(files)
        data = b"".join(files.chunks(bundle.STUDY, _LARGEST_STUDY)) if bundle.STUDY in self._names else b"{}"
        values = _loaded(bundle.STUDY, data)
        _check_kind(values, name)
        self.about = _valid(bundle.STUDY, values, _Study.model_validate)

    def check(self) -> None:
        """Raise `FileError` if a line of the log, of the skips or of the participants is invalid."""
        identities = [each.identity for each in self.participants() if each.identity is not None]
        if len(set(identities)) < len(identities):
            raise _damaged(bundle.PARTICIPANTS)
        n_objects, n_participants = self.about.counts.objects, self.about.counts.participants
        for answer in self.answers():
            asked = {answer.anchor, answer.near, answer.far}
            if len(asked) < 3 or max(asked) >= n_objects or int(answer.participant) >= n_participants:
                raise _damaged(bundle.ANSWERS)
        for skip in self.skips():
            asked = {skip.anchor, skip.first, skip.second}
            if len(asked) < 3 or max(asked) >= n_objects or int(skip.participant) >= n_participants:
                raise _damaged(bundle.SKIPS)

    def objects(self) -> ObjectReader:
        """Read the objects and their media as if they were uploaded; stop at the first that is refused."""
        reader, used = ObjectReader(self._files), set[str]()
        for number, each in self._lines(bundle.OBJECTS, self.about.counts.objects, _Object.model_validate):
            where = f"{bundle.OBJECTS}, line {number}"
            files = {path for part, path in each.payload.items() if part != "text"}
            if not set(each.payload) <= _PARTS or not files <= self._names:
                raise _damaged(where)
            reader.add_entries([Entry(where, each.name, each.payload)])
            if reader.faults:
                raise FileError(reader.faults[0])
            used |= files
        if unused := sorted(name for name in self._names - used if name.startswith(bundle.MEDIA)):
            raise FileError(f"{unused[0]}: belongs to no object; export the bundle again.")
        return reader

    def features(self) -> dict[str, NDArray[np.float32]]:
        """Read the features, in single precision."""
        blocks: dict[str, NDArray[np.float32]] = {}
        left = limits.FEATURE_BYTES
        for number, about in enumerate(self.about.features):
            file = f"{bundle.FEATURES}{number}"
            if file not in self._names or about.name in blocks:
                raise _damaged(file)
            check_name(about.name)
            data = b"".join(self._files.chunks(file, left))
            left -= len(data)
            if not data or len(data) % (4 * about.n_columns):
                raise _damaged(file)
            blocks[about.name] = np.frombuffer(data, "<f4").reshape(-1, about.n_columns)
        used = {f"{bundle.FEATURES}{number}" for number in range(len(blocks))}
        if unused := sorted(name for name in self._names - used if name.startswith(bundle.FEATURES)):
            raise FileError(f"{unused[0]}: belongs to no features; export the bundle again.")
        return blocks

    def n_bytes(self, reader: ObjectReader) -> int:
        """Return how many bytes the study takes in a database, about."""
        counts = self.about.counts
        return reader.media.size + limits.IMPORTED_ROW * (counts.participants + counts.answers + counts.skips)

    def participants(self) -> Iterator[Participant]:
        """Yield the participants; the id of each is its place."""
        n = self.about.counts.participants
        for number, each in self._lines(bundle.PARTICIPANTS, n, _Participant.model_validate):
            yield Participant(str(number - 1), **dict(each))

    def answers(self) -> Iterator[Imported]:
        """Yield the log; its numbers must not have a gap."""
        for number, answer in self._lines(bundle.ANSWERS, self.about.counts.answers, _Answer.model_validate):
            values = dict(answer) | {"participant": str(answer.participant)}
            if values.pop("sequence") != number:
                raise _damaged(f"{bundle.ANSWERS}, line {number}")
            yield Imported(**values)

    def skips(self) -> Iterator[Skip]:
        """Yield the skipped questions."""
        for _, skip in self._lines(bundle.SKIPS, self.about.counts.skips, _Skip.model_validate):
            yield Skip(**dict(skip) | {"participant": str(skip.participant)})

    def _lines(self, name: str, n_lines: int, check: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
        """Yield the number and the value of each line, or raise `FileError` if there are more or fewer lines."""
        if name not in self._names:
            raise _damaged(name)
        held, number = b"", 0
        for chunk in self._files.chunks(name, _LONGEST_LIST):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                number += 1
                where = f"{name}, line {number}"
                if number > n_lines or len(line) > _LONGEST_LINE:
                    raise _damaged(where)
                yield number, _valid(where, _loaded(where, line), check)
            if len(held) > _LONGEST_LINE:
                raise _damaged(name)
        if held or number != n_lines:
            raise _damaged(name)


def _check_kind(values: Any, name: str) -> None:
    try:
        kind = _Kind.model_validate(values)
    except ValueError:
        kind = None
    if kind is None or kind.format != bundle.FORMAT:
        raise FileError(f"{name}: is not a bundle of a study; use a bundle that erkle has exported.")
    if kind.version != bundle.VERSION:
        raise FileError(
            f"{name}: has version {kind.version} of the bundle format, but this erkle reads version {bundle.VERSION}; "
            "use the version of erkle that wrote it."
        )


def _settings(about: _Study, reader: ObjectReader) -> dict[str, Any]:
    try:
        return spec.checked(about.settings, reader.objects).model_dump(mode="json")
    except Complaints as complaints:
        raise FileError(f"{bundle.STUDY}: {complaints.found[0].sentence}") from None


def _valid(where: str, value: Any, check: Callable[[Any], T]) -> T:
    try:
        return check(value)
    except ValueError:
        raise _damaged(where) from None


def _loaded(where: str, data: bytes) -> Any:
    try:
        # Not pydantic's parser, which refuses more than 200 levels before `cleaned` can cut them.
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        raise _damaged(where) from None


def _damaged(name: str) -> FileError:
    return FileError(f"{name}: is damaged or has been changed; export the bundle again.")

"""Imports the bundle of another server as a new study, completely or not at all. Nothing in it is trusted.

Settings pass the same checks as a researcher's settings. Media must be of a supported kind, and their names must be the
hashes of their bytes. Answers must be numbered without gaps, and the store refuses answers about objects that the study
does not have. Data that participants sent is cut, not refused, if it is nested too deeply. The ZIP is read with limits
on its size.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Annotated, Any, BinaryIO, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from erkle.files import FileError
from erkle.service.exchange import bundle
from erkle.service.studies import media, spec
from erkle.service.studies.complaints import Complaints
from erkle.service.studies.uploads import Caps, Files
from erkle.store import (
    Imported,
    ImportedStudy,
    Kind,
    Medium,
    Object,
    Participant,
    Skip,
    Standing,
    State,
    Store,
    Study,
    limits,
)
from erkle.store.errors import Unavailable, Unknown
from erkle.store.sanitising import cleaned

T = TypeVar("T")

_CAPS = Caps(entries=50_000, file=512 << 20, total=1 << 30)
# Bytes of a line.
_LONGEST_LINE = 100_000

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
    answers: int = Field(ge=0)
    participants: int = Field(ge=0)
    skips: int = Field(ge=0)


class _Study(_Part):
    format: str
    version: int
    title: str = Field(min_length=1, max_length=limits.TITLE)
    state: State = Member
    created_at: int = Moment
    settings: dict[str, Any]
    counts: _Counts


class _Object(_Part):
    name: str = Field(min_length=1, max_length=limits.OBJECT_NAME)
    payload: dict[str, str]


class _Participant(_Part):
    parameters: Sent
    standing: Standing = Member
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


class _Skip(_Part):
    participant: int = Id
    anchor: int = Id
    first: int = Id
    second: int = Id
    reason: str = Field(max_length=limits.SKIP_REASON)
    skipped_at: int = Moment


_OBJECTS = TypeAdapter(list[_Object])
_PARTICIPANTS = TypeAdapter(list[_Participant])


def import_bundle(store: Store, file: BinaryIO, name: str, owner: str | None = None) -> Study:
    """Import a bundle as a new study with the same log; it is paused if it was open.

    Raises
    ------
    FileError
        If the file is damaged or is not a bundle. Nothing is imported then.
    """
    files = Files.sent([(name, file)], _CAPS)
    about = _about(files, name)
    media_by_name = _media(files)
    objects = [_object(each, media_by_name) for each in _member(files, bundle.OBJECTS, _OBJECTS.validate_python)]
    whole = ImportedStudy(
        title=about.title,
        objects=objects,
        settings=_settings(about, objects),
        state=about.state,
        created_at=about.created_at,
        participants=_participants(files),
        answers=list(_answers(files)),
        skips=[
            Skip(**dict(skip) | {"participant": str(skip.participant)})
            for _, skip in _lines(files, bundle.SKIPS, _Skip.model_validate)
        ],
        media=media_by_name,
    )
    counts = _Counts(answers=len(whole.answers), participants=len(whole.participants), skips=len(whole.skips))
    if counts != about.counts:
        raise _damaged(name)
    try:
        # The store refuses answers about unknown objects or by unknown participants.
        return store.imports.study(whole, owner)
    except (Unavailable, Unknown):
        raise
    except ValueError as trouble:
        raise FileError(f"{name}: {trouble}") from None


def _about(files: Files, name: str) -> _Study:
    about = _member(files, bundle.STUDY, _Study.model_validate) if bundle.STUDY in files.names else None
    if about is None or about.format != bundle.FORMAT:
        raise FileError(f"{name}: is not a bundle of a study; use a bundle that erkle has exported.")
    if about.version != bundle.VERSION:
        raise FileError(
            f"{name}: has version {about.version} of the bundle format, but this erkle reads version {bundle.VERSION}; "
            "use the version of erkle that wrote it."
        )
    return about


def _settings(about: _Study, objects: list[Object]) -> dict[str, Any]:
    try:
        return spec.checked(about.settings, objects).model_dump(mode="json")
    except Complaints as complaints:
        raise FileError(f"{bundle.STUDY}: {complaints.found[0].sentence}") from None


def _object(given: _Object, media: dict[str, Medium]) -> Object:
    for part, value in given.payload.items():
        if part not in bundle.PAYLOAD or (part != "text" and value not in media):
            raise FileError(
                f"{bundle.OBJECTS}: {given.name[:60]!r} has {part[:20]} {value[:60]!r}, which the bundle does not have."
            )
    return Object(given.name, dict(given.payload))


def _participants(files: Files) -> list[Participant]:
    found = _member(files, bundle.PARTICIPANTS, _PARTICIPANTS.validate_python)
    identities = [each.identity for each in found if each.identity is not None]
    if len(set(identities)) < len(identities):
        raise _damaged(bundle.PARTICIPANTS)
    return [Participant(str(place), **dict(each)) for place, each in enumerate(found)]


def _media(files: Files) -> dict[str, Medium]:
    """Return the media by name, or raise `FileError` if one is invalid."""
    found = {}
    for path in files.names:
        if path.startswith(bundle.MEDIA):
            data, name = files.read(path), path.removeprefix(bundle.MEDIA)
            if not media.is_valid(name, data):
                raise _damaged(path)
            found[name] = Medium(media.TYPES[name.rpartition(".")[2]], data)
    return found


def _answers(files: Files) -> Iterator[Imported]:
    """Yield the log, or raise `FileError` if its numbers have a gap."""
    for number, answer in _lines(files, bundle.ANSWERS, _Answer.model_validate):
        values = dict(answer) | {"participant": str(answer.participant)}
        if values.pop("sequence") != number:
            raise _damaged(f"{bundle.ANSWERS}, line {number}")
        yield Imported(**values)


def _lines(files: Files, name: str, check: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
    """Yield the number and the value of each line, without reading the whole file into memory."""
    if name not in files.names:
        raise _damaged(name)
    held, numbers = b"", count(1)
    for chunk in files.chunks(name):
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            number = next(numbers)
            yield number, _parsed(f"{name}, line {number}", line, check)
        if len(held) > _LONGEST_LINE:
            raise _damaged(name)
    if held:
        raise _damaged(name)


def _member(files: Files, name: str, check: Callable[[Any], T]) -> T:
    if name not in files.names:
        raise _damaged(name)
    return _parsed(name, files.read(name), check)


def _parsed(where: str, data: bytes, check: Callable[[Any], T]) -> T:
    try:
        # Not pydantic's parser, which refuses more than 200 levels before `cleaned` can cut them.
        return check(json.loads(data.decode()))
    except (ValueError, RecursionError):
        raise _damaged(where) from None


def _damaged(name: str) -> FileError:
    return FileError(f"{name}: is damaged or has been changed; export the bundle again.")

"""A bundle of another server becomes a study here: all of it or nothing, and nothing in it is believed.

Settings pass the same checks as those that a researcher writes, media must be of the kinds that are served and have the
hash of their bytes for a name, and each answer must be about objects of the study and have the next number. What
participants have sent is cut where it is too deep, and not refused. What is packed is read under caps, as every ZIP is.
"""

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from erkle.files import FileError
from erkle.service.exchange import bundle
from erkle.service.studies import media, spec
from erkle.service.studies.complaints import Complaints
from erkle.service.studies.uploads import Caps, Files
from erkle.store import (
    Imported,
    Kind,
    Medium,
    Object,
    Participant,
    Skip,
    Standing,
    State,
    Store,
    Study,
    Whole,
    limits,
)
from erkle.store.sanitising import cleaned

__all__ = ["import_bundle"]

T = TypeVar("T")

_CAPS = Caps(entries=50_000, file=512 << 20, total=1 << 30)
_LONGEST_LINE = 100_000

Text = Field(max_length=limits.STRATEGY)
Moment = Field(ge=0, le=limits.LATEST)
Id = Field(ge=0, le=10_000_000)
# What somebody else's browser has sent.
Sent = Annotated[dict[str, Any], BeforeValidator(cleaned)]


class _Part(BaseModel):
    # What a newer version has besides is left alone; such a bundle has a newer number.
    model_config = ConfigDict(extra="ignore", strict=True)


class _Counts(_Part):
    answers: int = Field(ge=0)
    participants: int = Field(ge=0)
    skips: int = Field(ge=0)


class _Study(_Part):
    format: str
    version: int
    title: str = Field(min_length=1, max_length=limits.TITLE)
    state: str
    created_at: int = Moment
    settings: dict[str, Any]
    counts: _Counts


class _Object(_Part):
    name: str = Field(min_length=1, max_length=limits.OBJECT_NAME)
    payload: dict[str, str]


class _Participant(_Part):
    parameters: Sent
    standing: str
    joined_at: int = Moment
    identity: str | None = Field(max_length=limits.IDENTITY)
    flagged: bool


class _Answer(_Part):
    sequence: int = Field(ge=1, le=limits.SEQUENCE)
    participant: int = Id
    head: int = Id
    near: int = Id
    far: int = Id
    left: int = Id
    kind: str = Text
    strategy: str = Text
    response_ms: int | None
    client: Sent
    issued_at: int = Moment
    answered_at: int = Moment


class _Skip(_Part):
    participant: int = Id
    head: int = Id
    o1: int = Id
    o2: int = Id
    reason: str = Field(max_length=limits.SKIP_REASON)
    skipped_at: int = Moment


_OBJECTS = TypeAdapter(list[_Object])
_PARTICIPANTS = TypeAdapter(list[_Participant])


class _Bundle(NamedTuple):
    """What a bundle holds, but for the answers, which are read when they are imported."""

    about: _Study
    settings: spec.StudySettings
    objects: list[Object]
    participants: list[_Participant]
    media: dict[str, Medium]


def import_bundle(store: Store, file: BinaryIO, name: str, owner: str | None = None) -> Study:
    """A new study, which is paused if it was open, with the log that it had.

    Raises
    ------
    FileError
        When the file is damaged or no bundle of ours; nothing has changed then.
    """
    files = Files.sent([(name, file)], _CAPS)
    found = _read(files, name)
    whole = Whole(
        title=found.about.title,
        objects=found.objects,
        settings=found.settings.model_dump(mode="json"),
        state=State(found.about.state),
        created_at=found.about.created_at,
        participants=[_participant(place, each) for place, each in enumerate(found.participants)],
        answers=list(_answers(files, found, name)),
        skips=list(_skips(files, found, name)),
        media=found.media,
    )
    return store.imports.study(whole, owner)


def _read(files: Files, name: str) -> _Bundle:
    if bundle.STUDY not in files.names:
        raise FileError(f"{name}: is no bundle of a study; give one that erkle has exported.")
    about = _member(files, bundle.STUDY, _Study.model_validate)
    if about.format != bundle.FORMAT:
        raise FileError(f"{name}: is no bundle of a study; give one that erkle has exported.")
    if about.version > bundle.VERSION:
        raise FileError(f"{name}: has version {about.version}, but {bundle.VERSION} is the newest known; update erkle.")
    things = _member(files, bundle.OBJECTS, _OBJECTS.validate_python)
    settings = _settings(about, [each.name for each in things])
    people = _member(files, bundle.PARTICIPANTS, _PARTICIPANTS.validate_python)
    if len(people) != about.counts.participants or about.state not in list(State):
        raise _damaged(name)
    identities = [each.identity for each in people if each.identity is not None]
    if len(set(identities)) < len(identities) or any(each.standing not in list(Standing) for each in people):
        raise _damaged(bundle.PARTICIPANTS)
    media = {
        each.removeprefix(bundle.MEDIA): _medium(files, each) for each in files.names if each.startswith(bundle.MEDIA)
    }
    return _Bundle(about, settings, [_object(each, media) for each in things], people, media)


def _settings(about: _Study, names: list[str]) -> spec.StudySettings:
    try:
        settings = spec.checked(about.settings)
        spec.check_objects(settings, names)
    except Complaints as complaints:
        raise FileError(f"{bundle.STUDY}: {complaints.found[0].sentence}") from None
    return settings


def _object(thing: _Object, media: dict[str, Medium]) -> Object:
    for part, value in thing.payload.items():
        if part not in bundle.PAYLOAD or (part != "text" and value not in media):
            raise FileError(
                f"{bundle.OBJECTS}: {thing.name[:60]!r} has {part[:20]} {value[:60]!r}, which is not there."
            )
    return Object(thing.name, dict(thing.payload))


def _medium(files: Files, path: str) -> Medium:
    """A medium, if it is sound."""
    data, name = files.read(path), path.removeprefix(bundle.MEDIA)
    if not media.is_sound(name, data):
        raise _damaged(path)
    return Medium(media.TYPES[name.rpartition(".")[2]], data)


def _answers(files: Files, found: _Bundle, name: str) -> Iterator[Imported]:
    """The log in its order, each answer checked."""
    number = 0
    for number, line in enumerate(_lines(files, bundle.ANSWERS), 1):
        where = f"{bundle.ANSWERS}, line {number}"
        answer = _parsed(where, line, _Answer.model_validate)
        if (
            answer.sequence != number
            or answer.participant >= len(found.participants)
            or not _are_objects((answer.head, answer.near, answer.far), found)
            or answer.left not in (answer.near, answer.far)
            or answer.kind not in list(Kind)
        ):
            raise _damaged(where)
        yield _imported(answer)
    if number != found.about.counts.answers:
        raise _damaged(name)


def _skips(files: Files, found: _Bundle, name: str) -> Iterator[Skip]:
    number = 0
    for number, line in enumerate(_lines(files, bundle.SKIPS), 1):
        where = f"{bundle.SKIPS}, line {number}"
        skip = _parsed(where, line, _Skip.model_validate)
        if skip.participant >= len(found.participants) or not _are_objects((skip.head, skip.o1, skip.o2), found):
            raise _damaged(where)
        yield Skip(str(skip.participant), skip.head, skip.o1, skip.o2, skip.reason, skip.skipped_at)
    if number != found.about.counts.skips:
        raise _damaged(name)


def _are_objects(ids: tuple[int, int, int], found: _Bundle) -> bool:
    """Whether they are three different objects of the study."""
    return len(set(ids)) == 3 and max(ids) < len(found.objects)


def _participant(place: int, participant: _Participant) -> Participant:
    values = participant.model_dump()
    return Participant(str(place), **{**values, "standing": Standing(participant.standing)})


def _imported(answer: _Answer) -> Imported:
    values = answer.model_dump(exclude={"sequence"})
    return Imported(**{**values, "participant": str(answer.participant), "kind": Kind(answer.kind)})


def _lines(files: Files, name: str) -> Iterator[bytes]:
    """Lines of a file that need not fit into memory."""
    if name not in files.names:
        raise _damaged(name)
    held = b""
    for chunk in files.chunks(name):
        *lines, held = (held + chunk).split(b"\n")
        yield from lines
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
        # Not by pydantic, which refuses what is deeper than 200 levels before anybody can cut it.
        return check(json.loads(data.decode()))
    except (ValueError, RecursionError):
        raise _damaged(where) from None


def _damaged(name: str) -> FileError:
    return FileError(f"{name}: is damaged or was changed; export the bundle again.")

"""Changes to the objects of a draft: which ones it keeps, what they are called, and which ones are new.

Catch questions name objects. They follow an object that is renamed, and an object that they name cannot be removed.
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated, BinaryIO

from pydantic import Field

from erkle.service.strict import Strict
from erkle.service.studies import spec
from erkle.service.studies.complaints import Complaint, Complaints, shown, spelled
from erkle.service.studies.objects import COLUMNS, Entry, ObjectReader
from erkle.service.studies.spec import Name, StudySettings
from erkle.service.studies.uploads import Files
from erkle.service.web.errors import Problem
from erkle.store import Object, Replaced, Store, Study, limits
from erkle.store.media import PARTS


class NewObject(Strict):
    """A new object; image, audio and video name files that are sent with it."""

    name: Name
    text: Annotated[str, Field(max_length=limits.MARKDOWN)] | None = None
    image: str | None = None
    audio: str | None = None
    video: str | None = None

    @property
    def parts(self) -> dict[str, str]:
        """The text and the names of files."""
        return {key: value for key in COLUMNS[1:] if (value := getattr(self, key))}


class ObjectChange(NewObject):
    """An object as it should be. With ``id`` it is one that the study has.

    An object that the study has keeps its files, unless a new file of the same kind replaces one.
    """

    id: Annotated[int, Field(ge=0, lt=limits.OBJECTS)] | None = None


def version(objects: Sequence[Object]) -> str:
    """Return a text that changes whenever the objects do."""
    return sha256(json.dumps(objects, sort_keys=True).encode()).hexdigest()[:32]


def change_objects(
    store: Store,
    study: Study,
    changes: Sequence[ObjectChange],
    files: Iterable[tuple[str, BinaryIO]],
    known: str | None = None,
) -> Study:
    """Replace the objects of a draft, and return the study.

    Parameters
    ----------
    store : Store
    study : Study
        The draft.
    changes : sequence of ObjectChange
        All objects that the study should have. An object that it has and that is not listed is removed.
    files : pairs of a name and an open file
        Files that the changes name. Each other file becomes an object of its own, as in a new study.
    known : str, optional
        The version of the objects that the changes are based on. If the study has others by now, nothing changes.
    """
    reader = ObjectReader(Files.sent(files), stored_bytes=_kept_bytes(store, study, changes))
    payloads = [_read(reader, number, change) for number, change in enumerate(changes)]
    reader.add_rest()
    if reader.faults:
        raise Complaints(Complaint((), fault) for fault in reader.faults)

    def replacement(now: Study, before: list[Object]) -> Replaced:
        if known is not None and known != version(before):
            sentence = "Somebody else has changed the objects meanwhile; reload the page and make your changes again."
            raise Problem(412, "changed", sentence)
        _check_ids(changes, len(before))
        changed = [_object(change, payload, before) for change, payload in zip(changes, payloads, strict=True)]
        objects = [*changed, *reader.objects]
        _check_names(objects)
        settings = _renamed(spec.checked(now.settings), changes, before, objects).model_dump(mode="json")
        kept = [change.id for change in changes] + [None] * len(reader.objects)
        return Replaced(objects, settings, kept)

    # Changes that are refused leave no media behind.
    store.objects.check_replacement(study.id, replacement)
    store.objects.add_media(study.id, reader.media, reader.media.size)
    return store.objects.replace(study.id, replacement)


def _kept_bytes(store: Store, study: Study, changes: Sequence[ObjectChange]) -> int:
    """Return the bytes of the media that the study keeps: those of objects that stay, unless a file replaces them."""
    sizes, before = store.media.sizes(study.id), store.studies.objects(study.id)
    kept = {
        name
        for change in changes
        if change.id is not None and change.id < len(before)
        for part, name in before[change.id].payload.items()
        if part in PARTS and not getattr(change, "image" if part == "thumb" else part)
    }
    return sum(size for name, size in sizes.items() if name in kept)


def _read(reader: ObjectReader, number: int, change: ObjectChange) -> dict[str, str]:
    """Return the new part of an object's payload: its text, and the files that a change names."""
    return reader.payload(Entry(spelled(("objects", number)), change.name, change.parts))


def _object(change: ObjectChange, new: dict[str, str], before: Sequence[Object]) -> Object:
    payload = {} if change.id is None else before[change.id].payload
    files = {part: name for part, name in payload.items() if part != "text"}
    return Object(change.name, {**files, **new})


def _check_ids(changes: Sequence[ObjectChange], n_before: int) -> None:
    seen: dict[int, int] = {}
    for number, change in enumerate(changes):
        place = ("objects", number, "id")
        if change.id is None:
            continue
        if change.id >= n_before:
            sentence = f"{spelled(place)} is {change.id}, but the study has {n_before} objects; reload the page."
            raise Complaints([Complaint(place, sentence)])
        if (other := seen.setdefault(change.id, number)) != number:
            sentence = f"{spelled(place)} is {change.id}, as in objects[{other}]; list each object once."
            raise Complaints([Complaint(place, sentence)])


def _check_names(objects: Sequence[Object]) -> None:
    if not 3 <= len(objects) <= limits.OBJECTS:
        sentence = f"There are {len(objects):,} objects; a study has 3 to {limits.OBJECTS:,}."
        raise Complaints([Complaint(("objects",), sentence)])
    seen: dict[str, int] = {}
    for number, (name, _) in enumerate(objects):
        place = ("objects", number, "name")
        if not name.strip():
            raise Complaints([Complaint(place, f"{spelled(place)} is {shown(name)}; pass a name.")])
        if (other := seen.setdefault(name, number)) != number:
            sentence = f"{shown(name)} is the name of objects {other + 1} and {number + 1}; give each its own name."
            raise Complaints([Complaint(place, sentence)])


def _renamed(
    settings: StudySettings, changes: Sequence[ObjectChange], before: Sequence[Object], after: Sequence[Object]
) -> StudySettings:
    """Return the settings with the new names of objects in the catch questions."""
    names = {each.name: each.name for each in after}
    names |= {before[change.id].name: change.name for change in changes if change.id is not None}
    found, catches = list[Complaint](), list[dict[str, str]]()
    for number, catch in enumerate(settings.checks.catch):
        asked = catch.model_dump()
        for role, name in asked.items():
            if name not in names:
                sentence = (
                    f"{shown(name)} is in catch question {number + 1}; change that question first, or keep the object."
                )
                found.append(Complaint(("checks", "catch", number, role), sentence))
        catches.append({role: names.get(name, name) for role, name in asked.items()})
    if found:
        raise Complaints(found)
    checks = {**settings.checks.model_dump(), "catch": catches}
    return spec.checked({**settings.model_dump(mode="json"), "checks": checks}, after)

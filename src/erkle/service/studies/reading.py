"""Reads a study that a researcher has written: a YAML file, and the lists, folders and ZIPs of objects that it names.

All errors are reported together, each with its file and line. A study is created only if there are no errors.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from erkle.files import FileError, Pathlike, read_bytes
from erkle.service.studies import spec
from erkle.service.studies.complaints import (
    MORE,
    MOST,
    Complaint,
    Complaints,
    Fault,
    Place,
    nearest,
    remedy,
    shown,
    spelled,
)
from erkle.service.studies.features import Described, FeatureFiles, check_useful, described
from erkle.service.studies.objects import COLUMNS, Entry, ObjectReader
from erkle.service.studies.spec import StudySettings
from erkle.service.studies.spooled import SpooledMedia
from erkle.service.studies.uploads import CAPS, LARGEST, Caps, Files
from erkle.service.studies.yaml_lines import MAX_VALUES, Lined, parse
from erkle.store import Object, limits
from erkle.triplets.tables import decoded


class Draft(NamedTuple):
    """A study that has been read without errors and can be created."""

    title: str
    objects: list[Object]
    media: SpooledMedia
    settings: StudySettings
    features: Described = Described({}, [])


def read_study(path: Pathlike) -> Draft:
    """Read the study that a YAML file describes.

    Parameters
    ----------
    path : path
        The file. Its keys are ``title``, ``objects``, ``features`` and the settings. Objects are a list of names (or of
        mappings with name, text, image, audio, video), or the path of a CSV file, a folder or a ZIP. Features are the
        path of a file, a list of paths, or a mapping from names of blocks to paths. Paths are relative to the file.

    Raises
    ------
    FileError
        With a line for each error, such as ``study.yaml, line 12: holdout is 1.5; ...``.
    """
    place = Path(path)
    text = decoded(read_bytes(place, LARGEST), place.name)
    reader, features = ObjectReader(Files(), place.parent), FeatureFiles(folder=place.parent)
    return _draft(place.name, _parsed(text, place.name), place.stem, reader, features)


def read_upload(
    text: str,
    files: Iterable[tuple[str, BinaryIO]],
    feature_files: Iterable[tuple[str, BinaryIO]] = (),
    caps: Caps = CAPS,
) -> Draft:
    """Read a study from a description and uploaded files. Without ``objects``, each file is an object.

    Parameters
    ----------
    text : str
        YAML as for `read_study`, or JSON, or empty. The settings may also be under the key ``settings``.
    files : pairs of a name and an open file
        Images, audio and video, or ZIPs of them; a CSV or TXT file of names.
    feature_files : pairs of a name and an open file
        Files of features.
    caps : Caps
        Limits on what is read.
    """
    sent = list(files)
    title = PurePosixPath(sent[0][0].replace("\\", "/")).stem if len(sent) == 1 else ""
    reader = ObjectReader(Files.sent(sent, caps))
    title = title[: limits.TITLE] or "Untitled study"
    return _draft("spec", _parsed(text, "spec"), title, reader, FeatureFiles(feature_files))


def read_values(values: dict[str, Any]) -> Draft:
    """Read a study from JSON values: title, a list of objects without files, and settings."""
    return _draft("", _flattened(Lined(values, {})), "Untitled study", ObjectReader(Files()), FeatureFiles())


def _draft(name: str, lined: Lined, title: str, reader: ObjectReader, feature_files: FeatureFiles) -> Draft:
    values, faults = dict(lined.value), list[Complaint]()
    titled, given = values.pop("title", title), values.pop("objects", None)
    given_features = values.pop("features", None)
    if not isinstance(titled, str) or not 0 < len(titled.strip()) <= limits.TITLE:
        sentence = f"title is {shown(titled)}; pass a text of 1 to {limits.TITLE} characters."
        faults.append(Complaint(("title",), sentence))
    settings = _settings(values, faults)
    _read_objects(reader, given, name, lined, faults)
    features = Described({}, [])
    if settings is not None and not faults and not reader.faults:
        faults += _about_objects(settings, reader.objects)
        features = _read_features(feature_files, given_features, reader.objects, faults)
    located = [_located(name, lined, fault) for fault in sorted(faults, key=lambda fault: lined.line(fault.place))]
    if settings is None or located or reader.faults:
        raise FileError("\n".join([*located, *reader.faults]))
    return Draft(str(titled).strip(), reader.objects, reader.media, settings, features)


def _parsed(text: str, name: str) -> Lined:
    # Not with the YAML parser, which refuses tabs. Programs that write JSON need no line numbers.
    lined = None
    # Python's garbage collector would keep everybody waiting while it parses hundreds of thousands of lists.
    if text.lstrip().startswith("{") and text.count("[") + text.count("{") <= MAX_VALUES:
        with suppress(ValueError, RecursionError):
            lined = Lined(json.loads(text), {})
    lined = lined or parse(text, name, ("title", "objects", "features"))
    if lined.value is None:
        return Lined({}, {})
    if not isinstance(lined.value, dict):
        raise FileError(f"{name}: is {shown(lined.value)}; write keys such as title: and objects:.")
    return _flattened(lined)


def _flattened(lined: Lined) -> Lined:
    """Move the settings under ``settings``, as in the JSON API, to the top level."""
    if not isinstance(inner := lined.value.get("settings"), dict):
        return lined
    outer = {key: value for key, value in lined.value.items() if key != "settings"}
    moved = {place[1:]: line for place, line in lined.lines.items() if place[:1] == ("settings",) and len(place) > 1}
    return Lined({**inner, **outer}, {**moved, **lined.lines})


def _settings(values: dict[str, Any], faults: list[Complaint]) -> StudySettings | None:
    try:
        return spec.checked(values)
    except Complaints as complaints:
        faults += [_misspelt(fault) or fault for fault in complaints.found]
        return None


def _misspelt(fault: Complaint) -> Complaint | None:
    """Return a better complaint if an unknown key is a misspelt ``title``, ``objects`` or ``features``."""
    word = str(fault.place[0]) if len(fault.place) == 1 else ""
    close = nearest(word, ("title", "objects", "features")) if fault.fault is Fault.UNKNOWN_KEY else None
    return Complaint(fault.place, f"{spelled(fault.place)} is not a setting; did you mean {close}?") if close else None


def _about_objects(settings: StudySettings, objects: list[Object]) -> list[Complaint]:
    try:
        spec.check_objects(settings, [each.name for each in objects])
    except Complaints as complaints:
        return list(complaints.found)
    return []


def _read_features(files: FeatureFiles, given: Any, objects: list[Object], faults: list[Complaint]) -> Described:
    try:
        found = described(files.read(given), [each.name for each in objects])
        check_useful(found.blocks)
        return found
    except FileError as fault:
        faults.append(Complaint(("features",), str(fault)))
        return Described({}, [])


def _read_objects(reader: ObjectReader, given: Any, name: str, lined: Lined, faults: list[Complaint]) -> None:
    try:
        if isinstance(given, list):
            reader.add_entries(_entries(given, name, lined, faults))
        elif isinstance(given, str) or given is None:
            reader.add_named(given)
        else:
            faults.append(Complaint(("objects",), f"objects is {shown(given)}; pass a list of names or a path."))
    except FileError as fault:
        faults.append(Complaint(("objects",), str(fault)))
    if not faults and not reader.faults and len(reader.objects) < 3:
        sentence = f"there are {len(reader.objects)} objects; name at least 3, because a question needs three."
        faults.append(Complaint(("objects",), sentence))


def _entries(given: list[Any], name: str, lined: Lined, faults: list[Complaint]) -> Iterator[Entry]:
    for number, entry in enumerate(given):
        if len(faults) >= MOST:
            raise FileError(MORE)
        place: Place = ("objects", number)
        where = f"{name}, line {lined.line(place)}" if lined.lines else spelled(place)
        if isinstance(entry, dict):
            if (wrong := _wrong_key(entry, place)) is not None:
                faults.append(wrong)
                continue
            yield Entry(where, entry["name"], {key: entry[key] for key in COLUMNS[1:] if entry.get(key)})
        elif isinstance(entry, str):
            yield Entry(where, entry, {})
        else:
            faults.append(Complaint(place, f"{spelled(place)} is {shown(entry)}; pass a name in quotes."))


def _wrong_key(entry: dict[str, Any], place: Place) -> Complaint | None:
    for key, value in entry.items():
        if key not in COLUMNS:
            sentence = f"{spelled((*place, key))} is not a key of an object; {remedy(key, COLUMNS)}"
            return Complaint((*place, key), sentence)
        if not isinstance(value, str):
            return Complaint((*place, key), f"{spelled((*place, key))} is {shown(value)}; pass a text.")
    if "name" not in entry:
        return Complaint(place, f"{spelled(place)} has no name; add one.")
    return None


def _located(name: str, lined: Lined, fault: Complaint) -> str:
    return f"{name}, line {lined.line(fault.place)}: {fault.sentence}" if lined.lines else fault.sentence

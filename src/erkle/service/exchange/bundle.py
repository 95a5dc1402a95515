"""A study as one file that another server can import: a ZIP of JSON, media and features.

The bundle contains the log of answers but no kernel, because learning the same answers in the same order gives the same
kernel. It contains no accounts, no tokens and no secret ids; participants are numbered. The same study always gives the
same bytes. Except for a short description, each file has one JSON object per line, so that an import reads one at a
time.

A program can store any payloads and media in a study. The bundle leaves out those that no page shows, because an import
refuses them. It has no thumbnails, because an import draws them again.
"""

import json
import zipfile
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from erkle.service.studies.media import is_valid
from erkle.service.studies.objects import MEDIA as KINDS
from erkle.store import Answer, Object, Participant, Skip, Store, Study
from erkle.store.features import Blocks

FORMAT, VERSION = "erkle study", 4
STUDY, OBJECTS, PARTICIPANTS = "study.json", "objects.jsonl", "participants.jsonl"
ANSWERS, SKIPS, MEDIA, FEATURES = "answers.jsonl", "skips.jsonl", "media/", "features/"
# Lines written at a time.
_BATCH = 500

Json = dict[str, Any]


def write_bundle(store: Store, study: Study, file: BinaryIO) -> None:
    """Write the bundle of a study in its current state; answers and media are read one at a time."""
    # The last answer first, then the participants: whoever gave one of these answers has joined by then.
    last = store.answers.last(study.id)
    participants, objects = store.participants.all(study.id), store.studies.objects(study.id)
    numbers = {each.id: number for number, each in enumerate(participants)}
    log = store.answers.log(study.id, limit=last, include_excluded=True)
    skips = [skip for skip in store.answers.skips(study.id) if skip.participant in numbers]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        media = frozenset(_media(store, study, objects))
        for name in sorted(media):
            _write_medium(archive, name, _pieces(store, study, name))
        features = store.features.all(study.id)
        for number, vectors in enumerate(features.values()):
            with archive.open(_entry(f"{FEATURES}{number}", zipfile.ZIP_STORED), "w") as member:
                member.write(vectors[: len(objects)].astype("<f4").tobytes())
        n_objects = _write(archive, OBJECTS, (_json(_object(each, media)) for each in objects))
        n_participants = _write(archive, PARTICIPANTS, (_json(_participant(each)) for each in participants))
        n_answers = _write(archive, ANSWERS, (_json(_answer(each, numbers)) for each in log))
        n_skips = _write(archive, SKIPS, (_json(_skip(each, numbers)) for each in skips))
        counts = {"objects": n_objects, "participants": n_participants, "answers": n_answers, "skips": n_skips}
        _write(archive, STUDY, [_json(_study(study, counts) | {"features": _features(features)})])


def _features(blocks: Blocks) -> list[Json]:
    """Return the names and numbers of columns of blocks; their rows are in files of numbers in single precision."""
    return [{"name": name, "n_columns": vectors.shape[1]} for name, vectors in blocks.items()]


def _media(store: Store, study: Study, objects: Iterable[Object]) -> Iterator[str]:
    """Yield the names of the media of objects, without those that an import refuses."""
    shown = {str(each.payload[part]) for each in objects for part in KINDS if part in each.payload}
    for name in store.media.names(study.id):
        if name in shown and is_valid(name, _pieces(store, study, name)):
            yield name


def _pieces(store: Store, study: Study, name: str) -> Iterator[bytes]:
    return store.media.read(study.id, name, 0, store.media.info(study.id, name).size)


def _object(given: Object, media: Collection[str]) -> Json:
    """Return an object with the parts of its payload that an import accepts; media are paths in the bundle."""
    texts = {part: value for part, value in given.payload.items() if part == "text" and isinstance(value, str)}
    files = {part: MEDIA + given.payload[part] for part in KINDS if str(given.payload.get(part)) in media}
    return {"name": given.name, "payload": texts | files}


def _study(study: Study, counts: dict[str, int]) -> Json:
    about = {"title": study.title, "state": str(study.state), "created_at": study.created_at}
    return {"format": FORMAT, "version": VERSION, **about, "settings": study.settings, "counts": counts}


def _participant(participant: Participant) -> Json:
    known = participant._asdict()
    del known["id"]
    return {**known, "state": str(participant.state)}


def _answer(answer: Answer, numbers: dict[str, int]) -> Json:
    values = answer._asdict() | {"participant": numbers[answer.participant], "kind": str(answer.kind)}
    del values["token"], values["excluded"]
    return values


def _skip(skip: Skip, numbers: dict[str, int]) -> Json:
    return {**skip._asdict(), "participant": numbers[skip.participant]}


def _write_medium(archive: zipfile.ZipFile, name: str, pieces: Iterable[bytes]) -> None:
    with archive.open(_entry(MEDIA + name, zipfile.ZIP_STORED), "w") as member:
        member.writelines(pieces)


def _write(archive: zipfile.ZipFile, name: str, lines: Iterable[str]) -> int:
    """Write lines in batches, and return their number."""
    left, written = iter(lines), 0
    with archive.open(_entry(name, zipfile.ZIP_DEFLATED), "w", force_zip64=True) as member:
        while piece := list(islice(left, _BATCH)):
            member.write("".join(f"{line}\n" for line in piece).encode())
            written += len(piece)
    return written


def _entry(name: str, method: int) -> zipfile.ZipInfo:
    # Without a date, so that the bytes do not depend on the clock.
    entry = zipfile.ZipInfo(name)
    entry.compress_type = method
    return entry


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

"""A study as one file that another server can import: a ZIP of JSON and media.

The bundle contains the log of answers but no kernel, because learning the same answers in the same order gives the same
kernel. It contains no accounts, no tokens and no secret ids; participants are numbered. The same study always gives the
same bytes.

A program can store any payloads and media in a study. The bundle leaves out those that no page shows, because an import
refuses them.
"""

import json
import zipfile
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from erkle.service.studies.media import is_valid
from erkle.store import Answer, Medium, Object, Participant, Skip, Store, Study
from erkle.store.media import PARTS

FORMAT, VERSION = "erkle study", 2
STUDY, OBJECTS, PARTICIPANTS = "study.json", "objects.json", "participants.json"
ANSWERS, SKIPS, MEDIA = "answers.jsonl", "skips.jsonl", "media/"
PAYLOAD = ("text", *PARTS)
# Lines written at a time.
_BATCH = 500

Json = dict[str, Any]


def write_bundle(store: Store, study: Study, file: BinaryIO) -> None:
    """Write the bundle of a study in its current state; answers and media are read one at a time."""
    # The last answer first, then the participants: whoever gave one of these answers has joined by then.
    last = store.answers.last(study.id)
    participants = store.participants.all(study.id)
    numbers = {each.id: number for number, each in enumerate(participants)}
    log = store.answers.log(study.id, limit=last, include_excluded=True)
    skips = [skip for skip in store.answers.skips(study.id) if skip.participant in numbers]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        types = {name: _write_medium(archive, name, medium) for name, medium in _media(store, study)}
        _write(archive, OBJECTS, [_json([_object(each, types) for each in store.studies.objects(study.id)])])
        _write(archive, PARTICIPANTS, [_json([_participant(each) for each in participants])])
        n_answers = _write(archive, ANSWERS, (_json(_answer(each, numbers)) for each in log))
        n_skips = _write(archive, SKIPS, (_json(_skip(each, numbers)) for each in skips))
        counts = {"answers": n_answers, "participants": len(participants), "skips": n_skips}
        _write(archive, STUDY, [_json(_study(study, counts, types))])


def _media(store: Store, study: Study) -> Iterator[tuple[str, Medium]]:
    """Yield media one at a time, as all may not fit into memory, without media that an import refuses."""
    for name in store.media.names(study.id):
        medium = store.media.get(study.id, name)
        if is_valid(name, medium.data):
            yield name, medium


def _object(given: Object, media: Collection[str]) -> Json:
    """Return an object with the parts of its payload that an import accepts."""
    texts = {part: value for part, value in given.payload.items() if part in PAYLOAD and isinstance(value, str)}
    payload = {part: value for part, value in texts.items() if part == "text" or value in media}
    return {"name": given.name, "payload": payload}


def _study(study: Study, counts: dict[str, int], media: dict[str, str]) -> Json:
    about = {"title": study.title, "state": str(study.state), "created_at": study.created_at}
    return {"format": FORMAT, "version": VERSION, **about, "settings": study.settings, "counts": counts, "media": media}


def _participant(participant: Participant) -> Json:
    known = participant._asdict()
    del known["id"]
    return {**known, "standing": str(participant.standing)}


def _answer(answer: Answer, numbers: dict[str, int]) -> Json:
    values = answer._asdict() | {"participant": numbers[answer.participant], "kind": str(answer.kind)}
    del values["token"], values["excluded"]
    return values


def _skip(skip: Skip, numbers: dict[str, int]) -> Json:
    return {**skip._asdict(), "participant": numbers[skip.participant]}


def _write_medium(archive: zipfile.ZipFile, name: str, medium: Medium) -> str:
    with archive.open(_entry(MEDIA + name, zipfile.ZIP_STORED), "w") as member:
        member.write(medium.data)
    return medium.type


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

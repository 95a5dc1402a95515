"""A study as one file that another server imports: a ZIP of JSON and media, and nothing that runs or opens a door.

What is learned is a fold of the log, so the bundle has the log and no kernel: the server that imports it folds the same
answers in the same order to the same kernel. There are no accounts in it, no tokens and no secret ids of participants,
who are numbered instead. The same study always gives the same bytes. Answers that are damaged are in it under their
numbers, and whoever imports it leaves them out.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from erkle.store import Answer, Medium, Participant, Skip, Standing, Store, Study, are_objects

__all__ = ["ANSWERS", "FORMAT", "MEDIA", "OBJECTS", "PARTICIPANTS", "SKIPS", "STUDY", "VERSION", "write_bundle"]

FORMAT, VERSION = "erkle study", 1
STUDY, OBJECTS, PARTICIPANTS = "study.json", "objects.json", "participants.json"
ANSWERS, SKIPS, MEDIA = "answers.jsonl", "skips.jsonl", "media/"

Json = dict[str, Any]


def write_bundle(store: Store, study: Study, file: BinaryIO) -> None:
    """Write the bundle of a study as it is now; answers and media pass through one at a time."""
    # First how far to go, then who is who: whoever has answered by then has joined by then.
    last = store.last(study.id)
    people = store.participants(study.id)
    numbers = {each.id: number for number, each in enumerate(people)}
    answers = store.log(study.id, limit=last, include_excluded=True)
    skips = [skip for skip in store.skips(study.id) if skip.participant in numbers and _is_sound(skip, study)]
    media = store.media(study.id)
    counts = {"answers": last, "participants": len(people), "skips": len(skips)}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, OBJECTS, [_json([each._asdict() for each in store.objects(study.id)])])
        _write(archive, PARTICIPANTS, [_json([_participant(each) for each in people])])
        _write(archive, ANSWERS, (_json(_answer(each, numbers)) for each in answers))
        _write(archive, SKIPS, (_json(_skip(each, numbers)) for each in skips))
        types = {name: _write_medium(archive, name, store.medium(study.id, name)) for name in media}
        _write(archive, STUDY, [_json(_study(study, counts, types))])


def _study(study: Study, counts: dict[str, int], media: dict[str, str]) -> Json:
    about = {"title": study.title, "state": str(study.state), "created_at": study.created_at}
    return {"format": FORMAT, "version": VERSION, **about, "settings": study.settings, "counts": counts, "media": media}


def _participant(participant: Participant) -> Json:
    known = participant._asdict()
    del known["id"]
    return {**known, "standing": str(participant.standing), "excluded": participant.standing == Standing.EXCLUDED}


def _answer(answer: Answer, numbers: dict[str, int]) -> Json:
    values = answer._asdict()
    for name in ("token", "excluded"):
        del values[name]
    return {**values, "participant": numbers[answer.participant], "kind": str(answer.kind)}


def _is_sound(skip: Skip, study: Study) -> bool:
    return are_objects((skip.head, skip.o1, skip.o2), study.n_objects)


def _skip(skip: Skip, numbers: dict[str, int]) -> Json:
    return {**skip._asdict(), "participant": numbers[skip.participant]}


def _write_medium(archive: zipfile.ZipFile, name: str, medium: Medium) -> str:
    with archive.open(_entry(MEDIA + name, zipfile.ZIP_STORED), "w") as member:
        member.write(medium.data)
    return medium.type


def _write(archive: zipfile.ZipFile, name: str, lines: Iterable[str]) -> None:
    with archive.open(_entry(name, zipfile.ZIP_DEFLATED), "w", force_zip64=True) as member:
        for piece in _pieces(lines):
            member.write(piece.encode())


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """Lines joined to pieces that are worth a call."""
    held: list[str] = []
    for line in lines:
        held.append(line + "\n")
        if len(held) == 500:
            yield "".join(held)
            held.clear()
    yield "".join(held)


def _entry(name: str, method: int) -> zipfile.ZipInfo:
    # Without a date: otherwise the bytes would depend on the clock.
    entry = zipfile.ZipInfo(name)
    entry.compress_type = method
    return entry


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

"""Bundles: another server gets the same log, the same kernel and the same objects, or nothing at all."""

import io
import json
import shutil
import zipfile
from hashlib import sha256

import numpy as np
import pytest
from exchanged import filled, kernel, log, peak_memory, picture

from erkle.files import FileError
from erkle.service.exchange import unbundling
from erkle.service.exchange.bundle import write_bundle
from erkle.service.exchange.unbundling import import_bundle
from erkle.service.studies.media import prepared
from erkle.service.studies.uploads import Caps
from erkle.store import Imported, Medium, NoRoom, Object, Standing, State, Store
from erkle.store.imports.unfinished import UnfinishedStudies
from people import reason, settings
from with_media import study_with_media


@pytest.fixture
def here(tmp_path, new_database):
    with Store(new_database(tmp_path / "here.db")) as store:
        yield store


@pytest.fixture
def there(tmp_path, new_database):
    with Store(new_database(tmp_path / "there.db")) as store:
        yield store


@pytest.fixture(scope="module")
def whole(tmp_path_factory, new_database):
    """The bytes of a bundle with media, answers, skips and participants."""
    with Store(new_database(tmp_path_factory.mktemp("whole") / "a.db")) as store:
        return bundled(store, filled(store))


def bundled(store, study):
    file = io.BytesIO()
    write_bundle(store, study, file)
    return file.getvalue()


def imported(store, data):
    return import_bundle(store, io.BytesIO(data), "bundle.zip")


def changed(data, member, change):
    """The bundle with one member changed, left out (None) or added."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    before = members.pop(member, b"")
    after = change(before)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        if after is not None:
            archive.writestr(member, after)
    return file.getvalue()


def with_json(**values):
    return lambda data: json.dumps({**json.loads(data), **values}).encode()


def test_another_server_has_the_same_log_the_same_kernel_and_the_same_objects(here, there):
    study = filled(here)
    copy = imported(there, bundled(here, study))
    assert log(there, copy.id) == log(here, study.id)
    assert kernel(there, copy.id) == kernel(here, study.id)
    assert there.studies.objects(copy.id) == here.studies.objects(study.id)
    assert (copy.title, copy.settings, copy.n_objects) == (study.title, study.settings, study.n_objects)
    assert copy.created_at == study.created_at
    assert there.media.names(copy.id) == here.media.names(study.id)
    features = [store.features.all(each.id) for store, each in ((here, study), (there, copy))]
    assert list(features[0]) == list(features[1]) == ["=place", "size"]
    for name in features[0]:
        np.testing.assert_array_equal(features[0][name], features[1][name])
    assert all(there.media.get(copy.id, name) == here.media.get(study.id, name) for name in here.media.names(study.id))


def test_another_server_has_the_same_participants_and_skips(here, there):
    study = filled(here)
    late = here.participants.join(study.id, {"PROLIFIC_PID": "late"}, identity="PROLIFIC_PID=late")
    here.participants.flag(study.id, [late.id], True)
    here.participants.finish(study.id, late.id, Standing.SCREENED)
    copy = imported(there, bundled(here, here.studies.get(study.id)))
    people, copies = here.participants.all(study.id), there.participants.all(copy.id)
    assert [each._replace(id="") for each in copies] == [each._replace(id="") for each in people]
    assert not {each.id for each in people} & {each.id for each in copies}
    assert [each._replace(participant="") for each in there.answers.skips(copy.id)] == [
        each._replace(participant="") for each in here.answers.skips(study.id)
    ]
    assert there.studies.counts(copy.id) == here.studies.counts(study.id)


def test_a_returning_participant_is_recognised_in_the_copy(here, there):
    study = filled(here)
    copy = imported(there, bundled(here, study))
    there.studies.change_state(copy.id, State.OPEN)
    known = there.participants.join(copy.id, {}, identity="PROLIFIC_PID=p0")
    assert known.id == there.participants.all(copy.id)[0].id
    assert len(there.questions.ledger(copy.id, known.id)) == 13


def test_a_copy_of_a_copy_is_the_same(here, there):
    study = filled(here)
    copy = imported(there, bundled(here, study))
    again = imported(here, bundled(there, copy))
    assert log(here, again.id) == log(here, study.id)
    assert kernel(here, again.id) == kernel(here, study.id)


def test_payloads_that_no_page_shows_are_left_out(here, there):
    payloads = {"colour": "red", "text": "more"}, {"n": 1, "text": 7}, {"image": "x.webp"}, {"image": "nowhere.webp"}
    objects = [Object(f"thing {number}", payload) for number, payload in enumerate(payloads)]
    study = study_with_media(here, "Odd things", objects, media={"x.webp": Medium("image/webp", b"x")})
    copy = imported(there, bundled(here, study))
    assert there.studies.objects(copy.id) == [
        Object("thing 0", {"text": "more"}),
        *(Object(f"thing {number}") for number in (1, 2, 3)),
    ]
    assert there.media.names(copy.id) == []


def test_the_same_study_gives_the_same_bytes(here):
    study = filled(here)
    assert bundled(here, study) == bundled(here, study)


def test_a_bundle_has_no_token_and_no_secret_id(here):
    study = filled(here)
    with zipfile.ZipFile(io.BytesIO(bundled(here, study))) as archive:
        text = b"".join(
            archive.read(name) for name in archive.namelist() if not name.startswith(("media/", "features/"))
        ).decode()
    answers = list(here.answers.log(study.id, include_excluded=True))
    assert not any(answer.token in text or answer.participant in text for answer in answers)
    assert study.id not in text
    assert here.studies.signing_key(study.id) not in text


def test_a_copy_has_all_settings_but_another_signing_key(here, there):
    changed = settings(identity_proof="signature", limits={"idle_s": 90.0})
    study = here.studies.create("Three", ["a", "b", "c"], changed)
    copy = imported(there, bundled(here, study))
    assert copy.settings == changed
    assert there.studies.signing_key(copy.id) != here.studies.signing_key(study.id)


@pytest.mark.parametrize(
    ("ways", "state"),
    [
        ([], State.DRAFT),
        ([State.OPEN], State.PAUSED),
        ([State.OPEN, State.PAUSED], State.PAUSED),
        ([State.CLOSED], State.CLOSED),
    ],
)
def test_a_copy_of_an_open_study_is_paused(here, there, ways, state):
    study = here.studies.create("Three", ["a", "b", "c"], filled(here).settings)
    for way in ways:
        study = here.studies.change_state(study.id, way)
    assert imported(there, bundled(here, study)).state == state


def _lines(data):
    return data.splitlines(keepends=True)


def with_counts(**values):
    return lambda data: with_json(counts={**json.loads(data)["counts"], **values})(data)


def with_features(**values):
    """A change of the first block; the second is called size."""

    def change(data):
        first, *others = json.loads(data)["features"]
        return with_json(features=[{**first, **values}, *others])(data)

    return change


FIRST = b'{"sequence":1,'
DAMAGE = {
    "no study": ("study.json", lambda data: None),
    "another format": ("study.json", with_json(format="something")),
    "a newer version": ("study.json", with_json(version=99)),
    "a version that is no number": ("study.json", with_json(version="1")),
    "no JSON": ("study.json", lambda data: b"{"),
    "JSON too deep": ("study.json", lambda data: b"[" * 100_000),
    "a state that is none": ("study.json", with_json(state="running")),
    "settings that are none": ("study.json", with_json(settings={"holdout": 7})),
    "settings with code in them": ("study.json", with_json(settings={"__import__": "os"})),
    "too many answers promised": ("study.json", with_counts(answers=99)),
    "more answers than any import may have": ("study.json", with_counts(answers=10**12)),
    "more objects than a study may have": ("study.json", with_counts(objects=10_001)),
    "a description of many megabytes": ("study.json", lambda data: data[:-2] + b',"x":"%s"}' % (b"x" * (5 << 20))),
    "no objects": ("objects.jsonl", lambda data: None),
    "too few objects": ("objects.jsonl", lambda data: b"".join(_lines(data)[:3])),
    "the same object twice": ("objects.jsonl", lambda data: _lines(data)[1] * 8),
    "an object with an unknown part": ("objects.jsonl", lambda data: _first(data, payload={"html": "<b>"})),
    "an object whose picture is not there": ("objects.jsonl", lambda data: _first(data, payload={"image": "media/a"})),
    "an object whose picture is the log": (
        "objects.jsonl",
        lambda data: _first(data, payload={"image": "answers.jsonl"}),
    ),
    "an object with too long a text": ("objects.jsonl", lambda data: _first(data, payload={"text": "x" * 20_001})),
    "a picture of no object": ("objects.jsonl", lambda data: _first(data, payload={})),
    "participants missing": ("participants.jsonl", lambda data: b""),
    "the same person twice": ("participants.jsonl", lambda data: _lines(data)[0] * 3),
    "a person of no state": ("participants.jsonl", lambda data: _first(data, state="excluded")),
    "no skips": ("skips.jsonl", lambda data: None),
    "a skip left out": ("skips.jsonl", lambda data: b"".join(_lines(data)[1:])),
    "a skip of nobody": ("skips.jsonl", lambda data: _first(data, participant=99)),
    "a skip of an object that is not there": ("skips.jsonl", lambda data: _first(data, second=99)),
    "no answers": ("answers.jsonl", lambda data: None),
    "an answer left out": ("answers.jsonl", lambda data: b"".join(_lines(data)[1:])),
    "the last answer left out": ("answers.jsonl", lambda data: b"".join(_lines(data)[:-1])),
    "an answer twice": ("answers.jsonl", lambda data: data + _lines(data)[-1]),
    "answers in another order": ("answers.jsonl", lambda data: b"".join(reversed(_lines(data)))),
    "an answer cut short": ("answers.jsonl", lambda data: data[:-20]),
    "an answer about an object that is not there": (
        "answers.jsonl",
        lambda data: _first(data, anchor=99),
    ),
    "an answer with one object twice": ("answers.jsonl", lambda data: _first(data, near=0, anchor=0)),
    "an answer of nobody": ("answers.jsonl", lambda data: _first(data, participant=99)),
    "an answer of no kind": ("answers.jsonl", lambda data: _first(data, kind="guess")),
    "an answer with a text for a number": ("answers.jsonl", lambda data: _first(data, anchor="0")),
    "an answer with a true for a number": ("answers.jsonl", lambda data: _first(data, sequence=True)),
    "a number past all numbers": ("answers.jsonl", lambda data: _first(data, answered_at=10**30)),
    "a line without an end": ("answers.jsonl", lambda data: b"x" * 1_000_000),
    "a page among the media": ("media/evil.html", lambda data: b"<script>alert(1)</script>"),
    "a page with the name of a picture": ("media/" + "0" * 40 + ".webp", lambda data: b"<script>alert(1)</script>"),
    "a way out": ("media/../../../etc/cron.d/evil", lambda data: b"* * * * * root true"),
    "an absolute path": ("/etc/passwd", lambda data: b"root"),
    "features that are not there": ("features/0", lambda data: None),
    "features that nobody named": ("features/7", lambda data: bytes(8)),
    "features cut short": ("features/0", lambda data: data[:-2]),
    "features of more objects than there are": ("features/0", lambda data: data + data),
    "features with infinity": ("features/0", lambda data: b"\x00\x00\x80\x7f" + data[4:]),
    "features of too many columns": ("study.json", with_features(n_columns=10**9)),
    "features with the name of the names": ("study.json", with_features(name="names")),
    "features with the name of a folder": ("study.json", with_features(name="a/..")),
    "features twice": ("study.json", with_features(name="size")),
    "a bomb among the features": ("features/0", lambda data: bytes(64 << 20)),
    "a bomb": ("answers.jsonl", lambda data: b"\n" * (64 << 20)),
    "a bomb among the media": ("media/bomb.webp", lambda data: bytes(64 << 20)),
}


def _first(data, **values):
    first, *others = _lines(data)
    return json.dumps({**json.loads(first), **values}).encode() + b"\n" + b"".join(others)


@pytest.mark.parametrize("damage", DAMAGE)
def test_nothing_of_a_damaged_bundle_is_imported(there, whole, damage):
    data = changed(whole, *DAMAGE[damage])
    with pytest.raises(ValueError, match=r"^[^\n]+[.?]$"):
        imported(there, data)
    assert there.studies.all() == []


@pytest.mark.parametrize("cut", [0, 1, 10, 0.3, 0.9, 0.999])
def test_nothing_of_a_truncated_bundle_is_imported(there, whole, cut):
    with pytest.raises(FileError):
        imported(there, whole[: int(cut * len(whole)) if isinstance(cut, float) else cut])
    assert there.studies.all() == []


def test_an_import_that_fails_at_the_end_leaves_nothing_behind(there, whole, monkeypatch):
    monkeypatch.setattr("erkle.store.imports.unfinished.UnfinishedStudies._skip", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        imported(there, whole)
    assert there.studies.all() == []


def test_a_bundle_that_would_fill_the_disk_is_refused_before_anything_is_written(here, there, researcher, monkeypatch):
    study = filled(here)
    here.imports.append(study.id, [Imported("p", 0, 1, 2)] * 1000)
    data = bundled(here, study)
    free = shutil._ntuple_diskusage(10**12, 10**12 - 10**8, 10**8)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    monkeypatch.setattr(UnfinishedStudies, "fill", None)
    with pytest.raises(NoRoom):
        imported(there, data)
    answer = researcher.post("/api/import", files={"file": ("bundle.zip", data)})
    assert (answer.status_code, reason(answer)) == (507, "no-room")
    assert there.studies.all() == []


def test_what_is_read_twice_counts_once_for_the_size_of_a_bundle(there, whole, monkeypatch):
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        total = sum(entry.file_size for entry in archive.infolist())
    monkeypatch.setattr(unbundling, "_CAPS", Caps(total=total))
    assert imported(there, whole).title == "Odd = names"
    monkeypatch.setattr(unbundling, "_CAPS", Caps(total=total - 1))
    with pytest.raises(FileError, match="in total"):
        imported(there, whole)


def test_a_bundle_travels_from_server_to_server(store, researcher, stranger):
    study = filled(store, owner=researcher.get("/api/me").json()["account"]["id"])
    data = researcher.get(f"/api/studies/{study.id}/export/bundle.zip").content
    answer = stranger.post("/api/import", files={"file": ("bundle.zip", data)})
    assert answer.status_code == 201, answer.text
    copy = answer.json()["id"]
    assert kernel(store, copy) == kernel(store, study.id)
    assert [each["id"] for each in stranger.get("/api/studies").json()] == [copy]
    kernels = [
        who.get(f"/api/studies/{which}/export/kernel.npz").content
        for who, which in ((researcher, study.id), (stranger, copy))
    ]
    assert kernels[0] == kernels[1]


def test_a_damaged_bundle_is_refused_with_one_sentence_over_http(researcher):
    for data in (b"", b"PK\x03\x04 and no more", b"hello"):
        answer = researcher.post("/api/import", files={"file": ("bundle.zip", data)})
        assert answer.status_code == 422
        assert answer.json()["error"]["sentence"].startswith("bundle.zip: ")


def test_an_import_needs_a_session_and_its_csrf_token(client, researcher):
    files = {"file": ("bundle.zip", b"PK")}
    assert client.post("/api/import", files=files).status_code == 401
    assert researcher.post("/api/import", files=files, headers={"X-CSRF-Token": "x"}).status_code == 403


def test_data_that_is_nested_too_deeply_is_cut(there, whole):
    deep = {"a": 1}
    for _ in range(300):
        deep = {"a": [deep]}

    def first_line(data):
        line, _, rest = data.partition(b"\n")
        return json.dumps({**json.loads(line), "client": {"a": deep}}).encode() + b"\n" + rest

    def first_person(data):
        return _first(data, parameters={"a": deep})

    data = changed(changed(whole, "answers.jsonl", first_line), "participants.jsonl", first_person)
    study = imported(there, data)
    assert len(str(next(iter(there.answers.log(study.id))).client)) < 1000
    assert len(str(there.participants.all(study.id)[0].parameters)) < 1000


def test_a_bundle_with_two_objects_is_refused(here, researcher):
    study = here.studies.create("Three", ["a", "b", "c"], filled(here).settings)
    data = changed(bundled(here, study), "objects.jsonl", lambda data: b"".join(_lines(data)[:2]))
    data = changed(data, "study.json", with_counts(objects=2))
    answer = researcher.post("/api/import", files={"file": ("bundle.zip", data)})
    assert (answer.status_code, answer.json()["error"]["reason"]) == (422, "invalid")
    assert "3" in answer.json()["error"]["sentence"]
    assert researcher.get("/api/studies").json() == []


def test_pictures_are_drawn_again_and_sounds_are_checked_again(here, there):
    shown, song = prepared("red.png", picture("red")), b"ID3\x04 la la la"
    [(name, red)] = [item for item in shown.media.items() if item[0] == shown.payload["image"]]
    hidden = Medium(red.type, red.data + b"<script>alert(1)</script>")
    hidden_name = f"{sha256(hidden.data).hexdigest()[:40]}.webp"
    audio, sound = f"{sha256(song).hexdigest()[:40]}.mp3", Medium("audio/mpeg", song)
    objects = [Object("a", {"image": hidden_name, "audio": audio}), Object("b", {"image": hidden_name}), "c"]
    study = study_with_media(
        here, "Pictures", objects, filled(here).settings, media={hidden_name: hidden, audio: sound}
    )
    copy = imported(there, bundled(here, study))
    a, b, c = there.studies.objects(copy.id)
    assert a.payload == {"image": name, "thumb": shown.payload["thumb"], "audio": audio}
    assert (b.payload, c.payload) == (shown.payload, {})
    assert there.media.get(copy.id, audio) == sound
    assert not any(b"script" in there.media.get(copy.id, each).data for each in there.media.names(copy.id))


def test_of_the_media_of_a_bundle_one_is_in_memory_at_a_time(here, there, tmp_path):
    songs = [b"ID3" + bytes([number]) * (8 << 20) for number in range(6)]
    media = {f"{sha256(song).hexdigest()[:40]}.mp3": Medium("audio/mpeg", song) for song in songs}
    objects = [Object(f"song {number}", {"audio": name}) for number, name in enumerate(media)]
    study = study_with_media(here, "Songs", objects, settings(), media=media)
    del songs
    with (tmp_path / "songs.zip").open("w+b") as file:
        with peak_memory() as peak:
            write_bundle(here, study, file)
        assert peak() < 4 << 20
        with peak_memory() as peak:
            copy = import_bundle(there, file, "songs.zip")
        assert peak() < 28 << 20
    assert {name: there.media.get(copy.id, name) for name in there.media.names(copy.id)} == media


LISTS = b"[]," * 2_000_000 + b"0]}\n"
BOMBS = {
    "a description of lists": ("study.json", b'{"format":"erkle study","version":3,"settings":[' + LISTS),
    "participants of lists": ("participants.jsonl", b'{"parameters":[' + LISTS),
    "answers of empty lines": ("answers.jsonl", b"\n" * (6 << 20)),
    "answers of lists": ("answers.jsonl", (b"[" + b"[]," * 80_000 + b"0]\n") * 20),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_bundle_cannot_fill_the_memory(there, whole, bomb):
    member, content = BOMBS[bomb]
    data = changed(whole, member, lambda _: content)
    assert len(data) < 200_000
    with peak_memory() as peak, pytest.raises(FileError):
        imported(there, data)
    assert peak() < 30 << 20
    assert there.studies.all() == []

"""Uploaded files of studies, through the real application: they become objects and media, or are refused."""

import io
import json
import urllib.request
import zipfile

import pytest
from exchanged import peak_memory
from PIL import Image
from sqlalchemy import event

from erkle.service.studies import objects
from erkle.store import Medium
from people import missing
from with_media import study_with_media

EVIL = "<script>alert(1)</script>"


def picture(colour, kind="PNG", size=(300, 200)):
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, kind)
    return file.getvalue()


def test_a_study_of_pictures_is_uploaded_and_shown(researcher, client):
    files = [("files", (f"{name}.png", picture(name))) for name in ("red", "green", "blue")]
    spec = json.dumps({"title": "Colours", "holdout": 0.2})
    created = researcher.post("/api/studies/upload", files=files, data={"spec": spec})
    assert created.status_code == 201, created.text
    study = created.json()
    assert (study["title"], study["settings"]["holdout"]) == ("Colours", 0.2)
    things = researcher.get(f"/api/studies/{study['id']}/objects").json()
    assert [thing["name"] for thing in things] == ["blue", "green", "red"]
    shown = client.get(things[2]["image"])
    assert shown.status_code == 200
    assert Image.open(io.BytesIO(shown.content)).convert("RGB").getpixel((5, 5)) == (255, 0, 0)
    assert Image.open(io.BytesIO(client.get(things[0]["thumb"]).content)).size == (160, 107)


def test_a_study_of_a_zip_with_a_table_is_uploaded(researcher):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("things/list.csv", "name,text,image\nFire,hot,red.png\nSea,wet,blue.png\nGrass,,green.png\n")
        for name in ("red", "green", "blue"):
            archive.writestr(f"things/pics/{name}.png", picture(name))
    created = researcher.post("/api/studies/upload", files={"files": ("elements.zip", file.getvalue())})
    assert created.status_code == 201, created.text
    assert created.json()["title"] == "elements"
    things = researcher.get(f"/api/studies/{created.json()['id']}/objects").json()
    assert [(thing["name"], thing["text"], bool(thing["image"])) for thing in things] == [
        ("Fire", "hot", True),
        ("Sea", "wet", True),
        ("Grass", None, True),
    ]


def test_a_study_of_a_list_of_names_is_uploaded(researcher):
    spec = "title: Towns\nlimits:\n  per_participant: 20\n"
    files = {"files": ("towns.txt", b"Paris\nLyon\nWien\n")}
    study = researcher.post("/api/studies/upload", files=files, data={"spec": spec}).json()
    assert (study["n_objects"], study["settings"]["limits"]["per_participant"]) == (3, 20)


def test_a_study_has_thousands_of_files_or_long_names(researcher):
    files = [("files", (f"{number}.mp3", b"ID3 %d" % number)) for number in range(1500)]
    created = researcher.post("/api/studies/upload", files=files)
    assert (created.status_code, created.json()["n_objects"]) == (201, 1500)
    spec = json.dumps({"title": "Long", "objects": [f"{number} {'x' * 400}" for number in range(9000)]})
    created = researcher.post("/api/studies/upload", files=[("spec", (None, spec))])
    assert (created.status_code, created.json()["n_objects"]) == (201, 9000)


def test_a_form_with_too_many_files_or_too_long_a_field_is_refused_with_the_limits(researcher):
    files = [("files", ("a.mp3", b""))] * 10_101
    long = [("spec", (None, "x" * 5_000_000))]
    for sent in (files, long):
        answer = researcher.post("/api/studies/upload", files=sent)
        assert (answer.status_code, answer.json()["error"]["reason"]) == (400, "unreadable")
        assert missing(answer.json()["error"]["sentence"], ["10,000 files", "4 MB"]) == []


def test_json_with_very_many_lists_is_refused_before_it_is_parsed(researcher):
    spec = '{"objects": [' + "[]," * 100_000 + "[]]}"
    answer = researcher.post("/api/studies/upload", files=[("spec", (None, spec))])
    assert answer.status_code == 422
    assert missing(answer.json()["error"]["sentence"], ["100,000 values"]) == []


@pytest.mark.parametrize(
    ("files", "spec", "words"),
    [
        ([("a.png", b"no picture"), ("b.svg", b"<svg/>")], "", ["a.png: ", "b.svg: ", "SVG"]),
        ([("../a.png", b"")], "", ["'../a.png'"]),
        ([("list.csv", b"name,image\na,a.png\nb,\nc,\n")], "", ["list.csv, line 2: a.png: "]),
        ([("list.txt", b"a\nb\nc\n")], "title: x\nholdouts: 3\n", ["spec, line 2: holdouts ", "holdout?"]),
        ([("list.txt", b"a\nb\n")], "", ["2 objects"]),
        ([], "title: x\nobjects: [a, b, *c]\n", ["spec, line 2: "]),
        ([], "title: x\nobjects: /etc/passwd\n", ["0 objects"]),
        ([], "title: x\nobjects: /etc/objects.csv\n", ["/etc/objects.csv: "]),
        ([], "title: x\nobjects: [{name: a, image: /etc/hostname}, b, c]\n", ["/etc/hostname: "]),
        ([], "!!python/object/apply:os.system [ls]", ["spec, line 1: ", "tag"]),
    ],
)
def test_an_invalid_upload_is_refused_and_nothing_is_created(researcher, files, spec, words):
    sent = [("files", file) for file in files] or None
    answer = researcher.post("/api/studies/upload", files=sent, data={"spec": spec})
    assert answer.status_code == 422, answer.text
    assert missing(answer.json()["error"]["sentence"], words) == []
    assert researcher.get("/api/studies").json() == []


def test_files_with_strange_names_are_refused(researcher):
    for name in ("", " ", ".", "a\0b", "\ud7ff\U0010ffff", "x" * 3000, "a/b/../../../c"):
        answer = researcher.post("/api/studies/upload", files={"files": (name, b"\xff\xd8\xff")})
        assert answer.status_code in (400, 422), name


@pytest.fixture
def sound(store):
    data = bytes(range(256)) * 4
    media = {"ab.mp3": Medium("audio/mpeg", data), "evil.webp": Medium("text/html", EVIL.encode())}
    return f"/media/{study_with_media(store, 'Sounds', list('ABC'), media=media).id}/ab.mp3", data


def test_media_cannot_become_pages_and_are_cached_by_browsers(client, sound):
    answer = client.get(sound[0])
    assert answer.headers["content-type"] == "audio/mpeg"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in answer.headers["cache-control"]
    assert client.get(sound[0].replace("ab.mp3", "evil.webp")).headers["content-type"] == "application/octet-stream"
    again = client.get(sound[0], headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("bytes=0-99", slice(0, 100)),
        ("bytes=1000-", slice(1000, None)),
        ("bytes=-24", slice(1000, None)),
        ("bytes=0-9999", slice(None)),
    ],
)
def test_a_part_of_a_file_can_be_requested(client, sound, asked, part):
    path, data = sound
    answer = client.get(path, headers={"Range": asked})
    assert (answer.status_code, answer.content) == (206, data[part])
    start = part.start or 0
    assert answer.headers["content-range"] == f"bytes {start}-{start + len(answer.content) - 1}/{len(data)}"


@pytest.mark.parametrize("asked", ["bytes=2000-", "bytes=-0"])
def test_a_range_outside_the_file_is_refused(client, sound, asked):
    answer = client.get(sound[0], headers={"Range": asked})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */1024")


@pytest.mark.parametrize(
    "asked", ["bytes=5-2", "lines=1-2", "bytes=0-1,5-6", "bytes=-", "bytes=x-", "bytes=" + "9" * 5000]
)
def test_an_invalid_range_is_ignored(client, sound, asked):
    answer = client.get(sound[0], headers={"Range": asked})
    assert (answer.status_code, len(answer.content)) == (200, 1024)


def test_unknown_media_are_not_found(client, sound):
    for name in ("ac.mp3", "..%2f..%2fetc%2fpasswd", "%00", "x" * 300):
        assert client.get(sound[0].replace("ab.mp3", name)).status_code == 404
    assert client.get("/media/nowhere/ab.mp3").status_code == 404


@pytest.fixture
def long_sound(store):
    """The address and the bytes of a sound of many parts, and the statements that read its parts from now on."""
    data, statements = bytes(range(256)) * (40 << 10), []
    study = study_with_media(store, "Sounds", list("ABC"), media={"ab.mp3": Medium("audio/mpeg", data)}).id

    def executed(connection, cursor, statement, *_):
        if "media_parts" in statement:
            statements.append(statement)

    event.listen(store._database.engine, "before_cursor_execute", executed)
    return f"/media/{study}/ab.mp3", data, statements


def test_a_browser_that_has_a_file_reads_none_of_it(client, long_sound):
    path, _, statements = long_sound
    answer = client.get(path, headers={"If-None-Match": '"other", "ab.mp3"', "Range": "bytes=0-1"})
    assert (answer.status_code, answer.content, statements) == (304, b"", [])
    assert client.get(path, headers={"Range": "bytes=99999999-"}).status_code == 416
    assert statements == []


def test_only_the_requested_part_of_a_file_is_read(client, long_sound):
    path, data, statements = long_sound
    client.get(path, headers={"Range": "bytes=0-0"})
    with peak_memory() as peak:
        for start in range(0, len(data), len(data) // 20):
            statements.clear()
            answer = client.get(path, headers={"Range": f"bytes={start}-{start}"})
            assert (answer.content, answer.headers["content-length"]) == (data[start : start + 1], "1")
            assert len(statements) == 1
    assert peak() < len(data) / 4


def test_a_whole_file_is_read_one_part_at_a_time_and_several_ranges_are_one_file(server):
    data = bytes(range(256)) * (40 << 10)
    study = study_with_media(server.store, "Sounds", list("ABC"), media={"ab.mp3": Medium("audio/mpeg", data)}).id
    many = ",".join(f"{start}-{start}" for start in range(0, 5000, 10))
    asked = urllib.request.Request(f"{server.url}/media/{study}/ab.mp3", headers={"Range": f"bytes={many}"})
    with urllib.request.urlopen(asked, timeout=20) as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(data)))
        with peak_memory() as peak:
            read = sum(len(chunk) for chunk in iter(lambda: answer.read(1 << 16), b""))
    assert (read, peak() < len(data) / 2) == (len(data), True)


def test_the_pictures_of_an_upload_have_a_total_number_of_pixels(researcher, monkeypatch):
    monkeypatch.setattr(objects, "_PIXELS", 200 * 300 * 3)
    files = [("files", (f"{name}.bmp", picture(name, "BMP"))) for name in ("red", "green", "blue", "pink", "grey")]
    answer = researcher.post("/api/studies/upload", files=files)
    assert answer.status_code == 422
    assert missing(answer.json()["error"]["sentence"], ["red.bmp: ", "pink.bmp: ", "180,000 pixels"]) == []
    assert "green.bmp" not in answer.json()["error"]["sentence"]

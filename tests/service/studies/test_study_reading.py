"""Studies in YAML are read, or all their errors are reported together, each with its file and line."""

import io
import json
import time
import zipfile

import pytest
from exchanged import peak_memory
from PIL import Image

from erkle.files import FileError
from erkle.service.studies.complaints import MORE, MOST
from erkle.service.studies.reading import read_study, read_upload
from erkle.service.studies.spec import StudySettings
from people import missing

WHOLE = """\
# A study of towns.
title: Towns
objects:
  - Paris
  - 1984
  - no
  - {name: Wien, text: "Vienna, by its own name"}
strategy: balanced
holdout: 0.2
texts:
  consent: |
    Do you *agree*?

    You may stop at any time.
limits:
  per_participant: 20
  answers: null
checks:
  catch:
    - {anchor: Paris, near: "1984", far: "no"}
endings:
  completed: {code: "0123", url: https://example.org/done?cc=1}
"""


@pytest.fixture
def write(tmp_path):
    def write(text, **files):
        for name, data in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        path = tmp_path / "study.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def picture(colour, kind="PNG"):
    file = io.BytesIO()
    Image.new("RGB", (30, 20), colour).save(file, kind)
    return file.getvalue()


def errors(path):
    """The sentences of all errors in a study that cannot be read."""
    with pytest.raises(FileError) as caught:
        read_study(path)
    return str(caught.value).split("\n")


def test_a_whole_study_is_read(write):
    draft = read_study(write(WHOLE))
    assert draft.title == "Towns"
    assert [thing.name for thing in draft.objects] == ["Paris", "1984", "no", "Wien"]
    assert draft.objects[3].payload == {"text": "Vienna, by its own name"}
    assert draft.settings.strategy == "balanced"
    assert draft.settings.texts.consent == "Do you *agree*?\n\nYou may stop at any time.\n"
    assert draft.settings.endings.completed.code == "0123"
    assert draft.media == {}


def test_a_study_needs_only_objects(write):
    draft = read_study(write("objects: [a, b, c]"))
    assert (draft.title, draft.settings) == ("study", StudySettings())


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("holdout: 0.2", "holdout: 1.5", 9, ["holdout", "1.5", "0 to 1"]),
        ("holdout: 0.2", "hold-out: 0.2", 9, ["hold-out", "holdout?"]),
        ("title: Towns", "titel: Towns", 2, ["titel", "title?"]),
        ("title: Towns", "title: ''", 2, ["title", "''", "1 to 500"]),
        ("per_participant: 20", "per_participant: many", 16, ["limits.per_participant", "'many'"]),
        ("  - Paris", "  - 1984", 5, ["'1984'", "study.yaml, line 4"]),
        ("  - Paris", "  - ''", 4, ["name", "''", "1 to 2,000"]),
        ("  - Paris", "  - [Paris]", 4, ["objects[0]", "a list"]),
        ("text: ", "txt: ", 7, ["objects[3].txt", "text?"]),
        ("anchor: Paris", "anchor: Pariss", 20, ["checks.catch[0].anchor", "'Pariss'", "'Paris'?"]),
        ('"0123"', "0123", 22, ["endings.completed.code", "83", "quotes"]),
        ("https://", "javascript:", 22, ["endings.completed.url", "'javascript:example.org/done?cc=1'"]),
        ("strategy: balanced", "holdout: 0.1", 9, ["holdout", "twice"]),
        ("strategy: balanced", "strategy: [balanced", 9, []),
        ("strategy: balanced", "\tstrategy: balanced", 8, []),
        ("strategy: balanced", "strategy: !!python/name:os.system", 8, ["tag:yaml.org,2002:python"]),
        ("strategy: balanced", "strategy: !custom x", 8, ["tag !custom"]),
        ("strategy: balanced", "? [a, b]\n: c", 8, ["key", "a list"]),
        ("title: Towns", "title: *x", 2, ["*"]),
    ],
)
def test_an_error_has_its_line_and_its_values(write, before, after, line, words):
    assert before in WHOLE
    [sentence] = errors(write(WHOLE.replace(before, after, 1)))
    assert sentence.startswith(f"study.yaml, line {line}: ")
    assert missing(sentence, words) == []


def test_all_errors_are_reported_in_the_order_of_their_lines(write):
    lines = errors(write("limits: {answers: 0}\nobjects: [a, b, 'b']\nholdout: 2\nfoo: 3\n"))
    assert [line.partition(":")[0] for line in lines] == [f"study.yaml, line {line}" for line in (1, 3, 4, 2)]


MANY = {
    "settings": "objects: [a, b, c]\ntexts:\n" + "".join(f"  k{i}: 0\n" for i in range(10_000)),
    "objects": "objects:\n" + "- {colour: red}\n" * 10_000,
    "names": "objects:\n" + "- a\n" * 10_000,
    "numbers": "objects:\n" + "- [a]\n" * 10_000,
}


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_of_thousands_of_errors_the_first_are_reported(write, text):
    assert 1 <= len(errors(write(text))) <= 32


def test_settings_may_be_under_settings_as_in_the_api(write):
    assert read_study(write("objects: [a, b, c]\nsettings:\n  holdout: 0.3\n")).settings.holdout == 0.3
    [line] = errors(write("objects: [a, b, c]\nsettings:\n  holdout: 3\n"))
    assert line.startswith("study.yaml, line 3: holdout is 3")


def test_small_files_that_would_become_large_are_refused(write):
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    [sentence] = errors(write(bomb))
    assert sentence.startswith("study.yaml, line 2: ")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000,
        "x" * 1_000_001,
        "a: " + "9" * 100_000,
        "objects: [" + "a," * 100_001 + "]",
    ],
)
def test_deep_and_long_files_are_refused_at_once(write, text):
    began = time.perf_counter()
    assert errors(write(text))
    assert time.perf_counter() - began < 5.0


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b\n- c\n", "42", "null", "---\n---\n", "a: \x00", "\ufeff"])
def test_a_file_that_is_not_a_study_is_refused(write, text):
    assert errors(write(text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "study.yaml").write_bytes(b"title: \xff\xfe\n")
    assert "UTF-8" in errors(tmp_path / "study.yaml")[0]
    assert "nowhere.yaml" in errors(tmp_path / "nowhere.yaml")[0]
    assert "folder" in errors(tmp_path)[0]


def test_paths_in_a_table_are_relative_to_the_table(write):
    table = 'name,text,image\nFire,hot,pics/red.png\nSea,,pics/blue.png\n"Grass, dry",,\n'
    path = write("objects: data/things.csv", **{"data__things.csv": table})
    (path.parent / "data" / "pics").mkdir()
    for name in ("red", "blue"):
        (path.parent / "data" / "pics" / f"{name}.png").write_bytes(picture(name))
    draft = read_study(path)
    assert [thing.name for thing in draft.objects] == ["Fire", "Sea", "Grass, dry"]
    assert draft.objects[0].payload["text"] == "hot"
    assert set(draft.media) == {thing.payload[part] for thing in draft.objects[:2] for part in ("image", "thumb")}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("name,image\na,a.png\nb,\nc,\n", ["things.csv, line 2: a.png: "]),
        ("name,colour\na,red\n", ["study.yaml, line 1: things.csv, line 1: ", "'colour'", "name, text"]),
        ("name,imgae\na,red\n", ["study.yaml, line 1: things.csv, line 1: ", "'imgae'", "image?"]),
        ("name,name\na,red\n", ["study.yaml, line 1: things.csv, line 1: ", "name", "twice"]),
        ("a,b,c\nd,e,f\n", ["study.yaml, line 1: things.csv, line 1: ", "name"]),
        ("name\na\nb\na\n", ["things.csv, line 4: 'a'", "things.csv, line 2"]),
        ("name,text\na,b,c\n", ["study.yaml, line 1: things.csv, line 2: ", "3", "2"]),
        ('name,text\n"a"b,c\n', ["study.yaml, line 1: things.csv, line 2: ", "CSV"]),
        ("name,text\na,x\n,y\nc,\n", ["things.csv, line 3: ", "name", "''"]),
        ("name\na\nb\n", ["study.yaml, line 1: ", "2 objects", "3"]),
        ("name,audio\na,study.yaml\nb,\nc,\n", ["things.csv, line 2: study.yaml: "]),
    ],
)
def test_an_error_in_a_table_has_its_line_and_its_values(write, table, words):
    sentence = errors(write("objects: things.csv", **{"things.csv": table}))[0]
    assert sentence.startswith(words[0])
    assert missing(sentence, words) == []


def test_an_image_that_is_listed_as_audio_is_refused(write):
    path = write("objects: [{name: a, audio: a.png}, b, c]", **{"a.png": picture("red")})
    [sentence] = errors(path)
    assert missing(sentence, ["study.yaml, line 1: a.png: ", "image", "audio"]) == []


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_may_have_any_separator(write, separator):
    table = "\ufeffName,Text\r\na,x\r\nb,y\r\nc,z\r\n".replace(",", separator)
    draft = read_study(write("objects: things.csv", **{"things.csv": table}))
    assert [(thing.name, thing.payload["text"]) for thing in draft.objects] == [("a", "x"), ("b", "y"), ("c", "z")]


def test_objects_of_a_folder_are_sorted_by_their_numbers(write):
    pictures = {f"pics__{number}.png": picture((number, 0, 0)) for number in (1, 2, 10)}
    draft = read_study(write("objects: pics", **pictures, **{"pics__2.mp3": b"ID3\x04", "pics__.DS_Store": b"x"}))
    assert [thing.name for thing in draft.objects] == ["1", "2", "10"]
    assert set(draft.objects[1].payload) == {"image", "thumb", "audio"}


def test_objects_come_from_a_zip(write):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for colour in ("red", "green", "blue"):
            archive.writestr(f"pics/{colour}.jpg", picture(colour, "JPEG"))
        archive.writestr("__MACOSX/pics/._red.jpg", b"x")
    draft = read_study(write("objects: pics.zip", **{"pics.zip": file.getvalue()}))
    assert [thing.name for thing in draft.objects] == ["blue", "green", "red"]


def test_files_with_the_same_name_or_of_an_unknown_kind_are_refused(write):
    same = {"pics__a.png": picture("red"), "pics__a.jpg": picture("red", "JPEG")}
    assert errors(write("objects: pics", **same))[0].startswith("a.png: ")
    lines = errors(write("objects: more", **{"more__notes.txt": "x", "more__b.svg": "<svg/>"}))
    assert any(line.startswith("notes.txt: ") for line in lines)
    assert any(line.startswith("b.svg: ") and "SVG" in line for line in lines)


def test_the_objects_must_exist(write):
    assert missing(errors(write("objects: nowhere"))[0], ["objects", "'nowhere'", "CSV file, folder or ZIP"]) == []
    assert "nowhere.csv" in errors(write("objects: nowhere.csv"))[0]
    assert missing(errors(write("title: x"))[0], ["objects", "missing"]) == []
    assert missing(errors(write("objects: {a: b}"))[0], ["objects", "a mapping"]) == []


def test_an_upload_reads_json_as_well():
    spec = json.dumps({"title": "T", "objects": ["a", "b", {"name": "c"}], "settings": {"holdout": 0.3}}, indent="\t")
    draft = read_upload(spec, [])
    assert (draft.title, len(draft.objects), draft.settings.holdout) == ("T", 3, 0.3)


def test_an_upload_names_files_by_the_end_of_their_paths():
    spec = "objects:\n  - {name: a, image: red.png}\n  - {name: b, image: pics/red.png}\n  - c\n"
    draft = read_upload(spec, [("pics/red.png", io.BytesIO(picture("red")))])
    assert draft.objects[0].payload == draft.objects[1].payload != {}


def test_an_upload_of_nothing_is_refused():
    with pytest.raises(FileError, match="0 objects"):
        read_upload("", [])


def test_an_upload_of_two_tables_is_refused():
    with pytest.raises(FileError, match=r"a\.csv and b\.csv"):
        read_upload("", [("a.csv", io.BytesIO(b"a\nb\nc")), ("b.csv", io.BytesIO(b"a\nb\nc"))])


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.txt", b"a\n" * 2_000_000, ["a.txt, line 2: ", "a.txt, line 21: "]),
        ("a.csv", b"name\n" + b"a\n" * 2_000_000, ["a.csv, line 3: "]),
        ("a.csv", b"name" + b"," * 3_000_000 + b"\n", ["a.csv, line 1: "]),
        ("a.csv", b"name,text\n" + b"," * 3_000_000 + b"\n", ["a.csv, line 2: "]),
    ],
    ids=["lines", "rows", "columns", "cells"],
)
def test_a_list_of_objects_is_read_one_row_at_a_time(name, data, words):
    with peak_memory() as peak, pytest.raises(FileError) as caught:
        read_upload("", [(name, io.BytesIO(data))])
    assert missing(caught.value, words) == []
    lines = str(caught.value).split("\n")
    assert len(lines) == 1 or (len(lines) == MOST + 1 and lines[-1] == MORE)
    assert peak() < 40 << 20


def test_of_many_wrong_objects_the_first_are_reported():
    with pytest.raises(FileError) as caught:
        read_upload(json.dumps({"objects": [{"nam": "a"}] * 5000}), [])
    lines = str(caught.value).split("\n")
    assert len(lines) == MOST + 1
    assert lines[-1] == MORE

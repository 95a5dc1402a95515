"""Studies in YAML: what is right is read, what is wrong is told with its file and line, all at once."""

import io
import json
import time
import zipfile

import pytest
from PIL import Image

from erkle.files import FileError
from erkle.service.studies.reading import read_study, read_upload
from erkle.service.studies.spec import StudySettings

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


def told(path):
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


def test_a_study_needs_no_more_than_objects(write):
    draft = read_study(write("objects: [a, b, c]"))
    assert (draft.title, draft.settings) == ("study", StudySettings())


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("holdout: 0.2", "holdout: 1.5", "line 9: holdout is 1.5; pass a share from 0 to 1."),
        ("holdout: 0.2", "hold-out: 0.2", "line 9: hold-out is no setting; did you mean holdout?"),
        ("title: Towns", "titel: Towns", "line 2: titel is no setting; did you mean title?"),
        ("title: Towns", "title: ''", "line 2: title is ''; pass a text of 1 to 500 characters."),
        ("per_participant: 20", "per_participant: many", "line 16: limits.per_participant is 'many'; pass a"),
        ("  - Paris", "  - 1984", "line 5: '1984' is there already (study.yaml, line 4); give each object"),
        ("  - Paris", "  - ''", "line 4: the name is ''; pass a text of 1 to 2,000 characters."),
        ("  - Paris", "  - [Paris]", "line 4: objects[0] is a list; pass a name"),
        ("text: ", "txt: ", "line 7: objects[3].txt is no key of an object; did you mean text?"),
        ("anchor: Paris", "anchor: Pariss", "line 20: checks.catch[0].anchor is 'Pariss', which no object is called"),
        ('"0123"', "0123", "line 22: endings.completed.code is 83, which is no text; put it between quotes."),
        ("https://", "javascript:", "line 22: endings.completed.url is 'javascript:example.org/done?cc=1'; pass"),
        ("strategy: balanced", "holdout: 0.1", "line 9: holdout is there twice; keep one of them."),
        ("strategy: balanced", "strategy: [balanced", "line 9: "),
        ("strategy: balanced", "\tstrategy: balanced", "line 8: "),
        ("strategy: balanced", "strategy: !!python/name:os.system", "line 8: has the tag tag:yaml.org,2002:python"),
        ("strategy: balanced", "strategy: !custom x", "line 8: has the tag !custom; write plain values."),
        ("strategy: balanced", "? [a, b]\n: c", "line 8: a key is a list or a mapping; use a word."),
        ("title: Towns", "title: *x", "line 2: "),
    ],
)
def test_what_is_wrong_is_told_with_its_line(write, before, after, sentence):
    assert before in WHOLE
    [line] = told(write(WHOLE.replace(before, after, 1)))
    assert line.startswith(f"study.yaml, {sentence}")


def test_all_faults_are_told_in_the_order_of_their_lines(write):
    lines = told(write("limits: {answers: 0}\nobjects: [a, b, 'b']\nholdout: 2\nfoo: 3\n"))
    assert [line.partition(":")[0] for line in lines] == [f"study.yaml, line {line}" for line in (1, 3, 4, 2)]


def test_settings_may_be_under_settings_as_in_the_api(write):
    assert read_study(write("objects: [a, b, c]\nsettings:\n  holdout: 0.3\n")).settings.holdout == 0.3
    [line] = told(write("objects: [a, b, c]\nsettings:\n  holdout: 3\n"))
    assert line.startswith("study.yaml, line 3: holdout is 3")


def test_small_files_that_would_become_large_are_refused(write):
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert told(write(bomb)) == ["study.yaml, line 2: refers to another place (*); write the thing itself."]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "x" * 1_000_001, "a: " + "9" * 100_000]
)
def test_deep_and_long_files_are_refused_at_once(write, text):
    began = time.perf_counter()
    assert told(write(text))
    assert time.perf_counter() - began < 5.0


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b\n- c\n", "42", "null", "---\n---\n", "a: \x00", "\ufeff"])
def test_what_is_no_study_is_refused(write, text):
    assert told(write(text))


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "study.yaml").write_bytes(b"title: \xff\xfe\n")
    assert "UTF-8" in told(tmp_path / "study.yaml")[0]
    assert "there is no such file" in told(tmp_path / "nowhere.yaml")[0]
    assert "is a folder" in told(tmp_path)[0]


def test_objects_come_from_a_table_with_paths_that_start_there(write):
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
    ("table", "sentence"),
    [
        ("name,image\na,a.png\nb,\nc,\n", "things.csv, line 2: a.png: there is no such file in"),
        ("name,colour\na,red\n", "study.yaml, line 1: things.csv, line 1: 'colour' is no column; use one of"),
        ("name,imgae\na,red\n", "study.yaml, line 1: things.csv, line 1: 'imgae' is no column; did you mean image?"),
        ("name,name\na,red\n", "study.yaml, line 1: things.csv, line 1: the column name is there twice"),
        ("a,b,c\nd,e,f\n", "study.yaml, line 1: things.csv, line 1: has several columns but none called name"),
        ("name\na\nb\na\n", "things.csv, line 4: 'a' is there already (things.csv, line 2)"),
        ("name,text\na,b,c\n", "study.yaml, line 1: things.csv, line 2: has 3 columns instead of 2"),
        ('name,text\n"a"b,c\n', "study.yaml, line 1: things.csv, line 2: is no CSV"),
        ("name,text\na,x\n,y\nc,\n", "things.csv, line 3: the name is ''"),
        ("name\na\nb\n", "study.yaml, line 1: there are 2 objects; name at least 3"),
        ("name,audio\na,study.yaml\nb,\nc,\n", "things.csv, line 2: study.yaml: cannot be read as a picture"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_line(write, table, sentence):
    assert told(write("objects: things.csv", **{"things.csv": table}))[0].startswith(sentence)


def test_a_picture_that_is_named_as_a_sound_is_refused(write):
    path = write("objects: [{name: a, audio: a.png}, b, c]", **{"a.png": picture("red")})
    assert told(path) == ["study.yaml, line 1: a.png: is no audio but image; name it under that."]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_come_with_any_separator(write, separator):
    table = "\ufeffName,Text\r\na,x\r\nb,y\r\nc,z\r\n".replace(",", separator)
    draft = read_study(write("objects: things.csv", **{"things.csv": table}))
    assert [(thing.name, thing.payload["text"]) for thing in draft.objects] == [("a", "x"), ("b", "y"), ("c", "z")]


def test_objects_come_from_a_folder_in_the_order_of_their_numbers(write):
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


def test_files_that_would_have_one_name_or_cannot_be_shown_are_told(write):
    same = {"pics__a.png": picture("red"), "pics__a.jpg": picture("red", "JPEG")}
    assert told(write("objects: pics", **same))[0].endswith("another file for a shows the same; rename one of them.")
    lines = told(write("objects: more", **{"more__notes.txt": "x", "more__b.svg": "<svg/>"}))
    assert any(line.startswith("notes.txt: cannot be read") for line in lines)
    assert any(line.startswith("b.svg: is an SVG drawing") for line in lines)


def test_what_objects_name_must_be_there(write):
    assert "which is no CSV file, folder or ZIP" in told(write("objects: nowhere"))[0]
    assert "there is no such file" in told(write("objects: nowhere.csv"))[0]
    assert "objects is missing" in told(write("title: x"))[0]
    assert "objects is a mapping" in told(write("objects: {a: b}"))[0]


def test_an_upload_reads_json_as_well():
    spec = json.dumps({"title": "T", "objects": ["a", "b", {"name": "c"}], "settings": {"holdout": 0.3}}, indent="\t")
    draft = read_upload(spec, [])
    assert (draft.title, len(draft.objects), draft.settings.holdout) == ("T", 3, 0.3)


def test_an_upload_names_files_by_the_end_of_their_paths():
    spec = "objects:\n  - {name: a, image: red.png}\n  - {name: b, image: pics/red.png}\n  - c\n"
    draft = read_upload(spec, [("pics/red.png", io.BytesIO(picture("red")))])
    assert draft.objects[0].payload == draft.objects[1].payload != {}


def test_an_upload_of_nothing_is_refused():
    with pytest.raises(FileError, match="there are 0 objects"):
        read_upload("", [])


def test_an_upload_of_two_tables_is_refused():
    with pytest.raises(FileError, match="were both sent"):
        read_upload("", [("a.csv", io.BytesIO(b"a\nb\nc")), ("b.csv", io.BytesIO(b"a\nb\nc"))])

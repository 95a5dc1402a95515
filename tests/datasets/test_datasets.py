"""Laws of the loaders, on a few made-up lines of each published format."""

import json

import pytest

from erkle.datasets import CATALOGUE, load
from erkle.datasets.copies import read_member
from erkle.datasets.published import READERS
from erkle.files import FileError
from erkle.triplets import ReadError
from made_up import CARS, EGGS, FOOD, PUBLISHED, SCENES, TEXTS, check, in_folder, matrix, put, zipped

pytestmark = [
    pytest.mark.usefixtures("cache"),
    # Made-up answers are never those published.
    pytest.mark.filterwarnings(r"ignore:.*published; get the files again:UserWarning"),
]


def test_every_set_of_the_catalogue_has_a_reader_and_a_made_up_copy_here():
    assert set(PUBLISHED) == set(CATALOGUE) == set(READERS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_files_are_understood(name, tmp_path):
    check(load(name, put(tmp_path, in_folder(name, PUBLISHED[name][0]))), name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_environment_names_the_folder_and_an_argument_comes_before_it(name, tmp_path, monkeypatch):
    home = put(tmp_path / "data", in_folder(name, PUBLISHED[name][0]))
    monkeypatch.setenv("ERKLE_DATA", str(home))
    check(load(name), name)
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("ERKLE_DATA", str(tmp_path / "other"))
    check(load(name, home), name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_cache_is_searched_last_and_the_folder_original_too(name, tmp_path, cache):
    put(cache, in_folder(f"{name}/original", PUBLISHED[name][0]))
    check(load(name), name)
    (tmp_path / "empty").mkdir()
    check(load(name, tmp_path / "empty"), name)


@pytest.mark.parametrize("name", TEXTS)
def test_marks_line_ends_blanks_and_blank_lines_of_other_systems_change_nothing(name, tmp_path):
    files = {
        file: b"\xef\xbb\xbf" + content.replace(b"\n", b" \r\n\r\n") + b"\r\n" for file, content in TEXTS[name].items()
    }
    check(load(name, put(tmp_path, in_folder(name, files))), name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_zipped_file_is_read_as_if_it_were_not(name, tmp_path):
    files = {f"{file}.zip": zipped({f"any/folder/{file}": content}) for file, content in PUBLISHED[name][0].items()}
    check(load(name, put(tmp_path, in_folder(name, files))), name)


@pytest.mark.parametrize(
    ("name", "archive", "member"),
    [
        ("food100", "food100/food100-dataset.zip", "food100-dataset/all-triplets.csv"),
        ("cars60", "cars60/60_cars_data.zip", "60_cars_data/survey_data.csv"),
        ("zappos85", "zappos85/zappos.zip", "zappos/deconflicted_triplets.csv"),
        ("nature", "nature_vogue/nature_and_vogue_triplets.zip", "nature/nature_triplets.txt"),
        ("vogue", "nature_vogue/nature_and_vogue_triplets.zip", "vogue/vogue_triplets.txt"),
    ],
)
def test_the_published_archives_are_understood(name, archive, member, tmp_path):
    [content] = PUBLISHED[name][0].values()
    shadow = f"__MACOSX/{member.replace('/', '/._', 1)}"
    home = put(tmp_path, {archive: zipped({"README.txt": b"", shadow: b"x", member: content})})
    check(load(name, home), name)


def tables(name):
    _, T, names, _ = PUBLISHED[name]
    rows = "".join(f"{a},{b},{c}\n" for a, b, c in T)
    objects = "".join(f'{i},"{object_name}"\n' for i, object_name in enumerate(names))
    return {"triplets.csv": f"anchor,near,far\n{rows}".encode(), "objects.csv": f"id,name\n{objects}".encode()}


@pytest.mark.parametrize("name", PUBLISHED)
def test_tables_of_ids_give_the_same_answers_and_names(name, tmp_path):
    dataset = load(name, put(tmp_path, in_folder(name, tables(name))))
    assert dataset.triplets.tolist() == PUBLISHED[name][1]
    assert dataset.names == PUBLISHED[name][2]
    assert "answer" in dataset.columns or "answer" not in PUBLISHED[name][3]


def test_a_list_of_objects_names_the_objects_of_published_files_too(tmp_path):
    home = put(tmp_path, in_folder("cars60", TEXTS["cars60"]))
    listed = "".join(f"{i},car number {i}\n" for i in range(60))
    put(home, {"cars60/objects.csv": f"id,name\n{listed}".encode()})
    assert load("cars60", home).names[:2] == ["car number 0", "car number 1"]
    put(home, {"cars60/objects.csv": b"id,name\n0,only one\n"})
    with pytest.raises(ReadError, match="lists 1 objects"):
        load("cars60", home)


def test_degenerate_rows_are_kept_when_asked_for(tmp_path):
    home = put(tmp_path, in_folder("aset400", PUBLISHED["aset400"][0]))
    whole = load("aset400", home, all_rows=True)
    assert whole.triplets.tolist() == [[0, 2, 1], [0, 2, 3], [2, 2, 1], [3, 1, 3], [2, 1, 0]]
    assert whole.columns["judgement"].tolist() == [1, 1, 3, 4, 5]
    put(home, in_folder("aset400_vdm", PUBLISHED["aset400_vdm"][0]))
    assert load("aset400_vdm", home, all_rows=True).triplets.tolist() == [[0, 1, 2], [3, 3, 0], [3, 0, 1]]


def test_tables_may_hold_the_degenerate_rows_with_more_about_each_in_another_file(tmp_path):
    home = put(tmp_path, in_folder("aset400", tables("aset400")))
    with pytest.raises(FileError, match=r"filtered-survey\.txt and musician_names\.txt"):
        load("aset400", home, all_rows=True)
    put(
        home,
        {
            "aset400/triplets_16385.csv": b"anchor,near,far\n0,2,1\n2,2,1\n2,1,0\n",
            "aset400/triplets_16385_judgement_user.csv": b"judgement,user\n1,anna\n3,bob\n5,cleo\n",
        },
    )
    assert load("aset400", home, all_rows=True).triplets.tolist() == [[0, 2, 1], [2, 2, 1], [2, 1, 0]]
    dataset = load("aset400", home)
    assert dataset.triplets.tolist() == [[0, 2, 1], [2, 1, 0]]
    assert dataset.columns["participant"].tolist() == ["anna", "cleo"]
    put(home, {"aset400/triplets_16385_judgement_user.csv": b"judgement,user\n1,anna\n"})
    with pytest.raises(ReadError, match="1 rows for 3 answers"):
        load("aset400", home)


@pytest.mark.parametrize("files", [TEXTS["cars60"], tables("cars60")], ids=["published files", "tables"])
def test_a_set_that_is_learned_from_whole_is_the_same_with_all_rows(files, tmp_path):
    home = put(tmp_path, in_folder("cars60", files))
    learned, whole = load("cars60", home), load("cars60", home, all_rows=True)
    assert whole.triplets.tolist() == learned.triplets.tolist()
    assert list(whole.columns) == list(learned.columns)


def test_repeated_answers_about_food_are_kept_in_their_order_when_asked_for(tmp_path):
    home = put(tmp_path, in_folder("food100", TEXTS["food100"]))
    assert load("food100", home, all_rows=True).triplets.tolist() == [[1, 0, 2], [1, 0, 2], [0, 3, 2]]


def screen(probe, images, near, catch=False):
    named = [[f"images/{x}.jpg" for x in group] for group in (images, near)]
    return {
        "images": named[0],
        "probe": f"images/{probe}.jpg",
        "near_answer": named[1],
        "is_catchtrial": catch,
        "timer": 1,
    }


def test_raw_screens_about_food_give_each_pick_against_each_rest_without_catch_trials(tmp_path):
    tasks = [
        {"worker_id": 308, "HIT_screens": [screen("b", "acde", "ad"), screen("a", "bcde", "b", catch=True)]},
        {"worker_id": 309, "HIT_screens": [screen("e", "ab", "b")]},
    ]
    home = put(tmp_path, {"food100/raw-json/grid4_rep1.json": json.dumps(tasks).encode()})
    whole = load("food100", home, all_rows=True)
    assert whole.triplets.tolist() == [[1, 0, 2], [1, 0, 4], [1, 3, 2], [1, 3, 4], [4, 1, 0]]
    assert whole.columns["participant"].tolist() == [308, 308, 308, 308, 309]
    assert whole.columns["screen"].tolist()[3:] == ["grid4_rep1/0", "grid4_rep1/2"]
    assert load("food100", home).triplets.tolist() == sorted(whole.triplets.tolist())
    for damage in (b"[{}]", b"{", b"7", b"[]"):
        put(home, {"food100/raw-json/grid4_rep1.json": damage})
        with pytest.raises(FileError, match="get the"):
            load("food100", home)


DAMAGED = {
    "too few cells": (
        "aset400",
        "filtered-survey.txt",
        b"1 S anna 7 9\n",
        r"filtered-survey\.txt, line 1: has 5 cells",
    ),
    "no number": ("aset400", "filtered-survey.txt", b"1 S a 7 9 3\n\n1 S a 7 x 3\n", "line 3: has 'x' for chosen"),
    "no artist ids": ("aset400", "musician_names.txt", b"abe seven\n", "has 'seven' for id"),
    "empty": ("aset400", "filtered-survey.txt", b"\n", "has no answers"),
    "not a matrix": ("aset400_vdm", "music_triplets.mat", b"MATLAB 5.0" + bytes(200), "no MATLAB 5 file"),
    "another matrix": ("aset400_vdm", "music_triplets.mat", matrix([[1, 2, 3]], "other"), "no MATLAB 5 file"),
    "from zero": ("aset400_vdm", "music_triplets.mat", matrix([[0, 1, 2]]), "beyond the 4 listed"),
    "artist 5 of 4": ("aset400_vdm", "music_triplets.mat", matrix([[1, 2, 5]]), "beyond the 4 listed"),
    "commas": ("food100", "all-triplets.csv", b"a, b, c\n", "has 1 cells instead of 3"),
    "not text": ("food100", "all-triplets.csv", b"\xff\xfe\x00", "not UTF-8"),
    "another header": ("cars60", "survey_data.csv", b"a,b\n1,2\n", "no column 'survey_round'"),
    "car 0": ("cars60", "survey_data.csv", CARS + b"3,0,0,1,2,1\n", "line 5: has ids 0, but they run from 1 to 60"),
    "car 61": ("cars60", "survey_data.csv", CARS + b"3,1,61,1,2,1\n", "line 5"),
    "no centre": ("cars60", "survey_data.csv", CARS + b"3,4,1,2,3,1\n", "line 5: the central car is not one"),
    "one car twice": ("cars60", "survey_data.csv", CARS + b"3,1,1,2,2,1\n", "line 5"),
    "shoe 85": ("zappos85", "deconflicted_triplets.csv", b"0,1,2\n0,1,85\n", "line 2"),
    "shoe twice": ("zappos85", "deconflicted_triplets.csv", b"0,1,2\n0,1,1\n", "object 1 twice"),
    "answer not shown": ("eggs300", "responses.csv", EGGS.replace(b"i0002,900", b"i0006,900"), "line 2: the answer"),
    "not three scenes": ("nature", "nature_triplets.txt", SCENES + b"a b b\n", "line 3: does not name three"),
    "two scenes": ("nature", "nature_triplets.txt", SCENES + b"a b\n", "line 3: has 2 cells"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_gets_one_sentence_with_its_name(damage, tmp_path):
    name, file, content, said = DAMAGED[damage]
    home = put(tmp_path, in_folder(name, PUBLISHED[name][0] | {file: content}))
    with pytest.raises(FileError, match=said) as caught:
        load(name, home)
    assert file in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_tables_get_one_sentence_with_their_name(tmp_path):
    good = tables("zappos85")
    for rows, said in [(b"anchor,near\n0,1\n", "no column 'far'"), (b"anchor,near,far\n0,1,2\n0,1,85\n", "line 3")]:
        home = put(tmp_path, in_folder("zappos85", good | {"triplets.csv": rows}))
        with pytest.raises(ReadError, match=rf"triplets\.csv.*{said}"):
            load("zappos85", home)


@pytest.mark.filterwarnings("error")
def test_answers_that_are_not_those_published_are_loaded_with_a_warning(tmp_path, monkeypatch):
    home = put(tmp_path, in_folder("cars60", TEXTS["cars60"]))
    with pytest.warns(UserWarning, match="holds 6 answers about 60 objects, not the 14,194 about 60 published"):
        load("cars60", home)
    entry = CATALOGUE["cars60"]._replace(n_triplets=6)
    monkeypatch.setitem(CATALOGUE, "cars60", entry)
    with pytest.warns(UserWarning, match="holds other answers than those published"):
        load("cars60", home)
    monkeypatch.setitem(CATALOGUE, "cars60", entry._replace(digest=None))
    load("cars60", home)


def test_an_unknown_name_and_a_missing_folder_are_refused_in_a_sentence(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="no data set 'aset401'; choose from aset400"):
        load("aset401")
    with pytest.raises(FileError, match="there is no such folder"):
        load("aset400", tmp_path / "nowhere")
    monkeypatch.setenv("ERKLE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileError, match="ERKLE_DATA"):
        load("aset400")


@pytest.mark.parametrize("path", ["../all-triplets.csv", "/etc/all-triplets.csv", "a/../../x", "..\\x", "C:\\x"])
def test_an_archive_that_reaches_out_of_its_folder_writes_nothing(path, tmp_path):
    put(tmp_path, {"a/b/a.zip": zipped({path: FOOD})})
    assert read_member(tmp_path / "a" / "b" / "a.zip") == FOOD
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["a.zip"]


def test_a_bomb_is_refused_before_it_unfolds(tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.datasets.copies.MOST_BYTES", 1 << 20)
    put(tmp_path, {"a.zip": zipped({"x.csv": bytes(2 << 20)})})
    assert (tmp_path / "a.zip").stat().st_size < 4000
    with pytest.raises(FileError, match="unfolds to more than 1 MiB"):
        read_member(tmp_path / "a.zip", "x.csv")


def test_a_bomb_that_lies_about_its_size_is_refused_too(tmp_path):
    data = bytearray(zipped({"x.csv": bytes(1000)}))
    # The size in the directory at the end of the archive and in the header before the file.
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.index(mark) + offset
        data[at : at + 4] = (10).to_bytes(4, "little")
    put(tmp_path, {"a.zip": bytes(data)})
    with pytest.raises(FileError, match="no ZIP archive that can be read"):
        read_member(tmp_path / "a.zip", "x.csv")


def test_archives_that_are_damaged_locked_or_of_something_else_are_refused_in_a_sentence(tmp_path):
    whole = zipped({"x.csv": FOOD, "y.csv": FOOD})
    locked = bytearray(whole)
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        locked[locked.index(mark) + offset] |= 1
    for content, name, said in [
        (b"<html>", "x.csv", "no ZIP archive"),
        (whole[: len(whole) // 2], "x.csv", "no ZIP archive"),
        (whole[:40] + b"zz" + whole[42:], "x.csv", "no ZIP archive"),
        (bytes(locked), "x.csv", "no ZIP archive"),
        (whole, "z.csv", "no file z.csv"),
        (whole, None, "not exactly one file"),
    ]:
        put(tmp_path, {"a.zip": content})
        with pytest.raises(FileError, match=said):
            read_member(tmp_path / "a.zip", name)
    with pytest.raises(FileError, match="no such file"):
        read_member(tmp_path / "none.zip")

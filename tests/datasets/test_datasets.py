"""Tests of `load` with a few made-up lines in each published format."""

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
    # The made-up answers differ from the published ones.
    pytest.mark.filterwarnings(r"ignore:.*download the files again:UserWarning"),
]


def test_every_data_set_of_the_catalogue_has_a_reader_and_made_up_files():
    assert set(PUBLISHED) == set(CATALOGUE) == set(READERS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_are_read(name, tmp_path):
    check(load(name, put(tmp_path, in_folder(name, PUBLISHED[name][0]))), name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_argument_takes_precedence_over_the_environment_variable(name, tmp_path, monkeypatch):
    home = put(tmp_path / "data", in_folder(name, PUBLISHED[name][0]))
    monkeypatch.setenv("ERKLE_DATA", str(home))
    check(load(name), name)
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("ERKLE_DATA", str(tmp_path / "other"))
    check(load(name, home), name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_cache_and_the_subfolder_original_are_searched(name, tmp_path, cache):
    put(cache, in_folder(f"{name}/original", PUBLISHED[name][0]))
    check(load(name), name)
    (tmp_path / "empty").mkdir()
    check(load(name, tmp_path / "empty"), name)


@pytest.mark.parametrize("name", TEXTS)
def test_byte_order_marks_line_ends_and_blanks_change_nothing(name, tmp_path):
    files = {
        file: b"\xef\xbb\xbf" + content.replace(b"\n", b" \r\n\r\n") + b"\r\n" for file, content in TEXTS[name].items()
    }
    check(load(name, put(tmp_path, in_folder(name, files))), name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_zipped_files_give_the_same_answers(name, tmp_path):
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
def test_published_archives_are_read(name, archive, member, tmp_path):
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
def test_tables_give_the_same_answers_and_names(name, tmp_path):
    dataset = load(name, put(tmp_path, in_folder(name, tables(name))))
    assert dataset.triplets.tolist() == PUBLISHED[name][1]
    assert dataset.names == PUBLISHED[name][2]
    assert "answer" in dataset.columns or "answer" not in PUBLISHED[name][3]


def test_objects_csv_names_the_objects_of_published_files(tmp_path):
    home = put(tmp_path, in_folder("cars60", TEXTS["cars60"]))
    listed = "".join(f"{i},car number {i}\n" for i in range(60))
    put(home, {"cars60/objects.csv": f"id,name\n{listed}".encode()})
    assert load("cars60", home).names[:2] == ["car number 0", "car number 1"]
    put(home, {"cars60/objects.csv": b"id,name\n0,only one\n"})
    with pytest.raises(ReadError, match="lists 1 objects"):
        load("cars60", home)


def test_all_rows_include_those_that_name_an_object_twice(tmp_path):
    home = put(tmp_path, in_folder("aset400", PUBLISHED["aset400"][0]))
    whole = load("aset400", home, all_rows=True)
    assert whole.triplets.tolist() == [[0, 2, 1], [0, 2, 3], [2, 2, 1], [3, 1, 3], [2, 1, 0]]
    assert whole.columns["judgement"].tolist() == [1, 1, 3, 4, 5]
    put(home, in_folder("aset400_vdm", PUBLISHED["aset400_vdm"][0]))
    assert load("aset400_vdm", home, all_rows=True).triplets.tolist() == [[0, 1, 2], [3, 3, 0], [3, 0, 1]]


def test_tables_may_have_a_file_of_all_rows_and_a_file_of_columns(tmp_path):
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
    with pytest.raises(ReadError, match=r"1 rows.* 3 answers"):
        load("aset400", home)


@pytest.mark.parametrize("files", [TEXTS["cars60"], tables("cars60")], ids=["published files", "tables"])
def test_all_rows_change_nothing_if_no_rows_are_dropped(files, tmp_path):
    home = put(tmp_path, in_folder("cars60", files))
    learned, whole = load("cars60", home), load("cars60", home, all_rows=True)
    assert whole.triplets.tolist() == learned.triplets.tolist()
    assert list(whole.columns) == list(learned.columns)


def test_all_rows_of_food_include_repeats_in_order(tmp_path):
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


def test_raw_screens_of_food_compare_each_chosen_dish_with_each_other_dish_without_catch_trials(tmp_path):
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
        with pytest.raises(FileError, match=r"raw-json|grid4_rep1"):
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
    "not a matrix": ("aset400_vdm", "music_triplets.mat", b"MATLAB 5.0" + bytes(200), "MATLAB 5 file"),
    "another matrix": ("aset400_vdm", "music_triplets.mat", matrix([[1, 2, 3]], "other"), "MATLAB 5 file"),
    "from zero": ("aset400_vdm", "music_triplets.mat", matrix([[0, 1, 2]]), "1 to 4"),
    "artist 5 of 4": ("aset400_vdm", "music_triplets.mat", matrix([[1, 2, 5]]), "1 to 4"),
    "commas": ("food100", "all-triplets.csv", b"a, b, c\n", "has 1 cells instead of 3"),
    "not text": ("food100", "all-triplets.csv", b"\xff\xfe\x00", "not UTF-8"),
    "another header": ("cars60", "survey_data.csv", b"a,b\n1,2\n", "no column 'survey_round'"),
    "car 0": ("cars60", "survey_data.csv", CARS + b"3,0,0,1,2,1\n", "line 5: has ids 0,.* from 1 to 60"),
    "car 61": ("cars60", "survey_data.csv", CARS + b"3,1,61,1,2,1\n", "line 5"),
    "no centre": ("cars60", "survey_data.csv", CARS + b"3,4,1,2,3,1\n", "line 5"),
    "one car twice": ("cars60", "survey_data.csv", CARS + b"3,1,1,2,2,1\n", "line 5"),
    "shoe 85": ("zappos85", "deconflicted_triplets.csv", b"0,1,2\n0,1,85\n", "line 2"),
    "shoe twice": ("zappos85", "deconflicted_triplets.csv", b"0,1,2\n0,1,1\n", "object 1 twice"),
    "answer not shown": ("eggs300", "responses.csv", EGGS.replace(b"i0002,900", b"i0006,900"), "line 2: the answer"),
    "not three scenes": ("nature", "nature_triplets.txt", SCENES + b"a b b\n", "line 3"),
    "two scenes": ("nature", "nature_triplets.txt", SCENES + b"a b\n", "line 3: has 2 cells"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_an_error_names_the_damaged_file(damage, tmp_path):
    name, file, content, words = DAMAGED[damage]
    home = put(tmp_path, in_folder(name, PUBLISHED[name][0] | {file: content}))
    with pytest.raises(FileError, match=words) as caught:
        load(name, home)
    assert file in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_names_the_damaged_table(tmp_path):
    good = tables("zappos85")
    for rows, words in [(b"anchor,near\n0,1\n", "no column 'far'"), (b"anchor,near,far\n0,1,2\n0,1,85\n", "line 3")]:
        home = put(tmp_path, in_folder("zappos85", good | {"triplets.csv": rows}))
        with pytest.raises(ReadError, match=rf"triplets\.csv.*{words}"):
            load("zappos85", home)


@pytest.mark.filterwarnings("error")
def test_a_warning_says_that_answers_differ_from_the_published_ones(tmp_path, monkeypatch):
    home = put(tmp_path, in_folder("cars60", TEXTS["cars60"]))
    with pytest.warns(UserWarning, match=r"6 answers about 60 objects.* 14,194 answers about 60 objects"):
        load("cars60", home)
    entry = CATALOGUE["cars60"]._replace(n_triplets=6)
    monkeypatch.setitem(CATALOGUE, "cars60", entry)
    with pytest.warns(UserWarning, match="cars60: .* other answers"):
        load("cars60", home)
    monkeypatch.setitem(CATALOGUE, "cars60", entry._replace(digest=None))
    load("cars60", home)


def test_an_unknown_name_and_a_missing_folder_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"'aset401'.* aset400"):
        load("aset401")
    with pytest.raises(FileError, match="nowhere"):
        load("aset400", tmp_path / "nowhere")
    monkeypatch.setenv("ERKLE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileError, match="ERKLE_DATA"):
        load("aset400")


@pytest.mark.parametrize("path", ["../all-triplets.csv", "/etc/all-triplets.csv", "a/../../x", "..\\x", "C:\\x"])
def test_an_archive_with_paths_outside_its_folder_writes_nothing(path, tmp_path):
    put(tmp_path, {"a/b/a.zip": zipped({path: FOOD})})
    assert read_member(tmp_path / "a" / "b" / "a.zip") == FOOD
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["a.zip"]


def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.datasets.copies.MOST_BYTES", 1 << 20)
    put(tmp_path, {"a.zip": zipped({"x.csv": bytes(2 << 20)})})
    assert (tmp_path / "a.zip").stat().st_size < 4000
    with pytest.raises(FileError, match="1 MiB"):
        read_member(tmp_path / "a.zip", "x.csv")


def test_a_zip_bomb_with_a_false_size_is_refused(tmp_path):
    data = bytearray(zipped({"x.csv": bytes(1000)}))
    # The size stands in the directory at the end of the archive and in the header before the file.
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.index(mark) + offset
        data[at : at + 4] = (10).to_bytes(4, "little")
    put(tmp_path, {"a.zip": bytes(data)})
    with pytest.raises(FileError, match="not a readable ZIP archive"):
        read_member(tmp_path / "a.zip", "x.csv")


def test_damaged_encrypted_and_wrong_archives_are_refused(tmp_path):
    whole = zipped({"x.csv": FOOD, "y.csv": FOOD})
    encrypted = bytearray(whole)
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        encrypted[encrypted.index(mark) + offset] |= 1
    for content, name, words in [
        (b"<html>", "x.csv", "ZIP archive"),
        (whole[: len(whole) // 2], "x.csv", "ZIP archive"),
        (whole[:40] + b"zz" + whole[42:], "x.csv", "ZIP archive"),
        (bytes(encrypted), "x.csv", "ZIP archive"),
        (whole, "z.csv", "no file z.csv"),
        (whole, None, "2 files"),
    ]:
        put(tmp_path, {"a.zip": content})
        with pytest.raises(FileError, match=words):
            read_member(tmp_path / "a.zip", name)
    with pytest.raises(FileError, match="no such file"):
        read_member(tmp_path / "none.zip")

"""Tests of `load_study`: the files of all tools give rows (anchor, near, far)."""

import io
import zipfile

import numpy as np
import pytest

from erkle import triplets
from erkle.datasets import load_study
from erkle.files import FileError
from erkle.triplets import ReadError

SALMON = (
    "head,left,right,winner,sampler,score,puid,response_time,network_latency,loser,time_received,"
    "head_html,winner_html,loser_html,head_filename,winner_filename,loser_filename\n"
    "0,3,1,1,random,0.5,ann,1.25,0.1,3,1600000000.5,<img src='a'>,b,d,a.jpg,b.jpg,d.jpg\n"
    '3,0,1,0,ARR,0.25,ann,2,0.1,1,1600000001.5,"x, y",b,d,d.jpg,a.jpg,b.jpg\n'
)


def study(tmp_path, content, name="answers.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_study(path)


def test_a_file_of_salmon_gives_ids_file_names_and_columns(tmp_path):
    found = study(tmp_path, SALMON)
    assert found.triplets.tolist() == [[0, 1, 3], [3, 0, 1]]
    assert found.names == ["a.jpg", "b.jpg", "2", "d.jpg"]
    assert found.columns["participant"].tolist() == ["ann", "ann"]
    assert found.columns["response_time"].tolist() == [1.25, 2.0]
    assert set(found.columns) == {
        "participant",
        "sampler",
        "score",
        "response_time",
        "network_latency",
        "time_received",
    }


SAME = {
    "salmon": "head,winner,loser\n0,1,2\n2,0,1\n",
    "salmon, shown": "head,left,right,winner\n0,2,1,1\n2,0,1,0\n",
    "salmon, columns in another order": "loser,puid,winner,head\n2,x,1,0\n1,y,0,2\n",
    "cblearn": "0,1,2\n2,0,1\n",
    "cblearn, by numpy": "0.000000000000000000e+00 1.0e+00 2.0e+00\n2.0e+00 0.0e+00 1.0e+00\n",
    "cblearn, tabs": "0\t1\t2\n2\t0\t1\n",
    "cblearn, answers 1 and -1": "0,1,2,1\n2,1,0,-1\n",
    "cblearn, answers 1 and 0": "0 1 2 1\n2 1 0 0\n",
    "cblearn, answers true and false": "0;1;2;True\n2;1;0;False\n",
    "ours": "anchor,near,far\n0,1,2\n2,0,1\n",
    "ours, of another system": "\ufeffAnchor;Near;Far\r\n0; 1; 2\r\n\r\n2; 0; 1\r\n",
    "letters": "a,b,c\n0,1,2\n2,0,1\n",
    "next": "Participant.ID,Center,Left,Right,Answer\n7,0,1,2,1\n7,2,1,0,0\n",
}


@pytest.mark.parametrize("form", SAME)
def test_all_formats_give_the_same_triplets(form, tmp_path):
    found = study(tmp_path, SAME[form])
    assert found.triplets.dtype == np.int64
    assert found.triplets.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert found.names == ["0", "1", "2"]


def test_names_get_ids_in_order_of_first_appearance(tmp_path):
    for header in ("", "head,winner,loser\n", "anchor,near,far\n"):
        found = study(tmp_path, header + "cat,dog,bus\nbus,tram,cat\n")
        assert found.triplets.tolist() == [[0, 1, 2], [2, 3, 0]]
        assert found.names == ["cat", "dog", "bus", "tram"]


def test_numbers_without_a_header_are_ids_and_smaller_ids_need_not_occur(tmp_path):
    found = study(tmp_path, "5,1,2\n")
    assert found.triplets.tolist() == [[5, 1, 2]]
    assert found.names == list("012345")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["7", "-8"], [7, -8]),
        (["7", "8.5"], [7.0, 8.5]),
        (["7", "ann"], ["7", "ann"]),
        (["7", "007"], ["7", "007"]),
        (["7", ""], ["7", ""]),
        (["9" * 30, "1"], [1e30, 1.0]),
    ],
)
def test_other_columns_become_numbers_unless_information_would_be_lost(cells, expected, tmp_path):
    rows = "".join(f"{cell},0,1,2\n" for cell in cells)
    values = study(tmp_path, "extra,head,winner,loser\n" + rows).columns["extra"].tolist()
    assert values == expected
    assert set(map(type, values)) == set(map(type, expected))


def test_a_zipped_study_gives_the_same_answers(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("responses.csv", SALMON)
    assert study(tmp_path, file.getvalue(), "responses.csv.zip").triplets.tolist() == [[0, 1, 3], [3, 0, 1]]


def test_file_names_that_are_empty_or_not_unique_are_not_used(tmp_path):
    for useless in ("a.jpg", ""):
        assert study(tmp_path, SALMON.replace("d.jpg", useless)).names == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "header"),
        ("a,b\n1,2\n", "2 columns"),
        ("head,left,right,winner\n0,1,2,3\n", "line 2: .*'3'"),
        ("head,left,right,winner\n0,1,1,1\n", "line 2"),
        ("head,winner,loser\n0,1,2\n0,1\n", "line 3: has 2 cells"),
        ("head,winner,loser\n0,1,2\n0,1,1\n", "object 1 twice"),
        ("head,winner,loser\ncat,dog,bus\ncat,cat,bus\n", "line 3: .*'cat'"),
        ("anchor,near,far\ncat,dog,\n", "line 2: the far object is missing"),
        ("0,1,2\n0,1,-2\n", "line 2: has an id"),
        ("0,1,2\n0,1.5,2\n", "line 2: has an id"),
        ("0,1,2\n0,1,1e12\n", "line 2: has an id"),
        ("0,1,2,1\n0,2,1,2\n", "fourth column"),
        ("0,1,2,1\n0,2,1,x\n", "fourth column"),
        ("0,1,2,-1\n0,2,1,0\n", "fourth column"),
        (b"\xff\xfe0,1,2\n", "not UTF-8"),
    ],
)
def test_an_error_names_the_file_and_the_line(content, said, tmp_path):
    with pytest.raises(ReadError, match=said) as caught:
        study(tmp_path, content)
    assert str(caught.value).startswith("answers.csv")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"none\.csv: there is no such file"):
        load_study(tmp_path / "none.csv")


def test_load_study_and_read_agree(tmp_path):
    T = triplets.sample(12, 500, random_state=0)
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far\n" + "".join(f"o{a},o{b},o{c}\n" for a, b, c in T.tolist()))
    expected, labels = triplets.read(path)
    found = load_study(path)
    np.testing.assert_array_equal(found.triplets, expected)
    assert found.names == labels.names

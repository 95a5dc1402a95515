"""Tests of reading lists of objects."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle.files import FileError
from erkle.triplets import Labels, ReadError, read_objects

NAMES = ["cat", "Paris, France", "Zoë", "NA"]
FORMS = {
    "one name per line": 'cat\n"Paris, France"\nZoë\nNA\n',
    "no final line end": 'cat\n"Paris, France"\nZoë\nNA',
    "CRLF and byte order mark": '\ufeffcat\r\n"Paris, France"\r\nZoë\r\nNA\r\n',
    "blank lines at the end": 'cat\n"Paris, France"\nZoë\nNA\n\n \n',
    "a single column with a header": 'Name\ncat\n"Paris, France"\nZoë\nNA\n',
    "id and name": 'id,name\n0,cat\n1,"Paris, France"\n2, Zoë\n3,NA\n',
    "tabs": "id\tlabel\n0\tcat\n1\tParis, France\n2\tZoë\n3\tNA\n",
    "semicolons": "object;colour\ncat;\nParis, France;x\nZoë;y\nNA;z\n",
    "name before label": 'label,name\na,cat\nb,"Paris, France"\nc,Zoë\nd,NA\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_names(form, tmp_path):
    (tmp_path / "objects.txt").write_bytes(FORMS[form].encode())
    assert read_objects(tmp_path / "objects.txt").names == NAMES


def test_objects_with_ids_may_share_a_name(tmp_path):
    (tmp_path / "objects.csv").write_text("name,id\ncat,7\ndog,cat\ncat,9\n")
    assert read_objects(tmp_path / "objects.csv") == (["7", "cat", "9"], ["cat", "dog", "cat"])


REFUSED = [
    ("", None, "is empty"),
    ("\n\n", None, "is empty"),
    ("id,name\n", None, "has a header but no objects"),
    ("0,cat\n1,dog\n", 1, "has 2 columns.* name, label or object"),
    ("id\tcolour\n0\tred\n", 1, "has 2 columns.* name, label or object"),
    ("cat\n\ndog\n", 2, r"the name is missing \(''\)"),
    ("id,name\n0,cat\n1, \n2,dog\n", 3, r"the name is missing \(''\)"),
    ("cat\ndog\ncat\n", 3, "'cat' is already on line 1"),
    ("id,name\n0,cat\n0,dog\n", 3, "'0' is already on line 2"),
    ("id,name\n,cat\n", 2, r"the id is missing \(''\)"),
    ("cat\nParis, France\n", 2, "has 2 columns instead of 1"),
    ("id,name\n0,cat,x\n", 2, "has 3 columns instead of 2"),
    ("cat\nd\0g\n", 2, ".*NUL"),
    (b"cat\nd\xffg\n", 2, ".*UTF-8"),
    ("cat\nd\x07g\n", 2, r"the name .*'d\\x07g'"),
    ('cat\n"dog\n', 2, "has a quoted cell that does not end on its line"),
]


@pytest.mark.parametrize(("text", "line", "words"), REFUSED, ids=range(len(REFUSED)))
def test_an_error_names_the_file_and_the_line(text, line, words, tmp_path):
    (tmp_path / "objects.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    place = "objects.csv: " if line is None else f"objects.csv, line {line}: "
    with pytest.raises(ReadError, match=rf"^{place}{words}.*\.$"):
        read_objects(tmp_path / "objects.csv")


def test_an_error_names_a_missing_file_or_a_folder(tmp_path):
    with pytest.raises(FileError, match=r"^objects.csv: there is no such file"):
        read_objects(tmp_path / "objects.csv")
    with pytest.raises(FileError, match="is a folder"):
        read_objects(tmp_path)


@given(st.binary(max_size=30) | st.text('ab,;\t"\n\r -', max_size=20).map(str.encode))
@settings(max_examples=200)
def test_any_file_is_refused_or_gives_valid_labels(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "objects.txt"
    path.write_bytes(content)
    try:
        ids, names = read_objects(path)
    except ReadError:
        return
    assert Labels(ids).names == ids != []
    assert len(names) == len(ids)

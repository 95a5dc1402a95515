"""Laws of reading lists of objects."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle.files import FileError
from erkle.triplets import Labels, ReadError, read_objects

seeded = settings(deadline=None, derandomize=True)

NAMES = ["cat", "Paris, France", "Zoë", "NA"]
FORMS = {
    "one a line": 'cat\n"Paris, France"\nZoë\nNA\n',
    "no final line end": 'cat\n"Paris, France"\nZoë\nNA',
    "CRLF and byte order mark": '\ufeffcat\r\n"Paris, France"\r\nZoë\r\nNA\r\n',
    "blank lines at the end": 'cat\n"Paris, France"\nZoë\nNA\n\n \n',
    "a header alone": 'Name\ncat\n"Paris, France"\nZoë\nNA\n',
    "id and name": 'id,name\n0,cat\n1,"Paris, France"\n2, Zoë\n3,NA\n',
    "tabs": "id\tlabel\n0\tcat\n1\tParis, France\n2\tZoë\n3\tNA\n",
    "semicolons": "object;colour\ncat;\nParis, France;x\nZoë;y\nNA;z\n",
    "name before label": 'label,name\na,cat\nb,"Paris, France"\nc,Zoë\nd,NA\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_names(form, tmp_path):
    (tmp_path / "objects.txt").write_bytes(FORMS[form].encode())
    assert read_objects(tmp_path / "objects.txt").names == NAMES


def test_where_there_are_ids_answers_speak_of_them_and_two_objects_may_share_a_name(tmp_path):
    (tmp_path / "objects.csv").write_text("name,id\ncat,7\ndog,cat\ncat,9\n")
    assert read_objects(tmp_path / "objects.csv") == (["7", "cat", "9"], ["cat", "dog", "cat"])


TROUBLE = [
    ("", None, "is empty"),
    ("\n\n", None, "is empty"),
    ("id,name\n", None, "has a header but no objects"),
    ("0,cat\n1,dog\n", 1, "has 2 columns but no header with name, label or object"),
    ("id\tcolour\n0\tred\n", 1, "has 2 columns but no header with name, label or object"),
    ("cat\n\ndog\n", 2, r"the name is missing \(''\)"),
    ("id,name\n0,cat\n1, \n2,dog\n", 3, r"the name is missing \(''\)"),
    ("cat\ndog\ncat\n", 3, "'cat' is on line 1 already; give each object its own"),
    ("id,name\n0,cat\n0,dog\n", 3, "'0' is on line 2 already; give each object its own"),
    ("id,name\n,cat\n", 2, r"the id is missing \(''\)"),
    ("cat\nParis, France\n", 2, "has 2 columns instead of 1; put quotes around a name"),
    ("id,name\n0,cat,x\n", 2, "has 3 columns instead of 2"),
    ("cat\nd\0g\n", 2, "does not look like text"),
    (b"cat\nd\xffg\n", 2, "does not look like text"),
    ("cat\nd\x07g\n", 2, "the name has a character that is not text"),
    ('cat\n"dog\n', 2, "has a quoted cell that does not end on its line"),
]


@pytest.mark.parametrize(("text", "line", "words"), TROUBLE, ids=range(len(TROUBLE)))
def test_everything_wrong_gets_a_sentence_with_file_and_line(text, line, words, tmp_path):
    (tmp_path / "objects.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    place = "objects.csv: " if line is None else f"objects.csv, line {line}: "
    with pytest.raises(ReadError, match=rf"^{place}{words}.*\.$"):
        read_objects(tmp_path / "objects.csv")


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileError, match=r"^objects.csv: there is no such file"):
        read_objects(tmp_path / "objects.csv")
    with pytest.raises(FileError, match="is a folder, not a file"):
        read_objects(tmp_path)


@given(st.binary(max_size=30) | st.text('ab,;\t"\n\r -', max_size=20).map(str.encode))
@settings(seeded, max_examples=200)
def test_what_is_read_can_be_labels_and_everything_else_is_explained(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "objects.txt"
    path.write_bytes(content)
    try:
        ids, names = read_objects(path)
    except ReadError:
        return
    assert Labels(ids).names == ids != []
    assert len(names) == len(ids)

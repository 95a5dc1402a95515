"""Tests of reading answers: every format gives the same rows, and every error names the file and the line."""

import io
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from erkle.files import FileError
from erkle.triplets import Labels, Reader, ReadError, read
from erkle.triplets.decoding import BadLine
from erkle.triplets.parsing import Delimited

ROWS = [["cat", "dog", "bus"], ["bus", "tram", "cat"], ["Zoë", "cat", "17"]]
PLAIN = "cat,dog,bus\nbus,tram,cat\nZoë,cat,17\n"
FORMS = {
    "plain": PLAIN,
    "no final line end": PLAIN.rstrip(),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + PLAIN,
    "byte order mark and header": "\ufeffanchor,near,far\n" + PLAIN,
    "tabs": PLAIN.replace(",", "\t"),
    "semicolons": PLAIN.replace(",", ";"),
    "blanks": PLAIN.replace(",", " , "),
    "odd blanks": PLAIN.replace(",", "\u00a0,\u3000"),
    "blank lines": "\n \n" + PLAIN.replace("\n", "\n\n\r\n") + "\n",
    "header": "anchor,near,far\n" + PLAIN,
    "header in capitals": " Anchor ,NEAR,Far\n" + PLAIN,
    "head, winner, loser": "head,winner,loser\n" + PLAIN,
    "a, b, c": "a,b,c\n" + PLAIN,
    "quoted header": '"anchor","near","far"\n' + PLAIN,
    "quoted cells": '"cat","dog",bus\nbus, "tram" ,cat\n"Zoë","cat","17"\n'.replace(' "tram" ', ' "tram"'),
    "other order": "far,anchor,near\nbus,cat,dog\ncat,bus,tram\n17,Zoë,cat\n",
    "more columns": "time,loser,head,who,winner\n1,bus,cat,,dog\n2,cat,bus,x,tram\n3,17,Zoë,-1,cat\n",
    "more quoted columns": 'loser,note,head,winner\nbus,"a, b",cat,dog\ncat,"""",bus,tram\n17,"",Zoë,cat\n',
    "JSON": "\n".join(json.dumps(dict(zip(("anchor", "near", "far"), row, strict=True))) for row in ROWS),
    "JSON in letters": '{"a":"cat","b":"dog","c":"bus"}\n\n {"c":"cat","a":"bus","b":"tram"}\r\n'
    '{"a":"Zoë","b":" cat","c":17,"t":[{}]}',
    "JSON in capitals": "".join(
        json.dumps({"who": None, "Loser": c, "Winner": b, "HEAD": a}, ensure_ascii=False) + "\n" for a, b, c in ROWS
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_answers(form, tmp_path):
    path = tmp_path / "answers"
    path.write_bytes(FORMS[form].encode())
    triplets, labels = read(path)
    assert labels.decode(triplets).tolist() == ROWS
    assert triplets.tolist() == Labels().encode(ROWS).tolist()


@pytest.mark.parametrize(
    ("suffix", "text", "row"),
    [
        (".csv", "c;d;e", ["c", "d", "e"]),
        (".TSV", "a, b, x\tc\td", ["a, b, x", "c", "d"]),
        (".txt", "a, b, x\tc\td", ["a, b, x", "c", "d"]),
        (".csv", "{x,y,z}", ["{x", "y", "z}"]),
        ("", "x;y,1;z", ["x", "y,1", "z"]),
        ("", 'x, "a ""b"", c",y', ["x", 'a "b", c', "y"]),
        ("", '5" plate,x,6" plate', ['5" plate', "x", '6" plate']),
    ],
)
def test_the_suffix_decides_between_possible_separators(suffix, text, row, tmp_path):
    path = tmp_path / f"answers{suffix}"
    path.write_text(text)
    assert read(path).labels.names == row


def test_new_names_extend_the_labels_unless_they_are_frozen():
    labels = Labels(["tram", "cat", "dog", "bus"])
    text = b"cat,dog,bus\nbus,tram,cat\n"
    assert read(io.BytesIO(text), labels, frozen=True).triplets.tolist() == [[1, 2, 3], [3, 0, 1]]
    assert read(io.BytesIO(b"ship,cat,tram\n"), labels).triplets.tolist() == [[4, 1, 0]]
    assert labels.names == ["tram", "cat", "dog", "bus", "ship"]


GOOD = "anchor,near,far\n" + "cat,dog,bus\n" * 3
JSON = '{"anchor": "cat", "near": "dog", "far": "bus"}\n'
REFUSED = [
    ("", None, "is empty"),
    ("\n \r\n", None, "is empty"),
    ("\ufeff", None, "is empty"),
    ("anchor,near,far\n", None, "has a header but no answers"),
    ("anchor,near,far", None, "has a header but no answers"),
    ("x,y\n", 1, r"has 2 columns \('x', 'y'\).* header with anchor, near, far"),
    ("\n\nx\n", 3, r"has 1 column \('x'\)"),
    ("1,2,3,4\n", 1, r"has 4 columns \('1', '2', '3', '4'\)"),
    ("anchor,positive,negative\n1,2,3\n", 1, r"has 3 columns \('anchor', 'positive', 'negative'\)"),
    ("anchor,near,far,near\n1,2,3,4\n", 1, ".*column near"),
    ('"x\n', 1, "has a quoted cell that does not end on its line"),
    (GOOD + "cat,dog\n", 5, "has 2 columns instead of 3"),
    (GOOD + "cat,dog,bus,\n", 5, "has 4 columns instead of 3"),
    (GOOD + "cat,dog,bus,x\ncat,dog\n", 5, "has 4 columns instead of 3"),
    (GOOD + "\n\ncat\n", 7, "has 1 column instead of 3"),
    (GOOD + 'cat,dog,"bus\ntram"\n', 5, "has a quoted cell that does not end on its line"),
    (GOOD + "cat,,bus\n", 5, r"the near object is missing \(''\)"),
    (GOOD + "nan,dog,bus\n", 5, r"the anchor object is missing \('nan'\)"),
    (GOOD + "cat,dog, NULL \n", 5, r"the far object is missing \('NULL'\)"),
    (GOOD + "cat,None,bus\n", 5, r"the near object is missing \('None'\)"),
    (GOOD + "cat,na,bus\n", 5, r"the near object is missing \('na'\)"),
    (GOOD + "cat,-3,bus\n", 5, r"the near object is a negative number \('-3'\)"),
    (GOOD + "cat,cat,bus\n", 5, "the anchor and the near object are both 'cat'"),
    (GOOD + "cat,dog,cat\n", 5, "the anchor and the far object are both 'cat'"),
    (GOOD + "new,dog,dog\n", 5, "the near and the far object are both 'dog'"),
    (GOOD + "cat,d\0g,bus\n", 5, ".*NUL"),
    (GOOD + "cat,d\rg,bus\n", 5, ".*carriage return"),
    ("cat,dog,bus\rcat,dog,bus\r", 1, ".*carriage return"),
    (GOOD + "cat,d\x07g,bus\n", 5, r"the near object .*'d\\x07g'"),
    (GOOD.encode() + b"cat,d\xe9g,bus\n", 5, ".*not UTF-8"),
    (GOOD.encode("utf-16"), 1, ".*UTF-8"),
    (GOOD + "cat," + "x" * (1 << 20) + ",bus\n", 5, "is longer than 1,048,576 bytes"),
    (GOOD + "cat," + "x" * (1 << 20), 5, "is longer than 1,048,576 bytes"),
    ("x" * (3 << 20), 1, "is longer than 1,048,576 bytes"),
    (GOOD + 'cat,"' + "x" * 200_000 + '",bus\n', 5, "has a quoted cell"),
    ("{\n", 1, "is not JSON"),
    ('{"x": 1, "anchor": 2}\n', 1, r"has 2 keys \('x', 'anchor'\).* anchor, near, far"),
    (JSON + "[1, 2, 3]\n", 2, "is JSON but not an object"),
    (JSON + "cat,dog,bus\n", 2, "is not JSON"),
    (JSON + '{"anchor": "cat", "far": "bus"}\n', 2, "has no key 'near'"),
    (JSON + JSON.replace('"dog"', "null"), 2, r"the near object is missing \('null'\)"),
    (JSON + JSON.replace('"dog"', "NaN"), 2, r"the near object is missing \('null'\)"),
    (JSON + JSON.replace('"dog"', "1.5"), 2, "has '1.5' under near"),
    (JSON + JSON.replace('"dog"', "true"), 2, "has 'True' under near"),
    (JSON + JSON.replace('"dog"', '{"x": 1}'), 2, "has .* under near"),
    (JSON + JSON.replace('"dog"', "-3"), 2, "the near object is a negative number"),
    (JSON + JSON.replace('"dog"', r'"\ud800"'), 2, "the near object .*ud800"),
    (JSON + "[" * 100_000 + "\n", 2, "is JSON .*deep"),
    (JSON + '{"anchor": ' + "1" * 5000 + "}\n", 2, "is JSON .*long"),
]


@pytest.mark.parametrize(("text", "line", "words"), REFUSED, ids=range(len(REFUSED)))
def test_an_error_names_the_file_and_the_line(text, line, words, tmp_path):
    path = tmp_path / "answers.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    place = "answers.txt: " if line is None else f"answers.txt, line {line}: "
    with pytest.raises(ReadError, match=f"^{place}{words}") as caught:
        read(path)
    assert_is_short_sentence(caught)


@pytest.mark.parametrize(("text", "line", "words"), REFUSED, ids=range(len(REFUSED)))
def test_every_answer_before_the_wrong_line_is_delivered(text, line, words):
    content = text if isinstance(text, bytes) else text.encode()
    n_good = 3 if content.startswith(GOOD.encode()) else content.startswith(JSON.encode())
    reader = Reader(io.BytesIO(content))
    chunks = []
    with pytest.raises(ReadError):
        chunks.extend(reader)
    assert [row for chunk in chunks for row in chunk.triplets.tolist()] == [[0, 1, 2]] * n_good
    assert reader.labels.names == ["cat", "dog", "bus"] * (n_good > 0)
    for chunk in chunks:
        assert content[: chunk.end_offset] in (GOOD.encode(), JSON.encode())
        assert content[: chunk.end_offset].count(b"\n") == chunk.line < line


def test_frozen_labels_refuse_an_unknown_object_and_suggest_a_similar_name():
    labels = Labels(["cat", "dog", "bus"])
    with pytest.raises(ReadError, match=r"^x, line 2: the near object 'dgo' .*'dog'\?$"):
        list(Reader(io.BytesIO(b"cat,dog,bus\ncat,dgo,bus\n"), labels, frozen=True, name="x"))
    with pytest.raises(ReadError, match=r"^answers, line 1: the far object is missing \('nan'\)"):
        read(io.BytesIO(b"cat,dog,nan\n"), labels, frozen=True)


def test_an_error_names_a_missing_file_or_a_folder(tmp_path):
    with pytest.raises(FileError, match=f"^answers.csv: .* no such file in {tmp_path}"):
        read(tmp_path / "answers.csv")
    with pytest.raises(FileError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(FileError, match="cannot be read"):
        read("answers\0.csv")
    with pytest.raises(ReadError, match="text mode"):
        read(io.StringIO("1,2,3\n"))


def assert_is_short_sentence(caught):
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 300
    assert text[-1] in ".?"
    text.encode()


def assert_reads_or_refuses(content):
    try:
        triplets, labels = read(io.BytesIO(content))
    except ReadError as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert sentence.encode()
    else:
        rows = labels.decode(triplets).tolist()
        assert Labels().encode(rows).tolist() == triplets.tolist()


@given(st.binary())
@example(b"\xef\xbb\xbf")
@example(b'"')
@example(b"{}")
@settings(max_examples=150)
def test_any_bytes_are_read_or_refused(content):
    assert_reads_or_refuses(content)


@given(
    st.sampled_from(sorted(FORMS)),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), st.binary(max_size=3)), max_size=4),
)
@settings(max_examples=150)
def test_a_damaged_file_is_read_or_refused(form, changes):
    content = FORMS[form].encode()
    for place, length, patch in changes:
        content = content[:place] + patch + content[place + length :]
    assert_reads_or_refuses(content)


lines = st.text('ab1 ,;\t"\r\0é\u00a0-', max_size=12)
formats = st.sampled_from(
    [
        Delimited(",", 3, (0, 1, 2)),
        Delimited(",", 3, (2, 0, 1)),
        Delimited(";", 4, (3, 1, 0)),
        Delimited("\t", 3, (0, 1, 2)),
        Delimited(",", 3, (2, 0, 1, 1)),
        Delimited(";", 4, (0, 1, 2, 3)),
    ]
)


@given(formats, st.lists(lines | st.just("a,b,1") | st.just("a\tb\t1"), min_size=1, max_size=5), st.booleans())
@settings(max_examples=150)
def test_a_block_gives_the_same_cells_as_its_lines_or_none(form, lines, is_ended):
    block = "\n".join(lines).encode() + b"\n" * is_ended
    cells = form.cells(block) if block else None
    if cells is not None:
        try:
            by_line = [cell for line in io.BytesIO(block) for cell in form.row(line.decode().rstrip("\r\n"))]
        except BadLine:
            pytest.fail("The block was accepted, but one of its lines is wrong.")
        assert [cell.strip() for cell in cells] == by_line


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", b"who,anchor,near,far\nann,a,b,c\n,b,a,c\nbob,c,a,b\n"),
        ("by line.csv", b'who;anchor;near;far\nann;a;b;c\n\n"";b;a;c\nbob;c;a;b\n'),
        (
            "lines.jsonl",
            b'{"a": "a", "b": "b", "c": "c", "WHO": "ann"}\n{"a": "b", "b": "a", "c": "c"}\n'
            b'{"a": "c", "b": "a", "c": "b", "WHO": "bob"}\n',
        ),
    ],
)
def test_a_further_column_does_not_change_the_answers(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    chunks = list(Reader(tmp_path / name, column="Who"))
    assert [cell for chunk in chunks for cell in chunk.column] == ["ann", "", "bob"]
    assert [row for chunk in chunks for row in chunk.triplets.tolist()] == read(tmp_path / name).triplets.tolist()
    assert [list(chunk.column) for chunk in Reader(tmp_path / name)] == [[] for _ in chunks]


@pytest.mark.parametrize(
    ("name", "text", "column", "words"),
    [
        ("answers.csv", "anchor,near,far,puid\na,b,c,1\n", "who", r"no column 'who', but 4 columns \('anchor', "),
        ("answers.csv", "dog,cat,bus\n", "who", "no column 'who'"),
        ("answers.csv", "anchor,near,far,who,WHO\na,b,c,1,2\n", "who", "column who"),
        ("answers.csv", "anchor,near,far,who\na,b,c,1\n", "NEAR", "column 'NEAR'"),
        ("answers.jsonl", '{"a": 1, "b": 2, "c": 3, "by": 4}\n', "who", "no key 'who', but 4 keys"),
        ("answers.jsonl", '{"anchor": 1, "near": 2, "far": 3, "who": 4}\n', "far", "key 'far'"),
    ],
)
def test_a_further_column_that_is_missing_ambiguous_or_an_object_is_refused(name, text, column, words, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ReadError, match=f"^{name}, line 1: .*{words}"):
        list(Reader(tmp_path / name, column=column))


def test_a_further_column_ends_at_the_last_good_answer():
    reader = Reader(io.BytesIO(b"anchor,near,far,who\na,b,c,1\nb,a,c,2\nc,c,a,3\n"), column="who")
    found = []
    with pytest.raises(ReadError, match="line 4"):
        found.extend(reader)
    assert [cell for chunk in found for cell in chunk.column] == ["1", "2"]

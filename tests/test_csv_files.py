"""Any text in a CSV file can be read back, and no spreadsheet finds a formula in it, wherever it splits the file."""

import csv
import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from erkle import triplets
from erkle.csv_files import csv_rows, csv_text, plain, safe
from erkle.triplets.tables import read_table

# Letters that mean something to a spreadsheet or to a reader of CSV are frequent.
CELLS = st.text(st.sampled_from("=+-@＝＋－＠'\";,\t\r\n\v\x1c\x85\u2028 \ufeffaä0") | st.characters(codec="utf-8"))
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
ATTACKS = [
    "=1+1",
    "x;=1+1",
    "x\t=1+1",
    "\n=1+1",
    "a\r=1",
    'x;"=1"',
    'x; " "=1',
    "'=1",
    " =1",
    "a\u2028@b",
    "；=",
    "a;\n-1",
]


@given(CELLS)
@example("'")
@example(" '")
@example("'\n=")
def test_a_guarded_cell_can_be_restored_even_if_blanks_around_it_are_removed(text):
    assert plain(safe(text).strip()) == text


@pytest.mark.parametrize("text", ["", "Paris", "'tis", "Washington, D.C.", "dogs'", "1-2", 'a "b" c', "a; b", "x=1"])
def test_ordinary_cells_are_unchanged(text):
    assert safe(text) == plain(text) == text


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4))
@example([[attack] * 3 for attack in ATTACKS])
def test_no_cell_begins_with_a_formula_whatever_the_separator(rows):
    text = "".join(csv_rows([number, *row] for number, row in enumerate(rows)))
    for separator in ",;\t":
        for skip in (False, True):
            file = io.StringIO(text, newline="")
            cells = [c for row in csv.reader(file, delimiter=separator, skipinitialspace=skip) for c in row]
            assert not any(FORMULA.match(cell) for cell in cells)
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert [[plain(cell) for cell in row[1:]] for row in read] == rows


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4))
def test_our_tables_are_read_back_exactly(rows):
    text = csv_text(["number", "one", "two"], [[number, *row] for number, row in enumerate(rows)])
    columns = read_table(text.encode(), "a.csv").columns
    assert list(zip(columns["one"], columns["two"], strict=True)) == rows


@pytest.mark.parametrize("name", ["a.csv", "quoted, name.csv"])
def test_names_in_a_file_of_answers_are_read_back(name):
    names = [("=1+1", "@home", "'tis"), ("x;=1", "@home", "a, b" if "," in name else "b")]
    read = triplets.read(io.BytesIO(csv_text(["anchor", "near", "far"], names).encode()))
    assert [tuple(row) for row in read.labels.decode(read.triplets)] == names

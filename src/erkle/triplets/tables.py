"""Tables as text: cells of a line, separators, headers, quotes, and which columns hold answers.

Text is UTF-8 with or without its mark, lines end in any way, blank lines do not count, and cells are stripped.
What is wrong with a file is one sentence with its name and the line.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.triplets.decoding import BadLine, ReadError, complaint

SEPARATORS = {".csv": ",;\t", ".tsv": "\t;,", ".tab": "\t;,"}
# The order in which separators are least likely to be part of a name.
ANY_SEPARATOR = "\t;,"
# Header words of (anchor, the candidates shown, the one chosen) and of (anchor, near, far).
_CHOICES = (("head", "left", "right", "winner"), ("center", "left", "right", "answer"))
_TRIPLES = (("head", "winner", "loser"), ("anchor", "near", "far"), ("head", "close", "far"), ("a", "b", "c"))


class Strict(csv.excel):
    """Quotes must enclose a whole cell; blanks behind a separator do not count."""

    skipinitialspace = True
    strict = True


def possible_tables(line: str, suffix: str) -> list[tuple[str, list[str]]]:
    """Each separator under which the line can be read, with its cells, the likeliest first."""
    tables = []
    trouble = None
    for separator in SEPARATORS.get(suffix.lower(), ANY_SEPARATOR):
        try:
            tables.append((separator, split_cells(line, separator)))
        except BadLine as error:
            trouble = error
    if trouble and not tables:
        raise trouble
    return tables


def split_cells(line: str, separator: str) -> list[str]:
    """Cells of a line, stripped, quotes understood."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        cells = next(csv.reader([line], Strict, delimiter=separator))
    except csv.Error:
        raise BadLine(
            "has a quoted cell that does not end on its line or goes on behind its quotes;"
            " close the quotes just before the next separator."
        ) from None
    return [cell.strip() for cell in cells]


class Table(NamedTuple):
    """The cells of a file by column, names in lower case, and the line of each row."""

    name: str
    columns: dict[str, list[str]]
    lines: list[int]

    def complaint(self, row: int, trouble: str) -> ReadError:
        """The error about a row."""
        return complaint(self.name, self.lines[row], trouble)

    def integers(self, *columns: str) -> NDArray[np.int64]:
        """Columns of whole numbers, side by side: shape (m, number of columns)."""
        return np.stack([self._integers(name) for name in columns], axis=1)

    def ids(self, *columns: str, first: int, n_objects: int) -> NDArray[np.int64]:
        """Columns of ids that start at ``first``, made to start at 0."""
        found = self.integers(*columns) - first
        wrong = ((found < 0) | (found >= n_objects)).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            seen = ", ".join(map(str, found[row] + first))
            raise self.complaint(row, f"has ids {seen}, but they run from {first} to {first + n_objects - 1}.")
        return found

    def _integers(self, name: str) -> NDArray[np.int64]:
        cells = self.columns[name]
        try:
            return np.array(cells, dtype=np.str_).astype(np.int64)
        except (ValueError, OverflowError):
            row = next(i for i, cell in enumerate(cells) if not _is_whole(cell))
            raise self.complaint(row, f"has {cells[row][:60]!r} for {name}, wanted a whole number.") from None


def read_table(
    data: bytes, name: str, header: Sequence[str] | None = None, wanted: Sequence[str] = (), separator: str | None = ","
) -> Table:
    """Read a file whose columns are named by its first line, or here where it has no such line.

    A separator of None is any run of blanks.
    """
    rows = _rows(data, name, separator)
    if header is None:
        first = next(rows, None)
        if first is None:
            raise ReadError(f"{name}: is empty; get the file again.")
        header = [cell.lower() for cell in first[1]]
        missing = [column for column in wanted if column not in header]
        if missing:
            raise ReadError(
                f"{name}, line {first[0]}: has no column {missing[0]!r} but {', '.join(header)[:100]};"
                " check that it is the right file."
            )
    cells: list[str] = []  # end to end: a list for each row would keep the garbage collector busy
    lines: list[int] = []
    width = len(header)
    for line, row in rows:
        if len(row) != width:
            raise ReadError(f"{name}, line {line}: has {len(row)} cells instead of {width}; get the file again.")
        cells += row
        lines.append(line)
    if not cells:
        raise ReadError(f"{name}: has no answers; get the file again.")
    return Table(name, {column: cells[i::width] for i, column in enumerate(header)}, lines)


def first_row(data: bytes, name: str) -> tuple[str | None, list[str]]:
    r"""The separator of a table, None for blanks, and the cells of its first line that is not blank.

    >>> first_row(b"\nhead;winner;loser\n", "answers.csv")
    (';', ['head', 'winner', 'loser'])
    """
    lines = enumerate(io.StringIO(decoded(data, name), newline=None), 1)
    number, line = next(((number, line) for number, line in lines if line.strip()), (1, ""))
    separator = next((mark for mark in ",;\t" if mark in line), None)
    try:
        return separator, line.split() if separator is None else split_cells(line.rstrip("\n"), separator)
    except BadLine as trouble:
        raise complaint(name, number, trouble) from None


def decoded(data: bytes, name: str) -> str:
    """The text of a file, without its mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReadError(f"{name}: does not look like text (it is not UTF-8); save it as UTF-8.") from None


def has_triples(columns: Iterable[str]) -> bool:
    """Whether columns of these names, in lower case, hold answers."""
    names = set(columns)
    return any(set(scheme) <= names for scheme in (*_CHOICES, *_TRIPLES))


def triples_of(table: Table) -> tuple[list[list[str]], set[str]]:
    """Cells of anchor, near and far, and the columns that are spent on them."""
    for triple in _TRIPLES:
        if set(triple) <= set(table.columns):
            return [table.columns[name] for name in triple], {*triple, "left", "right"}
    choice = next(choice for choice in _CHOICES if set(choice) <= set(table.columns))
    anchor, left, right, chosen = (table.columns[name] for name in choice)
    far = []
    for row, (x, y, near) in enumerate(zip(left, right, chosen, strict=True)):
        if near not in (x, y) or x == y:
            raise table.complaint(row, f"the answer {near[:60]!r} is not one of two different objects shown.")
        far.append(y if near == x else x)
    return [anchor, chosen, far], set(choice)


def _rows(data: bytes, name: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    text = decoded(data, name)
    if separator is None:
        for number, line in enumerate(io.StringIO(text, newline=None), 1):
            if cells := line.split():
                yield number, cells
        return
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=separator, skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ReadError(f"{name}, line {reader.line_num}: is not a row of a table ({error}).") from None


def _is_whole(cell: str) -> bool:
    try:
        return -(2**63) <= int(cell) < 2**63
    except ValueError:
        return False

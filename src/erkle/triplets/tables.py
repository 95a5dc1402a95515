"""Read tables from text: separators, quotes, headers, and the columns that hold answers.

Text is UTF-8, with or without a byte order mark. Lines may end in LF, CRLF or CR, blank lines are skipped, and blanks
around cells are removed. Apostrophes that protect a cell from spreadsheets are removed as well (`erkle.csv_files`).
Errors name the file and the line.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from erkle.csv_files import plain
from erkle.triplets.decoding import LONGEST_LINE, BadLine, ReadError, complaint

# Separators to try for each suffix, most likely first.
SEPARATORS = {".csv": ",;\t", ".tsv": "\t;,", ".tab": "\t;,"}
# Separators to try for other files: first those that rarely occur in names.
ANY_SEPARATOR = "\t;,"
# Headers of (anchor, first candidate, second candidate, chosen candidate).
_CHOICES = (("head", "left", "right", "winner"), ("center", "left", "right", "answer"))
# Headers of (anchor, near, far).
_TRIPLES = (("head", "winner", "loser"), ("anchor", "near", "far"), ("head", "close", "far"), ("a", "b", "c"))


class Strict(csv.excel):
    """Quotes must enclose a whole cell; blanks after a separator are ignored."""

    skipinitialspace = True
    strict = True


def possible_tables(line: str, suffix: str) -> list[tuple[str, list[str]]]:
    """Each separator that can split the line, with the cells it gives; most likely first."""
    tables = []
    problem = None
    for separator in SEPARATORS.get(suffix.lower(), ANY_SEPARATOR):
        try:
            tables.append((separator, split_cells(line, separator)))
        except BadLine as error:
            problem = error
    if problem and not tables:
        raise problem
    return tables


def split_cells(line: str, separator: str) -> list[str]:
    """The cells of a line, without quotes and blanks around them."""
    if '"' not in line:
        return [plain(cell.strip()).strip() for cell in line.split(separator)]
    try:
        cells = next(csv.reader([line], Strict, delimiter=separator))
    except csv.Error:
        raise BadLine(
            "has a quoted cell that does not end on its line, or text after a closing quote;"
            " close the quotes right before the next separator."
        ) from None
    return [plain(cell.strip()).strip() for cell in cells]


class Table(NamedTuple):
    """The cells of a file by column, and the line number of each row. Names of columns are in lower case."""

    name: str
    columns: dict[str, list[str]]
    lines: list[int]

    def complaint(self, row: int, problem: str) -> ReadError:
        """The error about a row, with the file's name and the line."""
        return complaint(self.name, self.lines[row], problem)

    def integers(self, *columns: str) -> NDArray[np.int64]:
        """Columns of whole numbers, as an array of shape (m, n_columns)."""
        return np.stack([self._integers(name) for name in columns], axis=1)

    def ids(self, *columns: str, first: int, n_objects: int) -> NDArray[np.int64]:
        """Columns of ids, shifted so that they start at 0 instead of ``first``."""
        found = self.integers(*columns) - first
        wrong = ((found < 0) | (found >= n_objects)).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            seen = ", ".join(map(str, found[row] + first))
            raise self.complaint(row, f"has ids {seen}, wanted ids from {first} to {first + n_objects - 1}.")
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
    """Read a table. Its first line names the columns, unless ``header`` does.

    The file must have the ``wanted`` columns. A separator of None means any number of blanks.
    """
    rows = rows_of(io.BytesIO(data), name, separator)
    if header is None:
        first = next(rows, None)
        if first is None:
            raise ReadError(f"{name}: is empty; check that it is the right file.")
        header = [cell.lower() for cell in first[1]]
        missing = [column for column in wanted if column not in header]
        if missing:
            raise ReadError(
                f"{name}, line {first[0]}: has no column {missing[0]!r}, but {', '.join(header)[:100]};"
                " check that it is the right file."
            )
    cells: list[str] = []  # one flat list: a list per row would slow down the garbage collector
    lines: list[int] = []
    width = len(header)
    for line, row in rows:
        if len(row) != width:
            raise ReadError(f"{name}, line {line}: has {len(row)} cells instead of {width}; correct that line.")
        cells += row
        lines.append(line)
    if not cells:
        raise ReadError(f"{name}: has no answers; check that it is the right file.")
    return Table(name, {column: cells[i::width] for i, column in enumerate(header)}, lines)


def first_row(data: bytes, name: str) -> tuple[str | None, list[str]]:
    r"""The separator of a table (None for blanks), and the cells of its first line that is not blank.

    >>> first_row(b"\nhead;winner;loser\n", "answers.csv")
    (';', ['head', 'winner', 'loser'])
    """
    lines = Lines(io.StringIO(decoded(data, name), newline=None))
    try:
        line = next((line for line in lines if line.strip()), "")
        separator = next((mark for mark in ",;\t" if mark in line), None)
        return separator, line.split() if separator is None else split_cells(line.rstrip("\n"), separator)
    except BadLine as problem:
        raise complaint(name, lines.number, problem) from None


def decoded(data: bytes, name: str) -> str:
    """The text of a file, without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReadError(f"{name}: is not UTF-8 text; save it as UTF-8.") from None


def has_triples(columns: Iterable[str]) -> bool:
    """Whether the names, in lower case, include the columns of an answer."""
    names = set(columns)
    return any(set(scheme) <= names for scheme in (*_CHOICES, *_TRIPLES))


def triples_of(table: Table) -> tuple[list[list[str]], set[str]]:
    """The cells of anchor, near and far, and the names of the columns that they come from."""
    for triple in _TRIPLES:
        if set(triple) <= set(table.columns):
            return [table.columns[name] for name in triple], {*triple, "left", "right"}
    choice = next(choice for choice in _CHOICES if set(choice) <= set(table.columns))
    anchor, left, right, chosen = (table.columns[name] for name in choice)
    far = []
    for row, shown in enumerate(zip(left, right, chosen, strict=True)):
        try:
            far.append(_other(*shown))
        except BadLine as problem:
            raise table.complaint(row, str(problem)) from None
    return [anchor, chosen, far], set(choice)


def triple_of(cells: Mapping[str, str]) -> tuple[str, str, str] | None:
    """The anchor, near and far of one row, given its cells by column; None if it does not have the columns.

    >>> triple_of({"head": "cat", "left": "bus", "right": "dog", "winner": "dog"})
    ('cat', 'dog', 'bus')
    """
    for anchor, near, far in _TRIPLES:
        if anchor in cells and near in cells and far in cells:
            return cells[anchor], cells[near], cells[far]
    for anchor, left, right, chosen in _CHOICES:
        if anchor in cells and left in cells and right in cells and chosen in cells:
            return cells[anchor], cells[chosen], _other(cells[left], cells[right], cells[chosen])
    return None


def _other(left: str, right: str, chosen: str) -> str:
    """The candidate that was not chosen."""
    if chosen not in (left, right) or left == right:
        raise BadLine(f"the answer {chosen[:60]!r} is not one of two different candidates.")
    return right if chosen == left else left


def rows_of(file: BinaryIO, name: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line and the cells of each row that is not blank, without reading the whole file into memory."""
    file.seek(0)
    # Line ends are not translated, because a quoted cell may contain CR.
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    lines = Lines(text)
    rows = map(str.split, lines) if separator is None else csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        for row in rows:
            lines.held = 0
            cells = [plain(cell.strip()) for cell in row]
            if any(cells):
                yield lines.number, cells
    except csv.Error as error:
        raise complaint(name, lines.number, f"cannot be split into cells ({error}); correct that line.") from None
    except BadLine as problem:
        raise complaint(name, lines.number, problem) from None
    except UnicodeDecodeError:
        raise ReadError(f"{name}: is not UTF-8 text; save it as UTF-8.") from None
    finally:
        # The file stays open, unless somebody closed it before this generator ended.
        with suppress(ValueError):
            text.detach()


class Lines:
    """The lines of a text. ``held`` counts the characters of the current row, which quotes can spread over lines."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self.number = self.held = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.held += len(line)
        if self.held > LONGEST_LINE:
            raise BadLine(
                f"has a row of more than {LONGEST_LINE:,} characters; check its quotes, or write fewer columns."
            )
        return line


def _is_whole(cell: str) -> bool:
    try:
        return -(2**63) <= int(cell) < 2**63
    except ValueError:
        return False

"""Text files of rows and columns, as other people publish them.

Text is UTF-8 with or without its mark, lines end in any way, blank lines do not count, and cells are stripped.
What is wrong with a file is one sentence with its name and the line.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.triplets import ReadError

__all__ = ["Table", "read_table", "text_of"]


class Table(NamedTuple):
    """The cells of a file by column, names in lower case, and the line of each row."""

    name: str
    columns: dict[str, list[str]]
    lines: list[int]

    def complaint(self, row: int, trouble: str) -> ReadError:
        """The error about a row."""
        return ReadError(f"{self.name}, line {self.lines[row]}: {trouble}")

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
    data: bytes,
    name: str,
    header: Sequence[str] | None = None,
    wanted: Sequence[str] = (),
    separator: str | None = ",",
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


def text_of(data: bytes, name: str) -> str:
    """The text of a file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReadError(f"{name}: is not UTF-8 text; check that it is the right file.") from None


def _rows(data: bytes, name: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    text = text_of(data, name)
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

"""From columns of pyarrow to ids of objects, with no Python per row.

The ids are those that the same answers have in a text file: a whole number is the name that it is written as, and
names get ids in order of first appearance, row by row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.arrow_files import is_integer
from erkle.triplets.checking import repeated
from erkle.triplets.labels import PARTS, Labels, quoted

# Numbers below this are looked up in a table, which takes 8 bytes per number. Others take about four times as long.
_LARGEST_TABLE = 1 << 22


class Encoder:
    """Turns columns of anchor, near and far into ids, and remembers the ids of small numbers."""

    def __init__(self, labels: Labels, frozen: bool) -> None:
        self._labels, self._frozen = labels, frozen
        self._table: NDArray[np.int64] = np.empty(0, np.int64)

    def encode(self, columns: Sequence[Any]) -> NDArray[np.int64]:
        """The ids, shape (m, 3), or a ValueError if a row is wrong; `encode_before_problem` says which."""
        if any(column.null_count for column in columns):
            raise ValueError("null")
        are_numbers = all(is_integer(column.type) for column in columns)
        known = self._looked_up(columns) if are_numbers else None
        if known is not None:
            return known
        codes, names = _coded(columns)
        T = self._labels.encode_codes(codes, names, self._frozen)
        if are_numbers:
            self._remember(names)
        return T

    def encode_before_problem(self, columns: Sequence[Any], names: Sequence[str]) -> tuple[NDArray[np.int64], str]:
        """The ids of the rows before the first wrong one, and what is wrong with it; ``names`` are the columns'."""
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
        n_full = next((i for i, row in enumerate(rows) if None in row), len(rows))
        cells = [_name(value) for row in rows[:n_full] for value in row]
        try:
            T = self._labels.encode_cells(cells, self._frozen)
        except ValueError:
            row, problem = self._labels.first_problem(cells, self._frozen)
            return self._labels.encode_cells(cells[: 3 * row], self._frozen), problem
        place = rows[n_full].index(None)
        empty = f"is missing (null in the column {quoted(names[place])}); every answer needs three named objects."
        return T, f"the {PARTS[place]} object {empty}"

    def _looked_up(self, columns: Sequence[Any]) -> NDArray[np.int64] | None:
        """The ids from the table, or None if a number is not in it or a row repeats a number."""
        values = np.empty((len(columns[0]), 3), np.int64)
        for i, column in enumerate(columns):
            numbers = _numbers(column)
            if numbers.min() < 0 or numbers.max() >= len(self._table):
                return None
            values[:, i] = numbers
        T = self._table.take(values)
        return None if T.min() < 0 or repeated(T).any() else T

    def _remember(self, names: Sequence[str]) -> None:
        """Write the ids of numbers to the table."""
        known = {number: name for name in names if 0 <= (number := int(name)) < _LARGEST_TABLE}
        if not known:
            return
        missing = max(known) + 1 - len(self._table)
        if missing > 0:
            # At least twice as large as before, so that growing takes little time in total.
            self._table = np.append(self._table, np.full(max(missing, len(self._table)), -1))
        self._table[list(known)] = [self._labels.ids[name] for name in known.values()]


def texts(column: Any) -> list[str]:
    """The cells of a column as text; "" if a cell is empty."""
    column = _as_dictionary(column)
    known = column.dictionary.to_pylist()
    names = np.array([*("" if value is None else _name(value) for value in known), ""], np.object_)
    codes = column.indices.cast("int64").fill_null(len(known)).to_numpy(zero_copy_only=False)
    found: list[str] = names[codes].tolist()
    return found


def _coded(columns: Sequence[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """The cells, row by row, as numbers of names, which are in order of first appearance. A name may occur twice."""
    encoded = [_as_dictionary(column) for column in columns]
    starts = np.cumsum([0, *(len(column.dictionary) for column in encoded)])
    codes = np.stack([_numbers(column.indices) for column in encoded], axis=1).astype(np.int64)
    flat = (codes + starts[:3]).ravel()
    # Of several assignments to a place, the last one wins: the first cell.
    first = np.full(starts[3], len(flat))
    first[flat[::-1]] = np.arange(len(flat))[::-1]
    used = np.flatnonzero(first < len(flat))
    used = used[np.argsort(first[used])]
    rank = np.empty(starts[3], np.int64)
    rank[used] = np.arange(len(used))
    names = [""] * len(used)
    for column, start, end in zip(encoded, starts, starts[1:], strict=False):
        places = used[(used >= start) & (used < end)]
        for place, value in zip(rank[places].tolist(), column.dictionary.take(places - start).to_pylist(), strict=True):
            if value is None:
                raise ValueError("null")
            names[place] = _name(value)
    return rank[flat], names


def _as_dictionary(column: Any) -> Any:
    """The column as a DictionaryArray."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        return column
    return (column.cast(pyarrow.string()) if pyarrow.types.is_string_view(column.type) else column).dictionary_encode()


def _numbers(column: Any) -> NDArray[Any]:
    """A column of whole numbers without nulls, as an array."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _name(value: object) -> str:
    """The name of an object or a participant, as it is written in a text file."""
    return str(value).strip()

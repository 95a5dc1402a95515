"""Lists of objects in CSV, or in a text with a name on each line."""

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from erkle.files import FileError
from erkle.service.studies.complaints import nearest

__all__ = ["MEDIA", "Entry", "listed"]

MEDIA = ("image", "audio", "video")
_COLUMNS = ("name", "text", *MEDIA)


class Entry(NamedTuple):
    """An object as it was written: its name, its text and files by their kind, and the place to name in errors."""

    where: str
    name: str
    parts: dict[str, str]


def listed(file: str, data: bytes) -> list[Entry]:
    r"""The objects of a CSV with a column name, and perhaps text, image, audio and video; or a name on each line.

    >>> listed("cities.csv", b"name,image\nParis,paris.jpg\n")
    [Entry(where='cities.csv, line 2', name='Paris', parts={'image': 'paris.jpg'})]
    >>> [entry.name for entry in listed("cities.txt", b"Paris\nLyon\n")]
    ['Paris', 'Lyon']
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{file}: does not look like text (it is not UTF-8); save it as UTF-8.") from None
    head = text.partition("\n")[0].strip()
    separator = next((sign for sign in ",;\t" if "name" in _cells(head, sign)), None)
    if separator is None and any(sign in head for sign in ",;\t"):
        raise FileError(f"{file}, line 1: has several columns but none called name; add a header such as name,image.")
    return list(_lines(file, text) if separator is None else _rows(file, text, separator))


def _lines(file: str, text: str) -> Iterator[Entry]:
    for number, line in enumerate(text.splitlines(), 1):
        if name := line.strip():
            yield Entry(f"{file}, line {number}", name, {})


def _rows(file: str, text: str, separator: str) -> Iterator[Entry]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        columns = [cell.strip().lower() for cell in next(rows)]
        _check_columns(file, columns)
        for row in rows:
            where = f"{file}, line {rows.line_num}"
            if len(row) > len(columns):
                raise FileError(f"{where}: has {len(row)} columns instead of {len(columns)}; quote what has commas.")
            cells = {column: cell.strip() for column, cell in zip(columns, row, strict=False) if cell.strip()}
            if cells:
                yield Entry(where, cells.pop("name", ""), cells)
    except csv.Error as error:
        raise FileError(f"{file}, line {rows.line_num}: is no CSV ({error}); check its quotes.") from None


def _check_columns(file: str, columns: list[str]) -> None:
    for column in columns:
        if column not in _COLUMNS:
            close = nearest(column, _COLUMNS)
            remedy = f"did you mean {close}?" if close else f"those that there are are {', '.join(_COLUMNS)}."
            raise FileError(f"{file}, line 1: {column[:60]!r} is no column; {remedy}")
        if columns.count(column) > 1:
            raise FileError(f"{file}, line 1: the column {column} is there twice; keep one of them.")


def _cells(head: str, separator: str) -> list[str]:
    try:
        return [cell.strip().lower() for cell in next(csv.reader([head], delimiter=separator), [])]
    except csv.Error:
        return []

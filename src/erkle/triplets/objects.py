"""Lists of objects: one name a line, or a table with a column of names and perhaps one of ids.

The order of the file is the order of the objects, so no line between two of them is blank, and what answers
call them, their ids or else their names, comes only once.
"""

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from erkle.files import file_name, read_bytes
from erkle.triplets.decoding import BOM, BadLine, ReadError, complaint, text_of
from erkle.triplets.labels import declared_flaw, shown
from erkle.triplets.tables import ANY_SEPARATOR, possible_tables, split_cells

_COLUMNS = ("name", "label", "object")


class Objects(NamedTuple):
    """What answers call the objects, and what people do; the same where there is no column of ids."""

    ids: list[str]
    names: list[str]


def read_objects(path: str | os.PathLike[str]) -> Objects:
    r"""Read the objects, in their order.

    Parameters
    ----------
    path : path
        One name a line, or columns between commas, tabs or semicolons with a header that has a column
        ``name``, ``label`` or ``object``. A name with a separator in it stands between quotes. Where there is
        a column ``id`` too, answers are taken to speak of ids.

    Returns
    -------
    Objects
        ``ids`` and ``names``, two lists of str.

    Raises
    ------
    FileError
        For a file that cannot be opened.
    ReadError
        For a blank line, or a name or id that is missing or there twice; a kind of `FileError`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "objects.csv")
    ...     _ = path.write_text("id,name\n0,cat\n1,dog\n")
    ...     read_objects(path)
    Objects(ids=['0', '1'], names=['cat', 'dog'])
    """
    file = file_name(path)
    lines = list(_lines(path, file))
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise ReadError(f"{file}: is empty; put the name of one object on each line.")
    number = 1
    try:
        table, n_header = _detect(lines[0], PurePath(path).suffix)
        found: dict[str, int] = {}
        names = []
        for number, line in enumerate(lines[n_header:], 1 + n_header):
            key, name = table.key_and_name(line)
            if key in found:
                raise BadLine(f"{shown(key)} is on line {found[key]} already; give each object its own.")
            found[key] = number
            names.append(name)
    except BadLine as trouble:
        raise complaint(file, number, trouble) from None
    if not found:
        raise ReadError(f"{file}: has a header but no objects; add a line for each object.")
    return Objects(list(found), names)


class _Table(NamedTuple):
    """Where id and name stand; under every one of the separators a line has ``width`` cells."""

    separators: str
    width: int
    id_column: int
    name_column: int

    def key_and_name(self, line: str) -> tuple[str, str]:
        for separator in self.separators:
            cells = split_cells(line, separator)
            if len(cells) != self.width:
                raise BadLine(
                    f"has {len(cells)} columns instead of {self.width};"
                    " put quotes around a name that has a separator in it."
                )
        key, name = cells[self.id_column], cells[self.name_column]
        for word, cell in (("name", name), ("id", key)):
            flaw = declared_flaw(cell)
            if flaw:
                raise BadLine(f"the {word} {flaw}")
        return key, name


def _detect(line: str, suffix: str) -> tuple[_Table, int]:
    """The table a first line belongs to, and whether (1 or 0) it is the header."""
    tables = possible_tables(line, suffix)
    for separator, cells in tables:
        lowered = [cell.lower() for cell in cells]
        for word in _COLUMNS:
            if word in lowered:
                column = lowered.index(word)
                return _Table(separator, len(cells), lowered.index("id") if "id" in lowered else column, column), 1
    width = max(len(cells) for _, cells in tables)
    if width > 1:
        raise BadLine(
            f"has {width} columns but no header with name, label or object;"
            " add one, or put one name (between quotes, if it has a separator in it) on each line."
        )
    return _Table(ANY_SEPARATOR, 1, 0, 0), 0


def _lines(path: str | os.PathLike[str], name: str) -> Iterator[str]:
    for number, line in enumerate(read_bytes(path).removeprefix(BOM).split(b"\n"), 1):
        try:
            yield text_of(line)
        except BadLine as trouble:
            raise complaint(name, number, trouble) from None

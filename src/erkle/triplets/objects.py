"""Read lists of objects: one name per line, or a table with a column of names and optionally a column of ids.

Objects keep the order of the file. Blank lines between objects are refused, and so are duplicate ids (or duplicate
names, if there are no ids).
"""

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from erkle.files import file_name, read_bytes
from erkle.triplets.decoding import BOM, BadLine, ReadError, complaint, text_of
from erkle.triplets.labels import declared_flaw, quoted
from erkle.triplets.tables import ANY_SEPARATOR, possible_tables, split_cells

_COLUMNS = ("name", "label", "object")


class Objects(NamedTuple):
    """The ids that answers use, and the names to display. Both are the same if the file has no column of ids."""

    ids: list[str]
    names: list[str]


def read_objects(path: str | os.PathLike[str]) -> Objects:
    r"""Read a list of objects, in the order of the file.

    Parameters
    ----------
    path : path
        A file with one name per line, or a table with a header that has a column ``name``, ``label`` or ``object``.
        Columns are separated by commas, tabs or semicolons; a name that contains a separator must be in quotes. If
        the table has a column ``id``, answers refer to objects by these ids.

    Returns
    -------
    Objects
        ``ids`` and ``names``, two lists of str.

    Raises
    ------
    FileError
        If the file cannot be opened.
    ReadError
        If a line is blank, or a name or id is missing or occurs twice. It is a kind of `FileError`.

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
        raise ReadError(f"{file}: is empty; write one object per line.")
    number = 1
    try:
        table, n_header = _detect(lines[0], PurePath(path).suffix)
        found: dict[str, int] = {}
        names = []
        for number, line in enumerate(lines[n_header:], 1 + n_header):
            key, name = table.key_and_name(line)
            if key in found:
                raise BadLine(f"{quoted(key)} is already on line {found[key]}; give each object its own name or id.")
            found[key] = number
            names.append(name)
    except BadLine as problem:
        raise complaint(file, number, problem) from None
    if not found:
        raise ReadError(f"{file}: has a header but no objects; write one object per line.")
    return Objects(list(found), names)


class _Table(NamedTuple):
    """The columns of id and name. With each of the separators, a line must have ``width`` cells."""

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
                    " put quotes around a name that contains a separator."
                )
        key, name = cells[self.id_column], cells[self.name_column]
        for word, cell in (("name", name), ("id", key)):
            flaw = declared_flaw(cell)
            if flaw:
                raise BadLine(f"the {word} {flaw}")
        return key, name


def _detect(line: str, suffix: str) -> tuple[_Table, int]:
    """The form of the table according to its first line, and the number of header lines (0 or 1)."""
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
            " add a header, or write one name per line (in quotes, if it contains a separator)."
        )
    return _Table(ANY_SEPARATOR, 1, 0, 0), 0


def _lines(path: str | os.PathLike[str], name: str) -> Iterator[str]:
    for number, line in enumerate(read_bytes(path).removeprefix(BOM).split(b"\n"), 1):
        try:
            yield text_of(line)
        except BadLine as problem:
            raise complaint(name, number, problem) from None

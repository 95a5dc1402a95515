"""Formats of a line with an answer: cells between separators, or a JSON object.

A format extracts the three names from a line (`row`) or from a block of lines (`cells`). `cells` is a fast path: it
returns the cells of all lines, or None if some line must be parsed by `row`. If a further column is wanted, its cell
follows the three names.
"""

import csv
import json
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from erkle.csv_files import plain
from erkle.triplets.decoding import BadLine
from erkle.triplets.labels import PARTS, quoted
from erkle.triplets.tables import ANY_SEPARATOR, SEPARATORS, Strict, possible_tables, split_cells

SCHEMES = (PARTS, ("head", "winner", "loser"), ("a", "b", "c"))

_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_HEADER_WORDS = frozenset(("anchor", "winner", "loser"))
_ACCEPTED = " or ".join(", ".join(scheme) for scheme in SCHEMES)
_EXAMPLE = json.dumps(dict.fromkeys(PARTS, "..."))


class Delimited(NamedTuple):
    """Cells between separators.

    A line has ``width`` cells. ``columns`` holds the positions of anchor, near, far and a further column, if wanted.
    """

    separator: str
    width: int
    columns: tuple[int, ...]

    def row(self, line: str) -> list[str]:
        """The wanted cells of a line. Raise `BadLine` if it has too few or too many cells."""
        cells = split_cells(line, self.separator)
        if len(cells) != self.width:
            raise BadLine(
                f"has {len(cells)} column{'s' * (len(cells) != 1)} instead of {self.width}; complete or drop that line."
            )
        return [cells[i] for i in self.columns]

    def cells(self, block: bytes) -> list[str] | None:
        """The wanted cells of all lines in one flat list, or None if a line is blank or irregular."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if b"\0" in block or b"\r" in block:
            return None
        try:
            text = block.removesuffix(b"\n").decode()
        except UnicodeDecodeError:
            return None
        cells = self._quoted(text) if '"' in text else self._plain(text)
        if cells is not None and "'" in text:
            cells = [plain(cell).strip() for cell in cells]
        if cells is None or self.columns == tuple(range(self.width)):
            return cells
        n_wanted = len(self.columns)
        chosen = [""] * (len(cells) // self.width * n_wanted)
        for i, column in enumerate(self.columns):
            chosen[i::n_wanted] = cells[column :: self.width]
        return chosen

    def _plain(self, text: str) -> list[str] | None:
        marks = f"{text}\n".encode().translate(None, delete=_CONTENT[self.separator])
        line = self.separator.encode() * (self.width - 1) + b"\n"
        if marks != line * (len(marks) // self.width):
            return None
        cells = text.replace("\n", self.separator).split(self.separator)
        return list(map(str.strip, cells)) if " " in text else cells

    def _quoted(self, text: str) -> list[str] | None:
        lines = text.split("\n")
        try:
            rows = list(csv.reader(lines, Strict, delimiter=self.separator))
        except csv.Error:
            return None
        # There are fewer rows than lines if a quoted cell contains a line end.
        if len(rows) != len(lines) or set(map(len, rows)) != {self.width}:
            return None
        return list(map(str.strip, chain.from_iterable(rows)))


class JsonLines(NamedTuple):
    """One JSON object per line. ``keys`` are the keys of anchor, near and far; ``further`` is a further key."""

    keys: tuple[str, str, str]
    further: str | None = None

    def row(self, line: str) -> list[str]:
        """The wanted cells of a line. Raise `BadLine` if it is not an object with the keys."""
        found = _json_object(line)
        try:
            names = [_json_name(found[key], key) for key in self.keys]
        except KeyError as missing:
            raise BadLine(f"has no key {missing}; give every answer the keys {', '.join(self.keys)}.") from None
        if self.further is None:
            return names
        value = found.get(self.further)
        return [*names, "" if value is None else str(value).strip()]

    def cells(self, block: bytes) -> list[str] | None:
        """None: JSON has no fast path."""
        return None


Format = Delimited | JsonLines


def detect(line: str, suffix: str, column: str | None = None) -> tuple[Format, bool]:
    """The format of a file according to its first line that is not blank, and whether that line is a header.

    ``column`` is the further column that is wanted besides anchor, near and far.
    """
    suffix = suffix.lower()
    if suffix in _JSON_SUFFIXES or (suffix not in SEPARATORS and line.lstrip().startswith("{")):
        return _detect_json(line, column), False
    tables = possible_tables(line, suffix)
    for separator, cells in tables:
        if columns := places_of(cells, column):
            return Delimited(separator, len(cells), columns), True
    for separator, cells in tables:
        # An unknown header must not become the first answer.
        if len(cells) == 3 and not _HEADER_WORDS & {cell.lower() for cell in cells}:
            if column is not None:
                raise BadLine(
                    f"is not a header, so there is no column {quoted(column)}; add a header with {_ACCEPTED}."
                )
            return Delimited(separator, 3, (0, 1, 2)), False
    widest = max((cells for _, cells in tables), key=len)
    raise BadLine(
        f"has {_listed(widest, 'column')} and no known header; use three columns, or a header with {_ACCEPTED}."
    )


def places_of(names: Sequence[str], column: str | None, noun: str = "column") -> tuple[int, ...] | None:
    """The positions of anchor, near, far and, if one is wanted, a further column; None if no scheme is complete.

    >>> places_of(["Who", "Far", "Anchor", "Near"], "who")
    (2, 3, 1, 0)
    """
    lowered = [name.lower() for name in names]
    for scheme in SCHEMES:
        if set(scheme) <= set(lowered):
            found = tuple(_place(word, names, noun) for word in scheme)
            return found if column is None else (*found, _place(column, names, noun, taken=found))
    return None


def unknown_header(names: Sequence[str], noun: str = "column") -> BadLine:
    """The error about names of columns that include no complete scheme."""
    return BadLine(f"has {_listed(names, noun)}, wanted {_ACCEPTED}; rename the {noun}s.")


def _place(word: str, names: Sequence[str], noun: str, taken: tuple[int, ...] = ()) -> int:
    """The position of a column by its name, ignoring case. It must not be one of the positions ``taken``."""
    lowered = [name.lower() for name in names]
    if lowered.count(word.lower()) > 1:
        raise BadLine(f"names the {noun} {word} more than once; rename or remove the others.")
    if word.lower() not in lowered:
        raise BadLine(f"has no {noun} {quoted(word)}, but {_listed(names, noun)}; pass one of them.")
    place = lowered.index(word.lower())
    if place in taken:
        raise BadLine(f"uses the {noun} {quoted(word)} for the objects of the answers; pass another {noun}.")
    return place


def _detect_json(line: str, column: str | None) -> JsonLines:
    keys = list(_json_object(line))
    places = places_of(keys, column, "key")
    if places is None:
        raise unknown_header(keys, "key")
    a, b, c, *further = (keys[place] for place in places)
    return JsonLines((a, b, c), *further)


def _json_object(line: str) -> dict[str, object]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadLine(f"is not JSON ({error.msg} at column {error.colno}); write one object per line.") from None
    except (ValueError, RecursionError):
        raise BadLine("is JSON that is nested too deeply or has too long a number; write a plain object.") from None
    if not isinstance(found, dict):
        raise BadLine(f"is JSON but not an object; write it as {_EXAMPLE}.")
    return found


def _json_name(value: object, key: str) -> str:
    """The name as text. A missing value becomes "null", which `Labels` refuses."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or value != value:
        return "null"
    raise BadLine(f"has {quoted(str(value))} under {key}; use text or whole numbers as names.")


def _listed(names: Sequence[str], noun: str) -> str:
    first = ", ".join(quoted(name, 20) for name in names[:6]) + (", ..." if len(names) > 6 else "")
    return f"{len(names)} {noun}{'s' * (len(names) != 1)} ({first})"


# All bytes except the separator and the line end.
_CONTENT = {s: bytes(set(range(256)) - {ord(s), ord("\n")}) for s in ANY_SEPARATOR}

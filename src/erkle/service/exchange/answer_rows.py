"""The rows of a file of answers, CSV, TSV or JSON Lines, read one at a time.

Only columns that an import uses are kept. Lines, columns and the file have a largest size, so that memory use does not
depend on what the file contains.
"""

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple

from erkle.service.exchange.exporting import PARAMETER, PARAMETERS
from erkle.triplets import ReadError
from erkle.triplets.decoding import BOM, LONGEST_LINE, complaint
from erkle.triplets.tables import decoded, first_row, has_triples, rows_of

WHO = ("participant", "puid", "participant.id", "worker", "worker_id", "workerid", "prolific_pid")
HOW = ("strategy", "sampler", "alg_ident")
IMAGES = ("head_filename", "winner_filename", "loser_filename")
_TRIPLES = ("head", "left", "right", "winner", "loser", "center", "answer", "anchor", "near", "far", "close", *"abc")
_OTHERS = ("kind", "answered_at", "time_received", "issued_at", "response_ms", "response_time", "excluded", "position")
_USED = frozenset((*WHO, *HOW, *IMAGES, *_TRIPLES, *_OTHERS))
# Columns of JSON objects.
_OBJECTS = ("client", PARAMETERS)
_JSON = (".jsonl", ".ndjson", ".json")
# Bytes of a file.
_MOST_BYTES = 64 << 20
# Columns of a table, or keys of a JSON object.
_MOST_COLUMNS = 1000


class Row(NamedTuple):
    """A row: its line, its cells by lower-case column, and what the browser and the link of the participant said."""

    line: int
    cells: dict[str, str]
    client: dict[str, Any]
    parameters: dict[str, Any]


class AnswerRows:
    """The rows of a file; iterating again reads the file again.

    Parameters
    ----------
    file : binary file
        A file that can be read from its beginning more than once.
    name : str
        The name of the file in errors; its suffix may say that the file is JSON.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name, self._file = name, file
        if file.seek(0, io.SEEK_END) > _MOST_BYTES:
            raise ReadError(f"{name}: is larger than {_MOST_BYTES >> 20} MB; split it, or import a bundle.")
        file.seek(0)
        self._start = file.read(LONGEST_LINE)
        is_object = self._start.removeprefix(BOM).lstrip().startswith(b"{")
        self._is_json = PurePath(name).suffix.lower() in _JSON or is_object

    def __iter__(self) -> Iterator[Row]:
        return self._objects() if self._is_json else self._table()

    def _table(self) -> Iterator[Row]:
        separator, words = first_row(self._first_lines(), self.name)
        rows = rows_of(self._file, self.name, separator)
        header = ["anchor", "near", "far"]
        if len(words) != 3 or has_triples(word.lower() for word in words):
            line, header = next(rows, (1, header))
            self._check_columns(line, len(header))
        columns = _Columns.of(header)
        for line, cells in rows:
            if len(cells) != len(header):
                problem = f"has {len(cells)} cells instead of {len(header)}; correct that line."
                raise complaint(self.name, line, problem)
            yield columns.row(line, cells)

    def _objects(self) -> Iterator[Row]:
        self._file.seek(0)
        for number in count(1):
            line = self._file.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_LINE:
                raise complaint(self.name, number, f"is longer than {LONGEST_LINE:,} bytes; put each answer on a line.")
            if line.strip():
                found = _object(decoded(line, self.name))
                if found is None:
                    raise complaint(self.name, number, "is not a JSON object; put one on each line.")
                self._check_columns(number, len(found))
                yield _json_row(number, found)

    def _first_lines(self) -> bytes:
        """Return whole lines from the start of the file, if it has a line end there."""
        end = max(self._start.rfind(b"\n"), self._start.rfind(b"\r")) + 1
        return self._start[:end] or self._start

    def _check_columns(self, line: int, n_columns: int) -> None:
        if n_columns > _MOST_COLUMNS:
            problem = f"has {n_columns:,} columns; use at most {_MOST_COLUMNS:,}."
            raise complaint(self.name, line, problem)


class _Columns(NamedTuple):
    """The columns of a table that are used: their places, by lower-case name, and those of parameters by their name."""

    used: dict[str, int]
    objects: dict[str, int]
    parameters: dict[str, int]

    @classmethod
    def of(cls, header: list[str]) -> "_Columns":
        places = {column.lower(): place for place, column in enumerate(header)}
        return cls(
            {column: place for column, place in places.items() if column in _USED},
            {column: place for column, place in places.items() if column in _OBJECTS},
            {header[at][len(PARAMETER) :]: at for column, at in places.items() if column.startswith(PARAMETER)},
        )

    def row(self, line: int, cells: list[str]) -> Row:
        shown = {column: cells[place] for column, place in self.used.items()}
        objects = {column: _object(cells[place]) for column, place in self.objects.items()}
        return _row(line, shown, objects, {name: cells[place] for name, place in self.parameters.items()})


def _json_row(line: int, found: dict[str, Any]) -> Row:
    lowered = {key.lower(): value for key, value in found.items()}
    shown = {column: _text(value) for column, value in lowered.items() if column in _USED}
    objects = {column: value for column, value in lowered.items() if column in _OBJECTS}
    own = {key[len(PARAMETER) :]: _text(value) for key, value in found.items() if key.lower().startswith(PARAMETER)}
    return _row(line, shown, objects, own)


def _row(line: int, cells: dict[str, str], objects: dict[str, Any], own: dict[str, str]) -> Row:
    client, parameters = (objects.get(column) for column in _OBJECTS)
    known = parameters if isinstance(parameters, dict) else {}
    known = known | {name: text for name, text in own.items() if text}
    if not own and PARAMETERS not in objects and cells.get("puid"):
        # A file without parameters, such as Salmon's.
        known = {"puid": cells["puid"]}
    return Row(line, cells, client if isinstance(client, dict) else {}, known)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    # A list or an object is not the text of a cell.
    return str(value).lower() if isinstance(value, bool | int | float) else ""


def _object(text: str) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        return found if isinstance(found, dict) else None
    return None

"""Imports answers from files: Salmon's responses, erkle's exports, or any table with anchor, near and far.

Every row is checked before the first is imported, and errors name their line. Objects are matched by image name, by
name, or by id, whichever matches the most objects; if two match equally many, the earlier one in this list is used.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePath
from typing import Any, NamedTuple

from erkle.service.exchange.exporting import PARAMETER, PARAMETERS, plain
from erkle.service.studies.spec import StudySettings
from erkle.store import Imported, Kind, Store, Study, Transaction, limits
from erkle.triplets import ReadError
from erkle.triplets.tables import Table, decoded, first_row, has_triples, read_table, triples_of

_WHO = ("participant", "puid", "participant.id", "worker", "worker_id", "workerid", "prolific_pid")
_HOW = ("strategy", "sampler", "alg_ident")
_PARTS = ("head", "winner", "loser")
_JSON = (".jsonl", ".ndjson", ".json")
# Bytes of a file.
_MOST_BYTES = 64 << 20

Resolve = Callable[[str], int | None]


class AnswerFile(NamedTuple):
    """The answers of a file: its table, the cells of anchor, near and far, and headers by their lower-case form."""

    table: Table
    cells: list[list[str]]
    headers: dict[str, str]

    def names(self) -> list[str]:
        """Return the names of the objects for a new study: image names if there are any; numbers are sorted."""
        images = self._images()
        cells = images if images and self._one_to_one(images) else self.cells
        order = list(dict.fromkeys(cell for row in zip(*cells, strict=True) for cell in row))
        if all(cell.isdecimal() and cell.isascii() and len(cell) < 18 for cell in order):
            order.sort(key=int)
        elif cells is images and all(cell.isdecimal() for part in self.cells for cell in part):
            numbers = dict(self._pairs(images))
            order.sort(key=lambda name: int(numbers[name]))
        return order

    def rows(self, names: Sequence[str]) -> Iterator[Imported]:
        """Yield the answer of each row, for a study whose objects have these names."""
        cells, resolve = self._matched(names)
        parameters = {name: self.headers[name][len(PARAMETER) :] for name in self.headers if name.startswith(PARAMETER)}
        for row, asked in enumerate(zip(*cells, strict=True)):
            anchor, near, far = ids = [self._known(row, cell, resolve(cell)) for cell in asked]
            if len(set(ids)) < 3:
                raise self.table.complaint(row, "names an object twice; a question has three different objects.")
            # `left` is an id even if the objects are matched by image name.
            shown = {part[row]: number for part, number in zip(self.cells[1:], (near, far), strict=True)}
            left = shown.get(self._cell(row, "left"))
            given = self._how(row) | {"parameters": self._parameters(row, parameters)}
            yield Imported(self._first(row, _WHO) or "imported", anchor, near, far, left, **given)

    def _how(self, row: int) -> dict[str, Any]:
        kind = self._cell(row, "kind") or Kind.CHOSEN
        if kind not in list(Kind):
            raise self.table.complaint(row, f"has the kind {kind[:40]!r}; use one of {', '.join(Kind)}.")
        received = _micros(self._cell(row, "answered_at"))
        return {
            "kind": Kind(kind),
            "strategy": self._first(row, _HOW) or "imported",
            "response_ms": _milliseconds(self._cell(row, "response_ms"), self._cell(row, "response_time")),
            "client": _object(self._cell(row, "client")) or {},
            "answered_at": _micros(self._cell(row, "time_received")) if received is None else received,
            "issued_at": _micros(self._cell(row, "issued_at")),
            "excluded": self._cell(row, "excluded").lower() in ("true", "1"),
        }

    def _parameters(self, row: int, parameters: dict[str, str]) -> dict[str, Any]:
        own = {name: cell for column, name in parameters.items() if (cell := self._cell(row, column))}
        found = (_object(self._cell(row, PARAMETERS)) or {}) | own
        if not parameters and not found and (puid := self._cell(row, "puid")):
            return {"puid": puid}
        return found

    def _known(self, row: int, cell: str, number: int | None) -> int:
        if number is None:
            raise self.table.complaint(
                row, f"names {cell[:60]!r}, which is not in the study; correct it, or import the file as a new study."
            )
        return number

    def _matched(self, names: Sequence[str]) -> tuple[list[list[str]], Resolve]:
        known = {name.strip(): number for number, name in enumerate(names)}
        stems = {PurePath(name).stem: number for name, number in known.items()}
        by_id = {str(number): number for number in range(len(names))}
        images = self._images()
        ways: list[tuple[list[list[str]], Resolve]] = [(self.cells, known.get), (self.cells, by_id.get)]
        if images:
            ways = [(images, known.get), (images, lambda cell: stems.get(PurePath(cell).stem)), *ways]
        # `max` returns the first of equal ways. Objects that it does not match become errors in `_known`.
        return max(ways, key=lambda way: sum(way[1](cell) is not None for cell in set().union(*way[0])))

    def _images(self) -> list[list[str]]:
        """Return the image names, which Salmon writes in columns beside the ids."""
        found = [self.table.columns.get(f"{part}_filename", []) for part in _PARTS]
        return [[plain(cell) for cell in part] for part in found] if all(part and all(part) for part in found) else []

    def _pairs(self, images: list[list[str]]) -> Iterator[tuple[str, str]]:
        for names, numbers in zip(images, self.cells, strict=True):
            yield from zip(names, numbers, strict=True)

    def _one_to_one(self, images: list[list[str]]) -> bool:
        pairs = set(self._pairs(images))
        return len(pairs) == len({name for name, _ in pairs}) == len({number for _, number in pairs})

    def _first(self, row: int, names: Iterable[str]) -> str:
        return next((cell for name in names if (cell := self._cell(row, name))), "")

    def _cell(self, row: int, name: str) -> str:
        cells = self.table.columns.get(name)
        return plain(cells[row]) if cells else ""


def read_answers(data: bytes, name: str) -> AnswerFile:
    r"""Read the answers of a CSV, TSV or JSON Lines file.

    >>> given = read_answers(b"head,winner,loser,puid\n0,2,1,Ann\n", "responses.csv")
    >>> [tuple(row[:4]) for row in given.rows(["cat", "dog", "bus"])]
    [('Ann', 0, 2, 1)]
    """
    if len(data) > _MOST_BYTES:
        raise ReadError(f"{name}: is larger than {_MOST_BYTES >> 20} MB; split it, or import a bundle.")
    text = decoded(data, name)
    if PurePath(name).suffix.lower() in _JSON or text.lstrip().startswith("{"):
        table, headers = _json_table(text, name)
    else:
        table, headers = _table(data, name)
    if not has_triples(table.columns):
        raise ReadError(
            f"{name}: has the columns {' '.join(', '.join(table.columns)[:100].split())}; "
            "call three of them anchor, near, far, or head, winner, loser."
        )
    cells, _ = triples_of(table)
    return AnswerFile(table, [[plain(cell) for cell in part] for part in cells], headers)


def add_answers(store: Store, study: Study, given: AnswerFile) -> int:
    """Add all answers to a study, or none if there is an error, and return their number."""
    names = [each.name for each in store.studies.objects(study.id)]
    return store.imports.answers(study.id, list(given.rows(names)))


def study_of(store: Store, given: AnswerFile, title: str, owner: str | None = None) -> Study:
    """Create a draft of a study with the objects and answers of a file."""
    names = given.names()
    if len(names) < 3:
        raise ReadError(f"{given.table.name}: names {len(names)} objects; a study needs at least 3.")
    answers, settings = list(given.rows(names)), StudySettings().model_dump(mode="json")

    def create(transaction: Transaction) -> Study:
        study = transaction.studies.create(title, names, settings, owner)
        transaction.imports.answers(study.id, answers)
        return study

    return store.transact(create)


def _table(data: bytes, name: str) -> tuple[Table, dict[str, str]]:
    separator, words = first_row(data, name)
    if not has_triples([word.lower() for word in words]) and len(words) == 3:
        return read_table(data, name, ("anchor", "near", "far"), separator=separator), {}
    table = read_table(data, name, separator=separator)
    # The table has lower-case columns, but the names of parameters keep their case.
    return table, {word.lower(): word for word in words if word.lower() in table.columns}


def _json_table(text: str, name: str) -> tuple[Table, dict[str, str]]:
    rows: list[dict[str, str]] = []
    lines: list[int] = []
    headers: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if (found := _object(line)) is None:
            raise ReadError(f"{name}, line {number}: is not a JSON object; put one on each line.")
        headers.update((key.lower(), key) for key in found)
        rows.append({key.lower(): _text(value) for key, value in found.items()})
        lines.append(number)
    if not rows:
        raise ReadError(f"{name}: has no answers; put one JSON object on each line.")
    return Table(name, {key: [row.get(key, "") for row in rows] for key in headers}, lines), headers


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        # JSON has no protected formulas; the quote is doubled because `plain` removes one.
        return f"'{value}" if value.startswith("'") else value.strip()
    return str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def _object(cell: str) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        found = json.loads(cell)
        return found if isinstance(found, dict) else None
    return None


def _milliseconds(ms: str, seconds: str) -> int | None:
    """Return a response time in milliseconds, or None; Salmon writes -1 for unknown."""
    found = _number(ms) if ms else _number(seconds) * 1000
    return round(found) if 0 <= found <= limits.RESPONSE_MS else None


def _micros(cell: str) -> int | None:
    """Return microseconds since 1970 from seconds or from an ISO date, or None."""
    found = _number(cell)
    if math.isnan(found):
        with suppress(ValueError):
            moment = datetime.fromisoformat(cell)
            return round(moment.replace(microsecond=0).timestamp()) * 1_000_000 + moment.microsecond
    return round(found * 1e6) if 0 <= found * 1e6 <= limits.LATEST else None


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan

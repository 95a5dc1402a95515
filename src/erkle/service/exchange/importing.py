"""Imports answers from files: Salmon's responses, erkle's exports, or any table with anchor, near and far.

Every row is checked before the first is imported, and errors name their line. Objects are matched by image name, by
name, or by id, whichever matches the most objects; if two match equally many, the earlier one in this list is used.
The file is read twice, first for the names of its objects and then for the answers, and never as a whole.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePath
from typing import Any, BinaryIO

from erkle.service.exchange.answer_rows import HOW, IMAGES, WHO, AnswerRows, Row
from erkle.service.studies.spec import StudySettings
from erkle.store import Imported, Kind, Store, Study, limits
from erkle.triplets import ReadError
from erkle.triplets.decoding import BadLine, complaint
from erkle.triplets.tables import triple_of

Triple = tuple[str, str, str]
Resolve = Callable[[str], int | None]


class AnswerFile:
    """The answers of a file, and the objects that they name.

    Parameters
    ----------
    rows : AnswerRows
        The rows of the file. They are read once here, and again by `rows`.
    """

    def __init__(self, rows: AnswerRows) -> None:
        self.name, self._rows = rows.name, rows
        # The cells of anchor, near and far, in the order of their first appearance.
        self._cells: dict[str, None] = {}
        # The image names of the same objects, each with its cell, if every row has them.
        self._images: dict[str, str] | None = {}
        # Whether each image name always belongs to the same cell.
        self._unique = True
        n_rows = 0
        for n_rows, row in enumerate(rows, 1):
            if n_rows > limits.IMPORTED_ANSWERS:
                raise ReadError(f"{self.name}: has more than {limits.IMPORTED_ANSWERS:,} answers; split it.")
            self._add_objects(row)
        if n_rows == 0:
            raise ReadError(f"{self.name}: has no answers; check that it is the right file.")

    def names(self) -> list[str]:
        """Return the names of the objects for a new study: image names if there are any; numbers are sorted."""
        numbers = {cell: cell for cell in self._cells}
        if self._images and self._unique and len(self._images) == len(numbers):
            numbers = self._images
        order = list(numbers)
        if all(map(_is_number, order)):
            order.sort(key=int)
        elif all(map(_is_number, numbers.values())):
            order.sort(key=lambda name: int(numbers[name]))
        return order

    def rows(self, names: Sequence[str]) -> Iterator[Imported]:
        """Yield the answer of each row, for a study whose objects have these names."""
        by_image, resolve = self._matched(names)
        for row in self._rows:
            asked = self._triple(row)
            shown = _images_of(row) if by_image else asked
            anchor, near, far = ids = [self._known(row, cell, resolve(cell)) for cell in shown or asked]
            if len(set(ids)) < 3:
                raise self._complaint(row, "names an object twice; a question has three different objects.")
            # `left` is an id even if the objects are matched by image name.
            left = {asked[1]: near, asked[2]: far}.get(_cell(row, "left"))
            given = self._how(row) | {"client": row.client, "parameters": row.parameters}
            yield Imported(_first(row, WHO) or "imported", anchor, near, far, left, **given)

    def _add_objects(self, row: Row) -> None:
        asked, images = self._triple(row), _images_of(row)
        self._cells |= dict.fromkeys(asked)
        if images is None:
            self._images = None
        if self._images is not None:
            for image, cell in zip(images or (), asked, strict=True):
                self._unique &= self._images.setdefault(image, cell) == cell
        if len(self._cells) > limits.OBJECTS or len(self._images or ()) > limits.OBJECTS:
            raise self._complaint(row, f"names one object too many; a study has at most {limits.OBJECTS:,} objects.")

    def _triple(self, row: Row) -> Triple:
        try:
            found = triple_of(row.cells)
        except BadLine as problem:
            raise self._complaint(row, str(problem)) from None
        if found is None:
            known = ", ".join(row.cells) or "no known columns"
            raise self._complaint(
                row, f"has of the columns of an answer only {known}; use anchor, near, far, or head, winner, loser."
            )
        return found

    def _how(self, row: Row) -> dict[str, Any]:
        kind = _cell(row, "kind") or Kind.CHOSEN
        if kind not in list(Kind):
            raise self._complaint(row, f"has the kind {kind[:40]!r}; use one of {', '.join(Kind)}.")
        received = _micros(_cell(row, "answered_at"))
        return {
            "kind": Kind(kind),
            "strategy": _first(row, HOW) or "imported",
            "response_ms": _milliseconds(_cell(row, "response_ms"), _cell(row, "response_time")),
            "answered_at": _micros(_cell(row, "time_received")) if received is None else received,
            "issued_at": _micros(_cell(row, "issued_at")),
            "excluded": _cell(row, "excluded").lower() in ("true", "1"),
            "position": int(cell) if _is_number(cell := _cell(row, "position")) else None,
        }

    def _known(self, row: Row, cell: str, number: int | None) -> int:
        if number is None:
            raise self._complaint(
                row, f"names {cell[:60]!r}, which is not in the study; correct it, or import the file as a new study."
            )
        return number

    def _matched(self, names: Sequence[str]) -> tuple[bool, Resolve]:
        """Return whether objects are matched by image name, and a function that returns the id of a cell."""
        known = {name.strip(): number for number, name in enumerate(names)}
        known |= {name: number for number, name in enumerate(names)}
        stems = {PurePath(name).stem: number for name, number in known.items()}
        by_id = {str(number): number for number in range(len(names))}

        def by_name(cell: str) -> int | None:
            return known.get(cell, known.get(cell.strip()))

        ways: list[tuple[bool, Resolve]] = [(False, by_name), (False, by_id.get)]
        if self._images:
            ways = [(True, by_name), (True, lambda cell: stems.get(PurePath(cell).stem)), *ways]

        def n_matched(way: tuple[bool, Resolve]) -> int:
            by_image, resolve = way
            return sum(resolve(cell) is not None for cell in (self._images if by_image else self._cells) or ())

        # `max` returns the first of equal ways. Objects that it does not match become errors in `_known`.
        return max(ways, key=n_matched)

    def _complaint(self, row: Row, problem: str) -> ReadError:
        return complaint(self.name, row.line, problem)


def read_answers(file: BinaryIO, name: str) -> AnswerFile:
    r"""Read the answers of a CSV, TSV or JSON Lines file.

    >>> import io
    >>> given = read_answers(io.BytesIO(b"head,winner,loser,puid\n0,2,1,Ann\n"), "responses.csv")
    >>> [tuple(row[:4]) for row in given.rows(["cat", "dog", "bus"])]
    [('Ann', 0, 2, 1)]
    """
    return AnswerFile(AnswerRows(file, name))


def add_answers(store: Store, study: Study, given: AnswerFile) -> int:
    """Add all answers to a study, or none if there is an error, and return their number."""
    names = [each.name for each in store.studies.objects(study.id)]
    return store.imports.append(study.id, given.rows(names))


def study_of(store: Store, given: AnswerFile, title: str, owner: str | None = None) -> Study:
    """Create a draft of a study with the objects and answers of a file."""
    names = given.names()
    if len(names) < 3:
        raise ReadError(f"{given.name}: names {len(names)} objects; a study needs at least 3.")
    settings = StudySettings().model_dump(mode="json")
    with store.unfinished.create(title, names, settings, owner) as study:
        store.imports.append(study.id, given.rows(names))
    return study


def _images_of(row: Row) -> Triple | None:
    """Return the image names, which Salmon writes in columns beside the ids, or None if the row lacks one."""
    anchor, near, far = (row.cells.get(column, "") for column in IMAGES)
    return (anchor, near, far) if anchor and near and far else None


def _is_number(cell: str) -> bool:
    return cell.isdecimal() and cell.isascii() and len(cell) < 18


def _first(row: Row, columns: Iterable[str]) -> str:
    return next((cell for column in columns if (cell := _cell(row, column))), "")


def _cell(row: Row, column: str) -> str:
    return row.cells.get(column, "").strip()


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

"""The objects of a study: read from a list, a table or files, and shown on pages.

A table is a CSV file, or a text file with one name per line.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import BaseModel

from erkle.files import FileError, read_bytes
from erkle.service.studies import media
from erkle.service.studies.complaints import MORE, MOST, printable, remedy, shown
from erkle.service.studies.media import Prepared
from erkle.service.studies.spooled import SpooledMedia
from erkle.service.studies.uploads import LARGEST, Files
from erkle.store import Object, limits
from erkle.store.media import PARTS
from erkle.triplets.decoding import BadLine
from erkle.triplets.tables import Lines, Strict, decoded, first_row

MEDIA = ("image", "audio", "video")
COLUMNS = ("name", "text", *MEDIA)
_TABLES = (".csv", ".tsv", ".txt")
# Most bytes of all media of a study.
_MEDIA_BYTES = 512 << 20
# Most pixels of all uploaded pictures of a study: as many as all objects have if each shows the largest picture.
_PIXELS = limits.OBJECTS * media.SIDE**2


class Entry(NamedTuple):
    """An object of a list: its place for error messages, its name, and its text and files by kind."""

    where: str
    name: str
    parts: dict[str, str]


class ShownObject(BaseModel):
    """An object as a page shows it; image, thumb, audio and video are addresses of files."""

    id: int
    name: str
    text: str | None = None
    image: str | None = None
    thumb: str | None = None
    audio: str | None = None
    video: str | None = None

    @classmethod
    def of(cls, study: str, number: int, given: Object) -> "ShownObject":
        """Return the object with this number.

        >>> ShownObject.of("s", 3, Object("Oslo", {"image": "0a.webp"})).image
        '/media/s/0a.webp'
        """
        files = {part: f"/media/{study}/{given.payload[part]}" for part in PARTS if part in given.payload}
        return cls(id=number, name=given.name, text=given.payload.get("text"), **files)


class ObjectReader:
    """Collects objects, their media, and a sentence about each object that is refused.

    Parameters
    ----------
    files : Files
        The uploaded files.
    folder : path, optional
        The folder that paths in the study are relative to. Without it, they refer to ``files``.
    stored_bytes : int
        Bytes of the media that the study has already.
    """

    def __init__(self, files: Files, folder: Path | None = None, stored_bytes: int = 0) -> None:
        self._files, self._folder = files, folder
        self._named: set[str] = set()
        self.objects: list[Object] = []
        self.media = SpooledMedia()
        self.faults: list[str] = []
        self._where: dict[str, str] = {}
        self._payloads: dict[str, dict[str, str]] = {}
        self._stored_bytes, self._pixels = stored_bytes, 0

    def add_named(self, name: str | None) -> None:
        """Add the objects of a table, folder or ZIP on disk, or of the uploaded files."""
        if self._folder is None:
            self._add_sent(name)
            return
        if name is None:
            raise FileError("objects is missing; add a list of names, or the path of a CSV file, folder or ZIP.")
        path = self._folder / name
        if path.is_dir():
            self.add_files(Files.folder(path))
        elif path.suffix.lower() == ".zip" and path.is_file():
            with path.open("rb") as file:
                self.add_files(Files.sent([(path.name, file)]))
        elif path.suffix.lower() in _TABLES:
            # Paths in a table are relative to the table.
            self._folder = path.parent
            self.add_entries(_listed(path.name, read_bytes(path, LARGEST)))
        else:
            raise FileError(f"objects is {name[:100]!r}, which is not a CSV file, folder or ZIP; check the path.")

    def _add_sent(self, name: str | None) -> None:
        tables = [each for each in self._files.names if each.lower().endswith(_TABLES)]
        if name is not None and name.lower().endswith(_TABLES):
            tables = [self._found(name)]
        if len(tables) > 1:
            raise FileError(f"{tables[0]} and {tables[1]} were both uploaded; upload one list of objects.")
        if tables:
            self.add_entries(_listed(tables[0], self._files.read(tables[0])))
        else:
            self.add_files(self._files)

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Add the objects of a list, with the files that they name; stop when too many are refused."""
        for entry in entries:
            if self._has_too_many_faults():
                return
            try:
                self._add(entry.name, self.payload(entry), entry.where)
            except FileError as fault:
                self.faults.append(f"{entry.where}: {fault}")

    def payload(self, entry: Entry) -> dict[str, str]:
        """Return the text and the names of the media of an object, and keep the media."""
        payload = {"text": text} if (text := _text(entry)) else {}
        for kind in MEDIA:
            if kind in entry.parts:
                payload |= self._shown(entry.parts[kind], kind)
        return payload

    def add_rest(self) -> None:
        """Add the objects of the uploaded files that no object has named so far."""
        self._files = self._files.without(self._named)
        self._add_sent(None)

    def add_files(self, files: Files) -> None:
        """Add an object for each file name without extension: cat.jpg and cat.mp3 are one object, cat."""
        by_stem: dict[str, dict[str, str]] = {}
        for file in files.names:
            if self._has_too_many_faults():
                return
            try:
                prepared = self._prepare(file, files.read(file))
                stem = str(PurePosixPath(file).with_suffix(""))
                payload = by_stem.setdefault(stem, {})
                if payload.keys() & prepared.payload.keys():
                    raise FileError(f"{file}: {stem} already has a file of this kind; rename one of them.")
                self._keep(file, prepared)
                payload |= prepared.payload
            except FileError as fault:
                self.faults.append(str(fault))
        for stem, payload in by_stem.items():
            if self._has_too_many_faults():
                return
            try:
                self._add(PurePosixPath(stem).name, payload, stem)
            except FileError as fault:
                self.faults.append(f"{stem}: {fault}")

    def _has_too_many_faults(self) -> bool:
        """Whether so many objects were refused that reading ends; the last fault then says so."""
        if len(self.faults) == MOST:
            self.faults.append(MORE)
        return len(self.faults) > MOST

    def _add(self, name: str, payload: dict[str, str], where: str) -> None:
        if not name.strip() or len(name) > limits.OBJECT_NAME or "\0" in name:
            raise FileError(f"the name is {shown(name)}; pass a text of 1 to {limits.OBJECT_NAME:,} characters.")
        if name in self._where:
            raise FileError(f"{shown(name)} is already used ({self._where[name]}); give each object its own name.")
        if len(self.objects) >= limits.OBJECTS:
            raise FileError(f"is one object too many; use at most {limits.OBJECTS:,} objects.")
        self._where[name] = where
        self.objects.append(Object(name, dict(payload)))

    def _shown(self, path: str, kind: str) -> dict[str, str]:
        if path not in self._payloads:
            prepared = self._prepare(printable(path), self._read(path))
            self._keep(path, prepared)
            self._payloads[path] = prepared.payload
        payload = self._payloads[path]
        if kind not in payload:
            raise FileError(
                f"{printable(path)}: is {next(iter(payload))}, not {kind}; list it under {next(iter(payload))}."
            )
        return payload

    def _prepare(self, name: str, data: bytes) -> Prepared:
        # Counted before decoding, which takes long, and also for pictures that are refused later.
        self._pixels += media.n_pixels(data)
        if self._pixels > _PIXELS:
            raise FileError(f"{name}: makes the pictures larger than {_PIXELS:,} pixels in total; make them smaller.")
        return media.prepared(name, data)

    def _read(self, path: str) -> bytes:
        return self._files.read(self._found(path)) if self._folder is None else read_bytes(self._folder / path, LARGEST)

    def _found(self, name: str) -> str:
        """Return the path of an uploaded file, given its path or a unique end of it."""
        if (found := self._files.find(name)) is None:
            raise FileError(f"{printable(name)}: is not among the uploaded files; upload it as well.")
        self._named.add(found)
        return found

    def _keep(self, path: str, prepared: Prepared) -> None:
        for name, medium in prepared.media.items():
            self.media.add(name, medium)
        if self._stored_bytes + self.media.size > _MEDIA_BYTES:
            raise FileError(
                f"{printable(path)}: makes the media larger than {_MEDIA_BYTES >> 20} MB in total; make them smaller."
            )


def _text(entry: Entry) -> str:
    text = entry.parts.get("text", "")
    if len(text) > limits.MARKDOWN:
        raise FileError(f"the text has {len(text):,} characters; pass at most {limits.MARKDOWN:,}.")
    return text


def _listed(file: str, data: bytes) -> Iterator[Entry]:
    r"""Read objects from a CSV with the column name (and text, image, audio, video), or from a name on each line.

    >>> list(_listed("cities.csv", b"name,image\nParis,paris.jpg\n"))
    [Entry(where='cities.csv, line 2', name='Paris', parts={'image': 'paris.jpg'})]
    >>> [entry.name for entry in _listed("cities.txt", b"Paris\nLyon\n")]
    ['Paris', 'Lyon']
    """
    separator, header = first_row(data, file)
    columns = [cell.lower() for cell in header]
    if columns == ["name"] or (separator and "name" in columns):
        _check_columns(file, columns)
        return _rows(file, decoded(data, file), columns, separator or ",")
    if separator:
        raise FileError(f"{file}, line 1: has several columns, but none called name; add a header such as name,image.")
    # One line at a time: a list of all lines takes many times as much memory as the text.
    lines = enumerate(io.StringIO(decoded(data, file), newline=None), 1)
    return (Entry(f"{file}, line {number}", line.strip(), {}) for number, line in lines if line.strip())


def _rows(file: str, text: str, columns: list[str], separator: str) -> Iterator[Entry]:
    lines = Lines(io.StringIO(text, newline=""))
    rows = csv.reader(lines, Strict, delimiter=separator)
    try:
        # The first non-blank row is the header.
        for row in islice(filter(any, rows), 1, None):
            lines.held, where = 0, f"{file}, line {lines.number}"
            if len(row) > len(columns):
                raise FileError(
                    f"{where}: has {len(row)} columns instead of {len(columns)}; quote cells that have commas."
                )
            cells = {column: cell.strip() for column, cell in zip(columns, row, strict=False) if cell.strip()}
            if cells:
                yield Entry(where, cells.pop("name", ""), cells)
    except csv.Error as error:
        raise FileError(f"{file}, line {lines.number}: is not valid CSV ({error}); check the quotes.") from None
    except BadLine as problem:
        raise FileError(f"{file}, line {lines.number}: {problem}") from None


def _check_columns(file: str, columns: list[str]) -> None:
    for column in columns:
        if column not in COLUMNS:
            raise FileError(f"{file}, line 1: {column[:60]!r} is not a known column; {remedy(column, COLUMNS)}")
        if columns.count(column) > 1:
            raise FileError(f"{file}, line 1: the column {column} occurs twice; remove one of them.")

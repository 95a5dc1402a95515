"""The answers of a Parquet or Arrow file, or of a folder of such files, as one sequence of rows.

Files of a folder follow each other by name, and numbers in names by value: ``part-10`` comes after ``part-9``. Files
that begin with ``_`` or ``.`` are ignored, because other programs keep notes in them.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from erkle.files import file_name, unreadable
from erkle.triplets.arrow.encoding import Encoder, texts
from erkle.triplets.arrow.formats import SUFFIXES
from erkle.triplets.arrow.parts import Part
from erkle.triplets.chunks import Chunk
from erkle.triplets.decoding import ReadError
from erkle.triplets.labels import Labels, quoted


def is_arrow(path: str | os.PathLike[str]) -> bool:
    """Whether a path is read as Parquet or Arrow: by the end of its name, or because it is a folder."""
    return Path(path).suffix.lower() in SUFFIXES or Path(path).is_dir()


class ArrowAnswers:
    """The answers of a file or a folder; see `erkle.triplets.Reader`. Positions count rows."""

    def __init__(
        self, source: str | os.PathLike[str], labels: Labels, frozen: bool, name: str | None, column: str | None
    ) -> None:
        path = Path(source)
        # The path "." has no name.
        self.name = name or file_name(path.absolute())
        self._encoder = Encoder(labels, frozen)
        self._column = column
        self._is_folder = path.is_dir()
        if self._is_folder:
            files = _files(path, self.name)
            self._parts = [Part(file, f"{self.name}/{file_name(file)}", column) for file in files]
        else:
            self._parts = [Part(path, self.name, column)]
        self._check_agreement()
        self.size = sum(part.n_rows for part in self._parts)
        if not self.size:
            raise ReadError(f"{self.name}: has no answers; check that it is the right {self._word()}.")
        self._start = 0

    def __iter__(self) -> Iterator[Chunk]:
        first = 0
        for part in self._parts:
            if first + part.n_rows > self._start:
                for chunk in self._chunks(part, max(0, self._start - first)):
                    yield chunk._replace(end_offset=first + chunk.end_offset, line=first + chunk.line)
            first += part.n_rows

    def seek(self, offset: int, line: int) -> None:
        """Start at a row."""
        if offset > self.size:
            raise ReadError(
                f"{self.name}: has {self.size:,} rows and none after row {offset:,}, so the {self._word()} has changed"
                " since it was last read; start again from the beginning."
            )
        self._start = offset

    def fingerprint(self, offset: int) -> str:
        """A hash of the files up to a row. That row's file is covered as a whole, because it cannot grow."""
        digest, first = hashlib.sha256(), 0
        for part in self._parts:
            if first >= offset:
                break
            digest.update((part.path.name.encode("utf-8", "surrogateescape") if self._is_folder else b"") + b"\0")
            digest.update(part.digest)
            first += part.n_rows
        return digest.hexdigest()

    def close(self) -> None:
        """Do nothing: a file is open only while its rows are read."""

    def _chunks(self, part: Part, start: int) -> Iterator[Chunk]:
        """The answers of a file from a row on; positions count its rows."""
        for row, columns in part.batches(start):
            objects = columns[:3]
            try:
                T, problem = self._encoder.encode(objects), ""
            except ValueError:
                T, problem = self._encoder.encode_before_problem(objects, part.columns.names)
            end = row + len(T)
            if len(T):
                yield Chunk(T, end, end, () if self._column is None else texts(columns[3].slice(0, len(T))))
            if problem:
                raise ReadError(f"{part.name}, row {end}: {problem}")

    def _check_agreement(self) -> None:
        """Refuse files whose columns have other names or hold other things. A file without rows holds nothing."""
        filled = [part for part in self._parts if part.n_rows]
        for part in filled[1:]:
            if part.columns != filled[0].columns:
                raise ReadError(
                    f"{part.name}: has the columns {part.columns}, but {filled[0].name} has {filled[0].columns};"
                    " write all files with the same columns."
                )

    def _word(self) -> str:
        return "folder" if self._is_folder else "file"


def _files(folder: Path, name: str) -> list[Path]:
    """The files of a folder, in order."""
    try:
        found = sorted(folder.iterdir(), key=_by_numbers)
    except OSError as error:
        raise unreadable(name, error) from error
    files = [path for path in found if not path.name.startswith(("_", "."))]
    for path in files:
        if path.suffix.lower() not in SUFFIXES or path.is_dir():
            raise ReadError(
                f"{name}: is a folder that holds {quoted(file_name(path))}; a folder of answers has only Parquet and"
                " Arrow files, so pass the path of a file, or move the others away."
            )
    if not files:
        raise ReadError(f"{name}: is a folder without Parquet or Arrow files; pass the path of a file.")
    return files


def _by_numbers(path: Path) -> tuple[list[str | int], str]:
    """A key that sorts names by their text, and the numbers in them by value."""
    pieces = re.split(r"(\d+)", path.name)
    return [int(piece) if i % 2 else piece for i, piece in enumerate(pieces)], path.name

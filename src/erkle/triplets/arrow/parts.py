"""A Parquet or Arrow file: the columns of its answers, and its rows in batches.

Memory does not grow with the file: Parquet is read page by page, also within a row group, and Arrow batch by batch.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from erkle.arrow_files import import_pyarrow, is_integer, is_text, refusing_damage
from erkle.files import open_binary
from erkle.triplets.arrow.formats import Format, Numbered, format_of
from erkle.triplets.decoding import BadLine, ReadError
from erkle.triplets.labels import quoted
from erkle.triplets.parsing import places_of, unknown_header

# Rows in a batch.
BATCH = 1 << 16

# Bytes at the start and at the end of a file that its digest covers.
_DIGESTED = 1 << 16
_NUMBERS, _TEXT = "whole numbers", "text"


class Columns(NamedTuple):
    """The columns of anchor, near, far and a further column: their names in the file, and what they hold, in words."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(f"{name} ({kind})" for name, kind in zip(self.names, self.kinds, strict=True))


class Part:
    """A file of answers. It is open only while it is read.

    Parameters
    ----------
    path : Path
    name : str
        The name in errors.
    column : str or None
        The further column that is wanted.

    Attributes
    ----------
    columns : Columns
    n_rows : int
    """

    def __init__(self, path: Path, name: str, column: str | None) -> None:
        self.path, self.name, self._column = path, name, column
        self._pyarrow = import_pyarrow(name)
        with open_binary(path) as source, self._opened(source) as file:
            self._size, self.columns = self._described(source, file)
            self.n_rows = file.n_rows(self.columns.names)
        if self.n_rows:
            self._check_kinds()

    @cached_property
    def digest(self) -> bytes:
        """A hash of the size, the start and the end of the file, where Parquet describes all of its contents."""
        digest = hashlib.sha256()
        with open_binary(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            digest.update(b"%d " % size + file.read(_DIGESTED))
            file.seek(max(0, size - _DIGESTED))
            digest.update(file.read(_DIGESTED))
        return digest.digest()

    def batches(self, start: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield the rows from ``start`` on: the number of the first row, and the wanted columns of a batch."""
        end = start
        with open_binary(self.path) as source:
            for row, batch in self._sound(source, start):
                skipped = max(0, start - row)
                for at in range(skipped, batch.num_rows, BATCH):
                    piece = batch.slice(at, BATCH)
                    end = row + at + piece.num_rows
                    yield row + at, [piece.column(piece.schema.get_field_index(name)) for name in self.columns.names]
        if end != self.n_rows:
            raise ReadError(
                f"{self.name}: ends after {end:,} of {self.n_rows:,} rows, so it is damaged; write it again."
            )

    def _sound(self, source: BinaryIO, start: int) -> Iterator[Numbered]:
        """Yield batches with valid contents. An error of pyarrow becomes a sentence with the row."""
        with self._opened(source) as file:
            is_same = self._described(source, file) == (self._size, self.columns)
            found = file.batches(self.columns.names, start, BATCH)
        if not is_same:
            raise ReadError(f"{self.name}: has changed while it was read; start again.")
        end, batch = start, None
        while True:
            with refusing_damage(self.name, f"is damaged after row {end:,}; write it again.", ReadError):
                row, batch = next(found, (end, None))
                if batch is None:
                    return
                # Arrow files are not checked when they are read, and damaged ones could crash the process.
                batch.validate(full=True)
            yield row, batch
            end = row + batch.num_rows

    @contextmanager
    def _opened(self, source: BinaryIO) -> Iterator[Format]:
        """Read the description of the file; an error of pyarrow inside the block becomes a sentence."""
        kind = format_of(self.path)
        with refusing_damage(self.name, f"is not {kind.title} file, or is damaged; write it again.", ReadError):
            yield kind(source, self._pyarrow)

    def _described(self, source: BinaryIO, file: Format) -> tuple[int, Columns]:
        """The size of the file and its columns."""
        schema, names = file.schema, [name.strip() for name in file.schema.names]
        try:
            places = places_of(names, self._column)
            if places is None:
                raise unknown_header(names)
        except BadLine as problem:
            raise ReadError(f"{self.name}: {problem}") from None
        fields = [schema.field(place) for place in places]
        columns = Columns(tuple(field.name for field in fields), tuple(_in_words(field.type) for field in fields))
        return os.fstat(source.fileno()).st_size, columns

    def _check_kinds(self) -> None:
        for name, kind in zip(*self.columns, strict=True):
            if kind not in (_NUMBERS, _TEXT):
                raise ReadError(f"{self.name}: the column {quoted(name)} holds {kind}; write text or whole numbers.")


def _in_words(kind: Any) -> str:
    """What a column holds; the name of the type if that cannot name objects."""
    return _NUMBERS if is_integer(kind) else _TEXT if is_text(kind) else str(kind)

"""Answers in text: lines of a file or a pipe.

A file that is read at once and a pipe that is read line by line give the same answers, the same ids and the same error.
"""

import hashlib
import io
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePath

from erkle.files import file_name, open_binary
from erkle.triplets.chunks import Chunk
from erkle.triplets.decoding import BOM, LONGEST_LINE, BadLine, ReadError, Source, blocks, complaint, size_of, text_of
from erkle.triplets.labels import Labels
from erkle.triplets.parsing import Format, detect

# How Parquet and Arrow files begin.
_TABLES = (b"PAR1\x15", b"ARROW1\0\0")
# Bytes at the start of a file, and before a position in it, that a fingerprint covers.
_FINGERPRINTED = 1 << 16


class TextAnswers:
    """The answers of a file or a pipe with one answer per line; see `erkle.triplets.Reader`."""

    def __init__(self, source: Source, labels: Labels, frozen: bool, name: str | None, column: str | None) -> None:
        self._labels, self._frozen, self._column = labels, frozen, column
        self._is_owner = isinstance(source, str | os.PathLike)
        self._stream = open_binary(source) if isinstance(source, str | os.PathLike) else source
        path = source if self._is_owner else getattr(source, "name", None)
        # The name of a pipe's stream may be a number.
        self._path = PurePath(path if isinstance(path, str | os.PathLike) else "answers")
        self.name = name or file_name(self._path)
        self.size = size_of(self._stream)
        self._origin = 0 if self.size is None else self._stream.tell()
        self._blocks = blocks(self._stream, self.name)
        self._begun = b""  # the rest of the block that held the header
        self._format: Format | None = None
        self._offset = self._line = 0
        self._has_answers = False

    def __iter__(self) -> Iterator[Chunk]:
        form = self._start()
        for block in chain((self._begun,), self._blocks):
            for chunk in self._take(block, form):
                self._has_answers = True
                yield chunk
        if not self._has_answers:
            raise ReadError(f"{self.name}: has a header but no answers; write one answer per line.")

    def seek(self, offset: int, line: int) -> None:
        """Start at an earlier position, which must be the end of a line."""
        if self.size is None:
            raise ReadError(f"{self.name}: is a pipe, which cannot be resumed; write the answers to a file.")
        self._start()
        if offset <= self._offset:
            return
        self._stream.seek(self._origin + offset - 1)
        around = self._stream.read(2)
        if offset > self.size or (b"\n" not in around and len(around) == 2):
            raise ReadError(
                f"{self.name}: has no line end before byte {offset}, so the file has changed since it was last read;"
                " start again from the beginning."
            )
        self._stream.seek(self._origin + offset)
        self._blocks, self._begun = blocks(self._stream, self.name), b""
        # The last line may have got its line end since then. The rest of it still belongs to that line.
        self._offset, self._line = offset, line - (around[:1] != b"\n" and len(around) == 2)
        self._has_answers = True

    def fingerprint(self, offset: int) -> str:
        """A hash of the start of the file and of the bytes before the offset."""
        if self.size is None or not self._is_owner:
            raise ReadError(f"{self.name}: was opened elsewhere, so it cannot be read again; pass a path.")
        digest = hashlib.sha256()
        with open_binary(self._path) as file:
            digest.update(file.read(min(_FINGERPRINTED, offset)))
            file.seek(max(0, offset - _FINGERPRINTED))
            digest.update(file.read(min(_FINGERPRINTED, offset)))
        return digest.hexdigest()

    def close(self) -> None:
        """Close the file, if it was opened from a path."""
        if self._is_owner:
            self._stream.close()

    def _start(self) -> Format:
        """Detect the format from the first line that is not blank, and skip a header."""
        while self._format is None:
            block = next(self._blocks, b"")
            if not block:
                raise ReadError(f"{self.name}: is empty; write one answer per line.")
            if self._offset == 0 and block.startswith(_TABLES):
                raise ReadError(
                    f"{self.name}: is a Parquet or Arrow file; pass its path, which must end in .parquet or .arrow."
                )
            at = len(BOM) if self._offset == 0 and block.startswith(BOM) else 0
            self._offset += at
            while at < len(block) and self._format is None:
                end = block.find(b"\n", at) + 1 or len(block)
                if self._is_skipped(block[at:end]):
                    self._offset, self._line, at = self._offset + end - at, self._line + 1, end
            self._begun = block[at:]
        return self._format

    def _is_skipped(self, line: bytes) -> bool:
        """Whether a line is blank or a header. Sets the format, unless the line is blank."""
        try:
            text = text_of(line)
            if not text or text.isspace():
                return True
            self._format, is_header = detect(text, self._path.suffix, self._column)
            return is_header
        except BadLine as problem:
            raise complaint(self.name, self._line + 1, problem) from None

    def _take(self, block: bytes, form: Format) -> Iterator[Chunk]:
        cells = form.cells(block) if len(block) <= LONGEST_LINE else None
        column = self._take_column(cells or [])
        try:
            triplets = self._labels.encode_cells(cells or [], self._frozen)
        except ValueError:
            cells = None
        if cells is None:
            yield from self._take_by_line(block, form)
        elif cells:
            self._offset += len(block)
            self._line += block.count(b"\n") + (not block.endswith(b"\n"))
            yield Chunk(triplets, self._offset, self._line, column)

    def _take_column(self, cells: list[str]) -> list[str]:
        """Remove the cells of the further column from the list, and return them."""
        if self._column is None:
            return []
        column = cells[3::4]
        del cells[3::4]
        return column

    def _take_by_line(self, block: bytes, form: Format) -> Iterator[Chunk]:
        cells, ends, error = self._parse(block, form)
        column = self._take_column(cells)
        try:
            triplets = self._labels.encode_cells(cells, self._frozen)
        except ValueError:
            row, problem = self._labels.first_problem(cells, self._frozen)
            error = complaint(self.name, ends[row][1], problem)
            triplets = self._labels.encode_cells(cells[: 3 * row], self._frozen)
        if len(triplets):
            yield Chunk(triplets, *ends[len(triplets) - 1], column[: len(triplets)])
        if error:
            raise error

    def _parse(self, block: bytes, form: Format) -> tuple[list[str], list[tuple[int, int]], ReadError | None]:
        """The cells of the lines before the first wrong one, the position after each line, and the error."""
        cells: list[str] = []
        ends: list[tuple[int, int]] = []
        for line in io.BytesIO(block):
            self._offset += len(line)
            self._line += 1
            try:
                text = text_of(line)
                if text and not text.isspace():
                    cells += form.row(text)
                    ends.append((self._offset, self._line))
            except BadLine as problem:
                return cells, ends, complaint(self.name, self._line, problem)
        return cells, ends, None

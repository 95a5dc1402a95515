"""Read files and pipes of answers in bounded memory.

A file that is read at once and a pipe that is read line by line give the same answers, the same ids and the same error.
All answers before a wrong line are delivered before the error is raised.
"""

import io
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.files import file_name, open_binary
from erkle.triplets.decoding import BOM, LONGEST_LINE, BadLine, ReadError, Source, blocks, complaint, size_of, text_of
from erkle.triplets.labels import Labels
from erkle.triplets.parsing import Format, detect


class Answers(NamedTuple):
    """The answers of a whole file, shape (m, 3), and the names of the objects."""

    triplets: NDArray[np.int64]
    labels: Labels


class Chunk(NamedTuple):
    """Answers from a piece of a file, shape (m, 3), and the position (byte, line) after them.

    ``column`` holds one cell per answer of the further column, if the reader was given one. Otherwise it is empty.
    """

    triplets: NDArray[np.int64]
    end_offset: int
    line: int
    column: Sequence[str] = ()


def read(source: Source, labels: Labels | None = None, frozen: bool = False) -> Answers:
    r"""Read a whole file of answers.

    Parameters
    ----------
    source : path or binary file
        See `Reader` for the accepted formats.
    labels : Labels, optional
        Known names. New names in the file are added to them.
    frozen : bool
        Refuse names that are not in ``labels``.

    Returns
    -------
    Answers
        ``triplets`` of shape (m, 3) and ``labels``.

    Examples
    --------
    >>> triplets, labels = read(io.BytesIO(b"anchor,near,far\ncat,dog,bus\nbus,tram,cat\n"))
    >>> triplets
    array([[0, 1, 2],
           [2, 3, 0]])
    >>> labels.names
    ['cat', 'dog', 'bus', 'tram']
    """
    with Reader(source, labels, frozen) as reader:
        triplets = [chunk.triplets for chunk in reader]
        return Answers(np.concatenate(triplets), reader.labels)


class Reader:
    r"""Iterate over the answers of a file or pipe in chunks, in one pass.

    Each line holds one answer: three cells separated by commas, tabs or semicolons, or a JSON object. The first line
    may be a header that names the columns anchor, near, far, or head, winner, loser, or a, b, c, in any order and
    ignoring case. Further columns are ignored. Without a header, the three columns are anchor, near, far. Objects are
    names, even
    if they look like numbers. The text is UTF-8. Blank lines are skipped.

    Parameters
    ----------
    source : path or binary file
        A pipe is read as its lines arrive. A regular file is read in blocks of 256 KiB.
    labels : Labels, optional
        Known names. New names in the file are added to them.
    frozen : bool
        Refuse names that are not in ``labels``.
    name : str, optional
        The name of the source in errors. The default is the file name.
    column : str, optional
        A further column to read, for example the participants. It needs a header, or JSON.

    Attributes
    ----------
    labels : Labels
    size : int or None
        The size of a regular file in bytes; None for a pipe.

    Raises
    ------
    FileError
        If the file cannot be opened or read.
    ReadError
        During iteration, if the contents of the file are wrong. It is a kind of `FileError`.

    Examples
    --------
    >>> for chunk in Reader(io.BytesIO(b"cat,dog,bus\nbus,tram,cat\n")):
    ...     print(chunk.triplets.tolist(), chunk.end_offset, chunk.line)
    [[0, 1, 2], [2, 3, 0]] 25 2
    """

    def __init__(
        self,
        source: Source,
        labels: Labels | None = None,
        frozen: bool = False,
        name: str | None = None,
        column: str | None = None,
    ) -> None:
        self.labels = Labels() if labels is None else labels
        self.frozen = frozen
        self.column = column
        self._is_owner = isinstance(source, str | os.PathLike)
        self._stream = open_binary(source) if isinstance(source, str | os.PathLike) else source
        path = source if self._is_owner else getattr(source, "name", None)
        # The name of a pipe's stream may be a number.
        file = PurePath(path if isinstance(path, str | os.PathLike) else "answers")
        self.name = name or file_name(file)
        self.size = size_of(self._stream)
        self._suffix = file.suffix
        self._origin = 0 if self.size is None else self._stream.tell()
        self._blocks = blocks(self._stream, self.name)
        self._begun = b""  # the rest of the block that held the header
        self._format: Format | None = None
        self._offset = self._line = 0
        self._is_iterated = self._has_answers = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Chunk]:
        self._claim()
        self._is_iterated = True
        try:
            form = self._start()
            for block in chain((self._begun,), self._blocks):
                for chunk in self._take(block, form):
                    self._has_answers = True
                    yield chunk
            if not self._has_answers:
                raise ReadError(f"{self.name}: has a header but no answers; write one answer per line.")
        finally:
            self.close()

    def seek(self, offset: int, line: int) -> None:
        """Start at an earlier position. Call it before the iteration.

        Parameters
        ----------
        offset, line : int
            ``end_offset`` and ``line`` of the last chunk that was used.
        """
        self._claim()
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

    def close(self) -> None:
        """Close the file, if the reader opened it."""
        if self._is_owner:
            self._stream.close()

    def _claim(self) -> None:
        if self._is_iterated:
            raise ReadError(f"{self.name}: was already iterated over; make a new Reader for another pass.")

    def _start(self) -> Format:
        """Detect the format from the first line that is not blank, and skip a header."""
        while self._format is None:
            block = next(self._blocks, b"")
            if not block:
                raise ReadError(f"{self.name}: is empty; write one answer per line.")
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
            self._format, is_header = detect(text, self._suffix, self.column)
            return is_header
        except BadLine as problem:
            raise complaint(self.name, self._line + 1, problem) from None

    def _take(self, block: bytes, form: Format) -> Iterator[Chunk]:
        cells = form.cells(block) if len(block) <= LONGEST_LINE else None
        column = self._take_column(cells or [])
        try:
            triplets = self.labels.encode_cells(cells or [], self.frozen)
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
        if self.column is None:
            return []
        column = cells[3::4]
        del cells[3::4]
        return column

    def _take_by_line(self, block: bytes, form: Format) -> Iterator[Chunk]:
        cells, ends, error = self._parse(block, form)
        column = self._take_column(cells)
        try:
            triplets = self.labels.encode_cells(cells, self.frozen)
        except ValueError:
            row, problem = self.labels.first_problem(cells, self.frozen)
            error = complaint(self.name, ends[row][1], problem)
            triplets = self.labels.encode_cells(cells[: 3 * row], self.frozen)
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

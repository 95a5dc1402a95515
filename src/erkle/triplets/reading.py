"""Files and pipes of answers, read in bounded memory.

The answers delivered, their ids and the error at the end, if any, are the same however the bytes arrive: a
file at once, a pipe line by line. Every answer before a wrong line is delivered before the error is raised.
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
    """A whole file: its answers, shape (m, 3), and the names of their ids."""

    triplets: NDArray[np.int64]
    labels: Labels


class Chunk(NamedTuple):
    """A piece of a file: answers, shape (m, 3), and the position (byte, line) just behind them.

    ``column`` holds the cells of the further column that was asked for, one an answer, and is empty otherwise.
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
        See `Reader` for the forms it may have.
    labels : Labels, optional
        Names known already; those of the file are added to them.
    frozen : bool
        Refuse names that ``labels`` does not have.

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
    r"""The answers of a file or pipe, chunk by chunk, in one pass.

    A line is an answer: three cells between commas, tabs or semicolons, or a JSON object. The first line may
    be a header that names the columns anchor, near, far, or head, winner, loser, or a, b, c, in any case and
    order; further columns are ignored. Without a header the three columns are anchor, near, far. Objects
    are names, also where they are numbers. Text is UTF-8; blank lines are skipped.

    Parameters
    ----------
    source : path or binary file
        A pipe is read as its lines arrive, a regular file in blocks of a quarter of a megabyte.
    labels : Labels, optional
        Names known already; those met are added to them.
    frozen : bool
        Refuse names that ``labels`` does not have.
    name : str, optional
        What errors call the source, by default its file name.
    column : str, optional
        A further column for every chunk, such as that of the participants; it needs a header, or JSON.

    Attributes
    ----------
    labels : Labels
    size : int or None
        Bytes in a regular file, None for a pipe.

    Raises
    ------
    FileError
        For a file that cannot be opened, or that the disk does not give back.
    ReadError
        While iterating, for anything that is wrong with what the file holds; a kind of `FileError`.

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
        self._begun = b""  # what came with the header's block
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
                raise ReadError(f"{self.name}: has a header but no answers; add a line for each answer.")
        finally:
            self.close()

    def seek(self, offset: int, line: int) -> None:
        """Start at a position stored earlier, before the first chunk is asked for.

        Parameters
        ----------
        offset, line : int
            ``end_offset`` and ``line`` of the last chunk already used.
        """
        self._claim()
        if self.size is None:
            raise ReadError(f"{self.name}: is a pipe, which cannot be resumed; put the answers into a file.")
        self._start()
        if offset <= self._offset:
            return
        self._stream.seek(self._origin + offset - 1)
        around = self._stream.read(2)
        if offset > self.size or (b"\n" not in around and len(around) == 2):
            raise ReadError(
                f"{self.name}: byte {offset} does not follow a whole line, so the file was changed since"
                " it was last read; start again from its beginning."
            )
        self._stream.seek(self._origin + offset)
        self._blocks, self._begun = blocks(self._stream, self.name), b""
        # A last line that had no line end then may have one now: its remainder is still that line.
        self._offset, self._line = offset, line - (around[:1] != b"\n" and len(around) == 2)
        self._has_answers = True

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._is_owner:
            self._stream.close()

    def _claim(self) -> None:
        if self._is_iterated:
            raise ReadError(f"{self.name}: is being read already; make a new Reader for another pass.")

    def _start(self) -> Format:
        """Find the format on the first line with anything in it, and step over a header."""
        while self._format is None:
            block = next(self._blocks, b"")
            if not block:
                raise ReadError(f"{self.name}: is empty; put one answer on each line.")
            at = len(BOM) if self._offset == 0 and block.startswith(BOM) else 0
            self._offset += at
            while at < len(block) and self._format is None:
                end = block.find(b"\n", at) + 1 or len(block)
                if self._is_passed(block[at:end]):
                    self._offset, self._line, at = self._offset + end - at, self._line + 1, end
            self._begun = block[at:]
        return self._format

    def _is_passed(self, line: bytes) -> bool:
        """Whether a line at the start is blank or the header; the format is known unless it is blank."""
        try:
            text = text_of(line)
            if not text or text.isspace():
                return True
            self._format, is_header = detect(text, self._suffix, self.column)
            return is_header
        except BadLine as trouble:
            raise complaint(self.name, self._line + 1, trouble) from None

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
        """Take the cells of the further column out of the others."""
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
            row, trouble = self.labels.first_trouble(cells, self.frozen)
            error = complaint(self.name, ends[row][1], trouble)
            triplets = self.labels.encode_cells(cells[: 3 * row], self.frozen)
        if len(triplets):
            yield Chunk(triplets, *ends[len(triplets) - 1], column[: len(triplets)])
        if error:
            raise error

    def _parse(self, block: bytes, form: Format) -> tuple[list[str], list[tuple[int, int]], ReadError | None]:
        """Names of the lines before the first wrong one, the position behind each, and the error."""
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
            except BadLine as trouble:
                return cells, ends, complaint(self.name, self._line, trouble)
        return cells, ends, None

"""Chunks of answers, and what every answer file can do, whatever its format.

An answer file yields its answers in chunks, in order. Reading can start after any chunk, and a fingerprint tells
whether another file has the same answers up to a position. Positions count bytes in text, and rows in tables.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Chunk(NamedTuple):
    """Answers from a piece of a file, shape (m, 3), and the position after them: byte and line.

    In a Parquet or Arrow file, both numbers count rows. ``column`` holds one cell per answer of the further column, if
    the reader was given one. Otherwise it is empty.
    """

    triplets: NDArray[np.int64]
    end_offset: int
    line: int
    column: Sequence[str] = ()


class AnswerFile(Protocol):
    """An open file of answers. It is iterated over at most once."""

    @property
    def name(self) -> str:
        """The name in errors."""

    @property
    def size(self) -> int | None:
        """The position of the end; None for a pipe."""

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the answers. All answers before an error are yielded before it is raised."""

    def seek(self, offset: int, line: int) -> None:
        """Start at the end of an earlier chunk."""

    def fingerprint(self, offset: int) -> str:
        """A hash of the answers up to a position, from parts of the file."""

    def close(self) -> None:
        """Close the file, if it was opened from a path."""

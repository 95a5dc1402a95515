"""Read files, folders and pipes of answers in bounded memory.

The same answers give the same rows and the same names in every format, and however they arrive: at once, line by line,
or in several files. All answers before a wrong one are delivered before the error is raised.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.triplets.arrow import ArrowAnswers, is_arrow
from erkle.triplets.chunks import AnswerFile, Chunk
from erkle.triplets.decoding import ReadError, Source
from erkle.triplets.labels import Labels
from erkle.triplets.text_answers import TextAnswers


class Answers(NamedTuple):
    """The answers of a whole file, shape (m, 3), and the names of the objects."""

    triplets: NDArray[np.int64]
    labels: Labels


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
    >>> import io
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
    r"""Iterate over the answers of a file, a folder or a pipe in chunks, in one pass.

    In text, each line holds one answer: three cells separated by commas, tabs or semicolons, or a JSON object. The
    first line may be a header that names the columns anchor, near, far, or head, winner, loser, or a, b, c, in any
    order and ignoring case. Further columns are ignored. Without a header, the three columns are anchor, near, far. The
    text is UTF-8. Blank lines are skipped.

    Parquet and Arrow files have the same columns, of text or of whole numbers. A folder of such files is read as one
    file, in the order of their names.

    Objects are names, even if they look like numbers: 7 in a Parquet file and "7" in text are the same object.

    Parameters
    ----------
    source : path or binary file
        A pipe is read as its lines arrive. A text file is read in blocks of 256 KiB, and a Parquet file in batches of
        65,536 rows. Parquet and Arrow files are recognised by the ends of their names: .parquet, .parq or .pq, and
        .arrow, .feather or .ipc.
    labels : Labels, optional
        Known names. New names in the file are added to them.
    frozen : bool
        Refuse names that are not in ``labels``.
    name : str, optional
        The name of the source in errors. The default is the file name.
    column : str, optional
        A further column to read, for example the participants. It needs a header, or JSON, or Parquet.

    Attributes
    ----------
    labels : Labels
    size : int or None
        The size of a text file in bytes, or that of a Parquet file in rows; None for a pipe.

    Raises
    ------
    FileError
        If the file cannot be opened or read.
    ReadError
        If the contents of the file are wrong: during iteration, or at once if it is not a Parquet file or has other
        columns. It is a kind of `FileError`.
    ImportError
        If a Parquet or Arrow file is opened and pyarrow is not installed.

    Examples
    --------
    >>> import io
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
        self._file: AnswerFile
        if isinstance(source, str | os.PathLike) and is_arrow(source):
            self._file = ArrowAnswers(source, self.labels, frozen, name, column)
        else:
            self._file = TextAnswers(source, self.labels, frozen, name, column)
        self.name, self.size = self._file.name, self._file.size
        self._is_iterated = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Chunk]:
        self._claim()
        self._is_iterated = True
        try:
            yield from self._file
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
        self._file.seek(offset, line)

    def fingerprint(self, offset: int) -> str:
        """A hash of the answers up to a position, to notice that a file is another one or has changed.

        It covers parts of the file, so it takes little time.

        Parameters
        ----------
        offset : int
            ``end_offset`` of a chunk, or ``size``.
        """
        return self._file.fingerprint(offset)

    def close(self) -> None:
        """Close the file, if the reader opened it."""
        self._file.close()

    def _claim(self) -> None:
        if self._is_iterated:
            raise ReadError(f"{self.name}: was already iterated over; make a new Reader for another pass.")

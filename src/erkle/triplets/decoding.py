"""Bytes in, whole lines of text out, in bounded memory and as soon as they arrive.

A complaint about a file is a `ReadError` and one sentence that begins with the file's name and the line.
Nothing here depends on how the bytes were cut into pieces on their way.
"""

import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

from erkle.files import FileError, unreadable

# The cells of a block stay in the cache: with blocks of a megabyte reading takes four times as long.
BLOCK = 1 << 18
LONGEST_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"

Source = str | os.PathLike[str] | BinaryIO


class ReadError(FileError):
    """A file of answers or a table that cannot be understood; the text says where, why and what to do.

    Examples
    --------
    >>> raise ReadError("answers.csv, line 17: has 2 columns instead of 3; complete or drop that line.")
    Traceback (most recent call last):
    erkle.triplets.decoding.ReadError: answers.csv, line 17: has 2 columns instead of 3; ...
    """


class BadLine(ValueError):
    """What is wrong with a line, said by someone who does not know where the line stands."""


def complaint(name: str, line: int, trouble: object) -> ReadError:
    """The error about one line of a file."""
    return ReadError(f"{name}, line {line}: {trouble}")


def size_of(stream: BinaryIO) -> int | None:
    """Bytes in a regular file; None for a pipe, a terminal or a stream in memory."""
    try:
        status = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield runs of whole lines; only the last may lack its line end.

    A line longer than `LONGEST_LINE` is yielded unfinished, for `text_of` to refuse.
    """
    _refuse_nonblocking(stream, name)
    # A buffered stream's read waits until the block is full; its read1 returns what a pipe has.
    read: Callable[[int], bytes] = getattr(stream, "read1", None) or stream.read
    held: list[bytes] = []
    n_held = 0
    while data := _fetch(read, name):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((*held, data[:cut]))
            held, n_held = [], 0
        held.append(data[cut:])
        n_held += len(data) - cut
        if n_held > LONGEST_LINE:
            yield b"".join(held)
            held, n_held = [], 0
    if n_held:
        yield b"".join(held)


def text_of(line: bytes) -> str:
    """Decode one line, without its line end; `BadLine` when it is not text."""
    line = line.removesuffix(b"\n")
    if len(line) > LONGEST_LINE:
        raise BadLine("is longer than a million bytes; put every answer on a line of its own.")
    if b"\0" in line:
        raise BadLine("does not look like text (it has a NUL byte); save the file as UTF-8 text.")
    line = line.removesuffix(b"\r")
    if b"\r" in line:
        raise BadLine("has a carriage return inside; save the file with ordinary line ends.")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise BadLine("does not look like text (it is not UTF-8); save the file as UTF-8 text.") from None


def _refuse_nonblocking(stream: BinaryIO, name: str) -> None:
    try:
        is_blocking = os.get_blocking(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return
    if not is_blocking:
        # Its read1 returns nothing both when nothing has come yet and when all has come.
        raise ReadError(f"{name}: is open in non-blocking mode; open it so that reading waits for answers.")


def _fetch(read: Callable[[int], bytes], name: str) -> bytes:
    try:
        data = read(BLOCK)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error
    if isinstance(data, str):
        raise ReadError(f"{name}: is open as text, but bytes are wanted; open it in mode 'rb'.")
    return data

"""Read lines of text from a stream of bytes, in bounded memory and as soon as they arrive.

An error about a file is a `ReadError` that starts with the file's name and the line. The result does not depend on how
the stream splits the bytes into pieces.
"""

import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

from erkle.files import FileError, unreadable

# Bytes read at once. The cells of such a block fit in the processor's cache; 1 MiB takes four times as long.
BLOCK = 1 << 18
# Longest line in bytes.
LONGEST_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"

Source = str | os.PathLike[str] | BinaryIO


class ReadError(FileError):
    """A file of answers or a table cannot be read. The message says where, why and what to do.

    Examples
    --------
    >>> raise ReadError("answers.csv, line 17: has 2 columns instead of 3; complete or drop that line.")
    Traceback (most recent call last):
    erkle.triplets.decoding.ReadError: answers.csv, line 17: has 2 columns instead of 3; ...
    """


class BadLine(ValueError):
    """The problem with a line, without the file's name and the line number. `complaint` adds them."""


def complaint(name: str, line: int, problem: object) -> ReadError:
    """The error about a line of a file."""
    return ReadError(f"{name}, line {line}: {problem}")


def size_of(stream: BinaryIO) -> int | None:
    """The size of a regular file in bytes; None for a pipe, a terminal or a stream in memory."""
    try:
        status = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield blocks of whole lines. Only the last line of the stream may lack its line end.

    A line longer than `LONGEST_LINE` is yielded in part; `text_of` refuses it.
    """
    _refuse_nonblocking(stream, name)
    # `read` of a buffered stream waits until the block is full. `read1` returns what the pipe already has.
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
    """Decode a line, without its line end. Raise `BadLine` if it is not text."""
    line = line.removesuffix(b"\n")
    if len(line) > LONGEST_LINE:
        raise BadLine(f"is longer than {LONGEST_LINE:,} bytes; put each answer on its own line.")
    if b"\0" in line:
        raise BadLine("is not text (it has a NUL byte); save the file as UTF-8 text.")
    line = line.removesuffix(b"\r")
    if b"\r" in line:
        raise BadLine("contains a carriage return; save the file with line ends LF or CRLF.")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise BadLine("is not UTF-8 text; save the file as UTF-8.") from None


def _refuse_nonblocking(stream: BinaryIO, name: str) -> None:
    try:
        is_blocking = os.get_blocking(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return
    if not is_blocking:
        # Its `read1` returns nothing both before the first answer and after the last one.
        raise ReadError(f"{name}: is in non-blocking mode; open it in blocking mode.")


def _fetch(read: Callable[[int], bytes], name: str) -> bytes:
    try:
        data = read(BLOCK)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error
    if isinstance(data, str):
        raise ReadError(f"{name}: is open in text mode; open it in mode 'rb'.")
    return data

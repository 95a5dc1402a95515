"""Parquet and Arrow files, which need pyarrow: an optional dependency, imported only when such a file is opened.

A missing pyarrow and a damaged file are sentences.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from erkle.files import FileError, unreadable


def import_pyarrow(file: str) -> Any:
    """The module pyarrow, with what reads files; an ImportError that names the file if it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f"{file}: needs pyarrow; install it with: pip install 'erkle[parquet]'") from None
    return pyarrow


@contextmanager
def refusing_damage(file: str, problem: str, kind: type[FileError] = FileError) -> Iterator[None]:
    """Turn errors of pyarrow inside the block into a sentence about the file."""
    try:
        yield
    except FileError:
        raise
    except MemoryError:
        raise kind(f"{file}: does not fit in memory, or is damaged.") from None
    # A damaged file can raise ArrowException, OSError, ValueError and more. Only an error of the disk has a number.
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise unreadable(file, error) from error
        raise kind(f"{file}: {problem}") from error


def is_text(kind: Any) -> bool:
    """Whether a type of pyarrow holds text, also by numbers of a dictionary."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_integer(kind: Any) -> bool:
    """Whether a type of pyarrow holds whole numbers, also by numbers of a dictionary."""
    import pyarrow

    types = pyarrow.types
    return bool(types.is_integer(kind.value_type if types.is_dictionary(kind) else kind))

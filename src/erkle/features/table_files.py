"""Read tables of features from text (CSV, TSV) and Parquet files: a column of names, and columns of numbers."""

import math
import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from erkle.features.array_files import check_size
from erkle.files import FileError, open_binary
from erkle.triplets.decoding import LONGEST_LINE, complaint
from erkle.triplets.tables import first_row, has_triples, rows_of

Floats = NDArray[np.float64]
Pathlike = str | os.PathLike[str]

# Names of columns that hold names, the best one first. Without any, the first column holds them. The last one is what
# pandas calls an index without a name.
_NAME_COLUMNS = ("name", "label", "object", "id", "__index_level_0__")
# Cells that stand for a missing number.
_MISSING = ("", "nan", "na", "null", "none")


def read_text(source: BinaryIO, file: str, most: float = math.inf) -> tuple[Floats, list[str]]:
    """The numbers and the names of a table with a header, separated by commas, semicolons or tabs.

    ``most`` is the largest number of values.
    """
    rows = _rows(source, file)
    line, header = next(rows, (0, []))
    if not header:
        raise FileError(f"{file}: is empty; check that it is the right file.")
    if _is_data(header):
        raise complaint(file, line, "has numbers where the names of columns belong; add a header: name,x1,x2,...")
    key, others = _roles(header, file)
    names, vectors = [], []
    for line, cells in rows:
        if len(cells) != len(header):
            raise complaint(file, line, f"has {len(cells)} cells instead of {len(header)}; correct that line.")
        names.append(cells[key])
        vectors.append(_numbers([cells[i] for i in others], [header[i] for i in others], file, line))
        check_size(len(vectors) * len(others), file, most)
    if not vectors:
        raise FileError(f"{file}: has a header but no rows; write one row per object.")
    return np.array(vectors), names


def read_parquet(source: BinaryIO, file: str) -> tuple[Floats, list[str]]:
    """The numbers and the names of a Parquet file. A column may hold lists of numbers of one length."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f"{file}: Parquet needs pyarrow; install it with: pip install 'erkle[parquet]'") from None
    try:
        # Unlike read_table, this reads columns of the same name.
        table = pyarrow.parquet.ParquetFile(source).read()
    except MemoryError:
        raise FileError(f"{file}: does not fit in memory, or is damaged.") from None
    # A damaged file can raise ArrowException, OSError, ValueError and more.
    except Exception as error:
        raise FileError(f"{file}: is not a Parquet file, or is damaged; write it again.") from error
    if not table.num_rows or not table.num_columns:
        raise FileError(f"{file}: is empty; check that it is the right file.")
    key, others = _roles(table.column_names, file)
    names = table.column(key)
    if not (pyarrow.types.is_integer(names.type) or _is_text(names.type)) or names.null_count:
        held = f"{names.null_count} empty cells" if names.null_count else str(names.type)
        raise FileError(
            f"{file}: the column of names, {table.column_names[key]}, holds {held}; add a column 'name' of text."
        )
    parts = [_parquet_column(table.column(i), file, table.column_names[i]) for i in others]
    # No copy of a single column of lists: embeddings of many objects take a lot of memory.
    vectors = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return vectors, [str(name) for name in names.to_pylist()]


def is_feature_file(path: Pathlike) -> bool:
    """Whether a file seems to hold features: not answers, and not a learner. False if it cannot be read."""
    suffix = PurePath(path).suffix.lower()
    if suffix in (".npy", ".parquet"):
        return True
    try:
        if suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return "meta.npy" not in archive.namelist()
        with open_binary(path) as source:
            rows = _rows(source, "")
            (_, header), (_, row) = next(rows), next(rows)
            key, others = _roles(header, "")
            if has_triples(name.lower() for name in header) or len(row) != len(header) or _is_data(header):
                return False
            _numbers([row[i] for i in others], header, "", 0)
            # Three columns without a known header are an answer file, whose names may be numbers.
            return len(header) != 3 or header[key].lower() in ("", *_NAME_COLUMNS)
    except (OSError, ValueError, StopIteration, RuntimeError, zipfile.BadZipFile):
        return False


def _rows(source: BinaryIO, file: str) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of each row, separated as the first row is."""
    beginning = source.read(LONGEST_LINE + 1)
    whole_lines = beginning[: beginning.rfind(b"\n") + 1] or beginning
    separator, _ = first_row(whole_lines, file)
    return rows_of(source, file, separator)


def _roles(columns: Sequence[str], file: str) -> tuple[int, list[int]]:
    """The number of the column of names, and those of the columns of numbers."""
    lowered = [name.lower() for name in columns]
    for name in _NAME_COLUMNS:
        if lowered.count(name) > 1:
            raise FileError(f"{file}: has two columns called {name}; rename or remove one of them.")
    key = next((lowered.index(name) for name in _NAME_COLUMNS if name in lowered), 0)
    others = [i for i, name in enumerate(lowered) if i != key and name not in _NAME_COLUMNS]
    if not others:
        raise FileError(f"{file}: has no column of numbers beside {columns[key]!r}; add the features.")
    return key, others


def _is_data(header: list[str]) -> bool:
    """Whether the first row holds numbers. Columns may be called 0, 1, 2 and so on, as pandas does."""
    try:
        numbers = [float(cell) for cell in header[1:]]
    except ValueError:
        return False
    counted = [list(map(float, range(first, first + len(numbers)))) for first in (0, 1)]
    return bool(numbers) and bool(header[0]) and header[0].lower() not in _NAME_COLUMNS and numbers not in counted


def _numbers(cells: list[str], columns: list[str], file: str, line: int) -> Floats:
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        values = np.empty(len(cells))
    for number, (cell, column) in enumerate(zip(cells, columns, strict=False)):
        try:
            values[number] = np.nan if cell.lower() in _MISSING else float(cell)
        except ValueError:
            raise complaint(
                file, line, f"has {cell[:60]!r} in the column {column[:60]!r}; write a number such as 0.5."
            ) from None
    return values


def _is_text(kind: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _parquet_column(column: Any, file: str, name: str) -> Floats:
    """A column of numbers, or of lists of numbers of one length, (n, d); a missing cell is NaN."""
    import pyarrow
    import pyarrow.compute

    types, kind = pyarrow.types, column.type
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    numbers = kind.value_type if is_list else kind
    if not (types.is_integer(numbers) or types.is_floating(numbers) or types.is_boolean(numbers)):
        raise FileError(f"{file}: the column {name!r} holds {kind}; pass numbers, or remove it.")
    if not is_list:
        return _floats(column)[:, None]
    lengths = _floats(pyarrow.compute.list_value_length(column))
    known = ~np.isnan(lengths)
    if len(set(lengths[known].tolist())) > 1:
        raise FileError(f"{file}: the lists in the column {name!r} have different lengths; make them equal.")
    width = int(lengths[known][0]) if known.any() else 1
    if not width:
        raise FileError(f"{file}: the lists in the column {name!r} are empty; pass numbers, or remove it.")
    given = _floats(pyarrow.compute.list_flatten(column)).reshape(-1, width)
    if known.all():
        return given
    values = np.full((len(lengths), width), np.nan)
    values[known] = given
    return values


def _floats(column: Any) -> Floats:
    import pyarrow

    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(), dtype=np.float64)

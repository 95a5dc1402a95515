"""The two formats: Parquet, and the file format of Arrow, which is also called Feather."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol

from erkle.arrow_files import is_text

PARQUET = (".parquet", ".parq", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
SUFFIXES = (*PARQUET, *ARROW)

# Bytes of a column of Parquet that are read at once.
_BUFFER = 1 << 20

# The number of the first row of a batch, and the batch of pyarrow.
Numbered = tuple[int, Any]


class Format(Protocol):
    """An open file. ``names`` are those of the wanted columns."""

    schema: Any

    def n_rows(self, names: tuple[str, ...]) -> int:
        """The number of rows."""

    def batches(self, names: tuple[str, ...], start: int, n: int) -> Iterator[Numbered]:
        """Yield batches of about ``n`` rows with these columns; the first one begins at the row ``start`` or before."""


class Parquet:
    """A Parquet file, read page by page."""

    title = "a Parquet"

    def __init__(self, source: BinaryIO, pyarrow: Any) -> None:
        self._source, self._open = source, pyarrow.parquet.ParquetFile
        file = self._open(source)
        self._about, self.schema = file.metadata, file.schema_arrow

    def n_rows(self, names: tuple[str, ...]) -> int:
        """The number of rows."""
        return int(self._about.num_rows)

    def batches(self, names: tuple[str, ...], start: int, n: int) -> Iterator[Numbered]:
        """Yield batches, from the one with the row ``start`` on."""
        texts = [name for name in names if is_text(self.schema.field(self.schema.get_field_index(name)).type)]
        file = self._open(
            self._source,
            metadata=self._about,
            # Text as numbers of a dictionary, as it is stored in most files.
            read_dictionary=texts,
            # Without a buffer, a whole column of a row group is read at once.
            buffer_size=_BUFFER,
            pre_buffer=False,
            page_checksum_verification=True,
        )
        row, first, sizes = 0, 0, [self._about.row_group(i).num_rows for i in range(self._about.num_row_groups)]
        while first < len(sizes) and row + sizes[first] <= start:
            row, first = row + sizes[first], first + 1
        for batch in file.iter_batches(n, row_groups=list(range(first, len(sizes))), columns=list(names)):
            yield row, batch
            row += batch.num_rows


class Arrow:
    """An Arrow file, also called Feather, read one record batch at a time."""

    title = "an Arrow"

    def __init__(self, source: BinaryIO, pyarrow: Any) -> None:
        self._source, self._ipc = source, pyarrow.ipc
        self.schema = self._opened(None).schema

    def n_rows(self, names: tuple[str, ...]) -> int:
        """The number of rows."""
        file = self._opened(names[:1])
        return sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))

    def batches(self, names: tuple[str, ...], start: int, n: int) -> Iterator[Numbered]:
        """Yield batches, from the one with the row ``start`` on."""
        file, row = self._opened(names), 0
        for i in range(file.num_record_batches):
            batch = file.get_batch(i)
            if row + batch.num_rows > start:
                yield row, batch
            row += batch.num_rows

    def _opened(self, names: tuple[str, ...] | None) -> Any:
        """The file with these columns only, or with all of them."""
        places = [] if names is None else [self.schema.get_field_index(name) for name in names]
        self._source.seek(0)
        return self._ipc.open_file(self._source, options=self._ipc.IpcReadOptions(included_fields=places))


def format_of(path: PurePath) -> type[Parquet] | type[Arrow]:
    """The format of a file, by the end of its name."""
    return Parquet if path.suffix.lower() in PARQUET else Arrow

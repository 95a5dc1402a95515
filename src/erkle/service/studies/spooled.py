"""Media that wait on the disk until their study is created, because all of them may not fit into memory."""

import io
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import BinaryIO
from weakref import finalize

from erkle.store import Medium


class SpooledMedia(Mapping[str, Medium]):
    """Media by name. Each is read from a temporary file when it is looked up.

    Attributes
    ----------
    size : int
        The number of bytes of all media.
    """

    def __init__(self) -> None:
        self.size = 0
        self._places: dict[str, tuple[str, int, int]] = {}

    def add(self, name: str, medium: Medium) -> None:
        """Add a medium, if there is none of this name."""
        if name not in self._places:
            self._file.seek(0, io.SEEK_END)
            self._file.write(medium.data)
            self._places[name] = medium.type, self.size, len(medium.data)
            self.size += len(medium.data)

    def __getitem__(self, name: str) -> Medium:
        kind, start, size = self._places[name]
        self._file.seek(start)
        return Medium(kind, self._file.read(size))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @cached_property
    def _file(self) -> BinaryIO:
        file = tempfile.TemporaryFile()  # noqa: SIM115
        finalize(self, file.close)
        return file

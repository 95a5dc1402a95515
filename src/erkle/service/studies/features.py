"""Features that researchers upload: files of vectors, matched with the objects of a study by name."""

import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from erkle.features import Block
from erkle.features.array_files import NAMES
from erkle.features.blocks import Useless
from erkle.features.reading import LOOK_ALIKE, FeatureFile, look_alike, matched, read_features, read_open_file
from erkle.files import FileError
from erkle.service.studies.complaints import shown
from erkle.service.studies.uploads import CAPS, clean_name
from erkle.store import limits

Vectors = NDArray[np.float32]

# Values of all features of a study.
_MOST_VALUES = limits.FEATURE_BYTES // 4
# The largest number in single precision.
_LARGEST = float(np.finfo(np.float32).max)
# Names that a sentence lists.
_LISTED = 3


class Described(NamedTuple):
    """Blocks of features with one row per object, and sentences about names and objects that do not match."""

    blocks: dict[str, Vectors]
    notes: list[str]


class FeaturesOut(BaseModel):
    """A block of features of a study: its name, the length of a vector, and how many objects have one."""

    name: str
    n_columns: int
    n_objects: int

    @classmethod
    def of(cls, blocks: Mapping[str, Vectors]) -> "list[FeaturesOut]":
        """Return what the API says of blocks."""
        counts = {name: int((~np.isnan(vectors[:, 0])).sum()) for name, vectors in blocks.items()}
        return [cls(name=name, n_columns=vectors.shape[1], n_objects=counts[name]) for name, vectors in blocks.items()]


class FeatureFiles:
    """Files of features, uploaded or on disk.

    Parameters
    ----------
    sent : pairs of a name and an open file
        Uploaded files: CSV, TSV, NPY or NPZ.
    folder : path, optional
        The folder that paths in the study are relative to. Without it, they refer to the uploaded files.
    """

    def __init__(self, sent: Iterable[tuple[str, BinaryIO]] = (), folder: Path | None = None) -> None:
        self._sent: dict[str, BinaryIO] = {}
        for path, file in sent:
            name = PurePosixPath(clean_name(path)).name
            if name in self._sent:
                raise FileError(f"{name}: two files of features have this name; rename one of them.")
            self._sent[name] = file
        self._unread = set(self._sent)
        self._folder = folder

    def read(self, given: object = None) -> list[FeatureFile]:
        """Read the files that a study names: a path, a list of paths, or paths by the name of the block.

        Without them, all uploaded files are read.
        """
        found = self._found(given)
        for name in sorted(self._unread):
            raise FileError(f"{name}: was uploaded, but features does not name it; name it too, or leave the file out.")
        return found

    def _found(self, given: object) -> list[FeatureFile]:
        match given:
            case None:
                return [self._read(name) for name in self._sent]
            case str():
                return [self._read(given)]
            case list() if all(isinstance(path, str) for path in given):
                return [self._read(path) for path in given]
            case dict() if all(isinstance(path, str) for path in given.values()):
                return [self._read(path, str(block)) for block, path in given.items()]
        raise FileError(f"features is {shown(given)}; pass the path of a file, a list of paths, or name: path.")

    def _read(self, name: str, block: str | None = None) -> FeatureFile:
        if self._folder is not None:
            return read_features(self._folder / name, block)
        if (file := self._sent.get(name)) is None:
            raise FileError(f"{shown(name)} is not among the uploaded files of features; upload it as well.")
        self._unread.discard(name)
        if file.seek(0, io.SEEK_END) > CAPS.file:
            raise FileError(f"{name}: is larger than {CAPS.file >> 20} MB; pass fewer columns.")
        file.seek(0)
        return read_open_file(file, name, block, _MOST_VALUES)


def described(files: Sequence[FeatureFile], names: Sequence[str], others: Collection[str] = ()) -> Described:
    """Match files with the objects that have these names, or raise `FileError` with what is wrong.

    ``others`` are names of other objects of the study, about which no note is needed.
    """
    blocks, without, unknown = matched(files, names)
    for name, vectors in blocks.items():
        check_name(name)
        if np.nanmax(np.abs(vectors), initial=0.0) > _LARGEST:
            raise FileError(f"The features {name} have numbers beyond {_LARGEST:.1e}; divide them by a constant.")
    strange = [name for name in unknown if name not in others]
    notes = [
        *_note(strange, "name in the features is not that of an object", "names in the features are not of objects"),
        *_note(
            without if blocks else (), "object has no vector in these files", "objects have no vector in these files"
        ),
        *([LOOK_ALIKE[0].upper() + LOOK_ALIKE[1:]] if look_alike(strange, without) else ()),
    ]
    return Described({name: vectors.astype(np.float32) for name, vectors in blocks.items()}, notes)


def check_name(name: str) -> None:
    """Raise `FileError` if features cannot have this name in a study."""
    # Browsers and proxies resolve . and .. in addresses, and NPZ files have the names of objects under other names.
    reserved = name.lower() in NAMES or not {".", ".."}.isdisjoint(re.split(r"[/\\]", name))
    if not 0 < len(name) <= limits.FEATURE_NAME or not name.isprintable() or not name.strip() or reserved:
        raise FileError(
            f"Features are called {name[:60]!r}; pass another name, of 1 to {limits.FEATURE_NAME} visible characters."
        )


def check_useful(blocks: Mapping[str, Vectors]) -> None:
    """Raise `FileError` if a block says nothing about the objects."""
    try:
        for name, vectors in blocks.items():
            Block.of(name, vectors)
    except ValueError as trouble:
        raise FileError(str(trouble)) from None


def check_alike(new: Mapping[str, Vectors], known: Mapping[str, Vectors]) -> None:
    """Raise `FileError` if vectors of new objects are far from those that a study has, for example in other units."""
    for name in new.keys() & known.keys():
        try:
            Block.of(name, known[name])[0].rows(new[name])
        except Useless:
            continue
        except ValueError as trouble:
            raise FileError(str(trouble)) from None


def _note(names: Sequence[str], one: str, many: str) -> list[str]:
    """A sentence that counts names and lists the first.

    >>> _note(["cat", "dog"], "object has no vector", "objects have no vector")
    ["2 objects have no vector: 'cat', 'dog'."]
    >>> _note(["cat", "dog", "cow", "hen", "pig"], "object has no vector", "objects have no vector")
    ["5 objects have no vector: 'cat', 'dog', 'cow' and 2 more."]
    """
    listed, rest = ", ".join(repr(name[:40]) for name in names[:_LISTED]), len(names) - _LISTED
    more = f" and {rest:,} more" if rest > 0 else ""
    return [f"{len(names):,} {one if len(names) == 1 else many}: {listed}{more}."] if names else []

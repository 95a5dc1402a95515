"""Features on the command line: ``--features FILE`` or ``--features NAME=FILE``, matched with objects by name."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.cli.screen import counted
from erkle.features import Features
from erkle.features.reading import LOOK_ALIKE, FeatureFile, digest, look_alike, matched, read_features
from erkle.kernels.lapack import one_thread
from erkle.triplets import Objects

Floats = NDArray[np.float64]

# Names that a sentence lists.
_MOST_LISTED = 3


def read_files(texts: Sequence[str]) -> list[FeatureFile]:
    """Read the files of an option, each FILE or NAME=FILE."""
    return [_read(text) for text in texts]


class Matched(NamedTuple):
    """The content of files of features, matched with objects.

    Attributes
    ----------
    ids : list of str
        The objects: those of a list, or all names in the files in order of appearance.
    blocks : dict of str to (n, d) array
        Their vectors by the name of the block; NaN if a file does not name the object.
    unknown : list of str
        Names in the files that are no objects.
    """

    ids: list[str]
    blocks: dict[str, Floats]
    unknown: list[str]

    @classmethod
    def of(cls, files: Sequence[FeatureFile], objects: Objects | None = None) -> Self:
        """Match files with the objects of a list, or with all that they name."""
        ids = _ids(files) if objects is None else objects.ids
        blocks, _, unknown = matched([_with_ids(found, objects) for found in files], ids)
        return cls(ids, blocks, unknown)


class KnownFeatures:
    """Features of the objects that are known before the first answer.

    Attributes
    ----------
    ids : list of str
        The objects.
    described : (n,) array of booleans
        Whether each of them has a vector.
    unknown : list of str
        Names in the files that are no objects.
    digest : str
        Blocks, columns and a hash of everything that was read.
    """

    def __init__(self, found: Matched) -> None:
        self.ids, self.unknown, self.digest = found.ids, found.unknown, digest(found.blocks, found.ids)
        # Vectors that say nothing are refused here, before any answer is read.
        with one_thread(len(found.ids)):
            self._prepared = Features.of(found.blocks, len(found.ids))
        self.described = np.asarray(self._prepared.known.any(axis=1))

    def of(self, n_objects: int) -> Features:
        """The prepared features of these objects and of further ones, about which nothing is known."""
        return self._prepared.extended(self._prepared.rows(None, n_objects - len(self.ids)))

    def are_about(self, answers: NDArray[np.int64]) -> bool:
        """Whether an answer names an object that has a vector."""
        return bool(self.described[answers[answers < len(self.described)]].any())

    def without(self, names: Sequence[str]) -> str | None:
        """A sentence about the objects that have no vector, or None; the first of ``names`` are those known."""
        given = self.described.tolist()
        missing = [name for i, name in enumerate(names) if i >= len(given) or not given[i]]
        if not missing:
            return None
        have, them = ("has", "it") if len(missing) == 1 else ("have", "them")
        of = counted(len(names), "object")
        alike = f"; {LOOK_ALIKE}" if look_alike([*self.ids, *self.unknown], missing) else "."
        return f"{len(missing):,} of {of} {have} no features{listed(missing)}; only answers place {them}{alike}"

    def ignored(self, objects: str) -> str | None:
        """A sentence about names in the files that are not among the objects, or None."""
        return ignored(self.unknown, objects)


def _read(text: str) -> FeatureFile:
    name, mark, path = text.partition("=")
    # A path may contain the mark.
    if text.strip() and (not mark or "/" in name or "\\" in name or Path(text).exists()):
        return read_features(text)
    if not name.strip() or not path:
        raise ValueError(f"--features is {text!r}; pass FILE or NAME=FILE.")
    return read_features(path, name.strip())


def _ids(files: Sequence[FeatureFile]) -> list[str]:
    for found in files:
        if found.names is None:
            raise ValueError(
                f"{found.file}: does not name its {found.n_rows:,} rows; pass --objects with one object per row, "
                "or save an array called names beside the numbers in an NPZ file."
            )
    return list(dict.fromkeys(name for found in files for name in found.names or ()))


def _with_ids(found: FeatureFile, objects: Objects | None) -> FeatureFile:
    """The file with the ids of objects in place of their names, if it uses the names."""
    if objects is None or found.names is None or set(found.names) & set(objects.ids):
        return found
    shared = {name for name, n in Counter(objects.names).items() if n > 1}
    ids = {name: key for key, name in zip(objects.ids, objects.names, strict=True) if name not in shared}
    return found._replace(names=[ids.get(name, name) for name in found.names])


def ignored(unknown: Sequence[str], objects: str) -> str | None:
    """A sentence about names in files of features that are not among the objects of a list, or None."""
    if not unknown:
        return None
    are = "is not one of" if len(unknown) == 1 else "are not among"
    names = counted(len(unknown), "name")
    return f"{names} in the files of features {are} the objects of {objects}{listed(unknown)}; ignored."


def listed(names: Sequence[str]) -> str:
    """The first few names, to continue a sentence that counts them.

    >>> listed(["Ann", "Bob"]), listed(["Ann", "Bob", "Cy", "Di"])
    (': Ann and Bob', ', among them Ann, Bob and Cy')
    """
    shown = [name if len(name) <= 30 else name[:29] + "…" for name in names[:_MOST_LISTED]]
    *first, last = shown
    text = f"{', '.join(first)} and {last}" if first else last
    return f": {text}" if len(names) <= _MOST_LISTED else f", among them {text}"

"""Read files of features: tables with a column of names (CSV, Parquet) or arrays (NPY, NPZ).

Reading never runs code from a file. Objects are matched by name; an array without names is matched by position.
"""

import hashlib
import math
import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.features.array_files import read_npy, read_npz
from erkle.features.table_files import read_parquet, read_text
from erkle.files import FileError, file_name, open_binary
from erkle.triplets.labels import declared_flaw, quoted

__all__ = ["FeatureFile", "digest", "matched", "read_features", "read_open_file"]

Floats = NDArray[np.float64]

# What to do about names that look alike.
LOOK_ALIKE = (
    "some names look the same but have other Unicode characters, so write all of them in one form, such as NFC."
)


class FeatureFile(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    file : str
        The name of the file.
    blocks : dict of str to (n, d) array
        Vectors by the name of the block. A row of NaN is an object without a vector.
    names : list of str or None
        The object that each row belongs to; None if the file does not say.
    """

    file: str
    blocks: dict[str, Floats]
    names: list[str] | None

    @property
    def n_rows(self) -> int:
        """Number of rows of each block."""
        return len(next(iter(self.blocks.values())))


def read_features(path: str | os.PathLike[str], block: str | None = None) -> FeatureFile:
    r"""Read a file of features.

    Parameters
    ----------
    path : path
        CSV or TSV with a header and a column of names, Parquet with a column of names, NPY with an array of shape
        (n_objects, d), or NPZ with such arrays and optionally an array ``names``. The column of names is called
        ``name``, ``label``, ``object`` or ``id``, or is the first one.
    block : str, optional
        The name of the block. By default the name of the array in an NPZ file, otherwise that of the file.

    Raises
    ------
    FileError
        If the file cannot be read, or does not hold numbers where numbers are wanted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "size.csv")
    ...     _ = path.write_text("name,height,weight\ncat,25,4\nhorse,160,500\n")
    ...     found = read_features(path)
    >>> found.names, found.blocks["size"].tolist()
    (['cat', 'horse'], [[25.0, 4.0], [160.0, 500.0]])
    """
    with open_binary(path) as source:
        return read_open_file(source, PurePath(path).name, block)


def read_open_file(source: BinaryIO, file: str, block: str | None = None, most: float = math.inf) -> FeatureFile:
    """Read an open file of features as `read_features` does; its name tells the format.

    ``most`` is the largest number of values, to bound the memory that a file from a stranger takes. Parquet files are
    refused then, because their size is known only after reading.
    """
    stem, suffix, file = PurePath(file).stem, PurePath(file).suffix.lower(), file_name(file)
    blocks: dict[str, Floats]
    names: list[str] | None
    match suffix:
        case ".npy":
            blocks, names = {stem: read_npy(source, file, most)}, None
        case ".npz":
            blocks, names = read_npz(source, file, most)
        case ".parquet" if most == math.inf:
            vectors, names = read_parquet(source, file)
            blocks = {stem: vectors}
        case ".parquet":
            raise FileError(f"{file}: Parquet is not read here; save the vectors as CSV, NPY or NPZ.")
        case _:
            vectors, names = read_text(source, file, most)
            blocks = {stem: vectors}
    if block is not None:
        if len(blocks) > 1:
            raise FileError(
                f"{file}: holds several arrays ({', '.join(blocks)}), which have names; leave out {block}=."
            )
        blocks = {block: next(iter(blocks.values()))}
    found = FeatureFile(file, blocks, names)
    _check(found)
    return found


def matched(files: Sequence[FeatureFile], ids: Sequence[str]) -> tuple[dict[str, Floats], list[str], list[str]]:
    """Blocks with one row per object, in the order of ``ids``; rows of objects that a file does not name are NaN.

    Returns
    -------
    blocks : dict of str to (n, d) array
    without : list of str
        Objects that have no vector in any file.
    unknown : list of str
        Names in the files that are not among the objects.
    """
    blocks: dict[str, Floats] = {}
    place = {name: number for number, name in enumerate(ids)}
    unknown = dict[str, None]()
    for found in files:
        if found.names is not None:
            unknown |= dict.fromkeys(name for name in found.names if name not in place)
        given, rows = _matching_rows(found, ids, place)
        for name, vectors in found.blocks.items():
            if name in blocks:
                raise FileError(
                    f"{found.file}: there are two blocks of features called {name}; rename one of them, or pass "
                    f"--features other={found.file}."
                )
            if len(rows) == len(ids) == len(vectors) and np.array_equal(given, rows):
                # No copy: embeddings of many objects take a lot of memory.
                blocks[name] = vectors
            else:
                blocks[name] = np.full((len(ids), vectors.shape[1]), np.nan)
                blocks[name][rows] = vectors[given]
    described = np.zeros(len(ids), np.bool_)
    for vectors in blocks.values():
        described |= ~np.isnan(vectors[:, 0])
    without = [name for name, known in zip(ids, described.tolist(), strict=True) if not known]
    return blocks, without, list(unknown)


def look_alike(names: Iterable[str], others: Iterable[str]) -> bool:
    r"""Whether different names look the same, because their letters consist of different Unicode characters.

    >>> look_alike(["Caf\u00e9"], ["Cafe\u0301"]), look_alike(["cat"], ["Cat", "cat"])
    (True, False)
    """
    forms = {unicodedata.normalize("NFC", name): name for name in names}
    return any(forms.get(unicodedata.normalize("NFC", other), other) != other for other in others)


def digest(blocks: Mapping[str, Floats], ids: Sequence[str] = ()) -> str:
    """The names and sizes of blocks, with a hash of their values and of the names of the objects.

    >>> digest({"size": np.array([[25.0, 4.0], [160.0, 500.0]])})
    'size (2 columns, ...)'
    """
    told = []
    for name, vectors in blocks.items():
        value = hashlib.sha256("\0".join(ids).encode("utf-8", "surrogateescape"))
        value.update(np.ascontiguousarray(vectors, dtype="<f8").tobytes())
        told.append(f"{name} ({vectors.shape[1]} columns, {value.hexdigest()[:8]})")
    return ", ".join(told)


def _matching_rows(
    found: FeatureFile, ids: Sequence[str], place: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of the file that describe objects, and the numbers of these objects."""
    if found.names is None:
        if found.n_rows != len(ids):
            raise FileError(
                f"{found.file}: has {found.n_rows:,} rows without names, but there are {len(ids):,} objects; "
                "pass one row per object, or add the names."
            )
        everything = np.arange(len(ids), dtype=np.int64)
        return everything, everything
    pairs = [(row, place[name]) for row, name in enumerate(found.names) if name in place]
    if not pairs:
        remedy = LOOK_ALIKE if look_alike(found.names, ids) else "use the same names."
        raise FileError(
            f"{found.file}: names none of the objects: it begins with {quoted(found.names[0])}, "
            f"the objects with {quoted(ids[0]) if ids else 'nothing'}; {remedy}"
        )
    given, rows = np.array(pairs, dtype=np.int64).T
    return given, rows


def _check(found: FeatureFile) -> None:
    """Refuse sizes and names that do not fit, and rows that are neither full nor empty."""
    n_rows = found.n_rows if found.names is None else len(found.names)
    wanted = f"{next(iter(found.blocks))} has {n_rows:,}" if found.names is None else f"there are {n_rows:,} names"
    for name, vectors in found.blocks.items():
        if not vectors.size:
            raise FileError(f"{found.file}: {name} is empty, with the shape {vectors.shape}; pass numbers.")
        if len(vectors) != n_rows:
            raise FileError(f"{found.file}: {name} has {len(vectors):,} rows, but {wanted}; pass one row per object.")
    if found.names is not None:
        _check_names(found.names, found.file)
    for name, vectors in found.blocks.items():
        _check_numbers(name, vectors, found)


def _check_names(names: list[str], file: str) -> None:
    seen: set[str] = set()
    for row, name in enumerate(names):
        if flaw := declared_flaw(name):
            raise FileError(f"{file}: the name in row {row} {flaw}")
        if name in seen:
            raise FileError(f"{file}: describes {quoted(name)} twice; keep one row per object.")
        seen.add(name)


def _check_numbers(block: str, vectors: Floats, found: FeatureFile) -> None:
    """Refuse infinities, and NaN in part of a row."""
    wrong = ~np.isfinite(vectors)
    wrong[np.isnan(vectors).all(axis=1)] = False
    if not wrong.any():
        return
    row, column = np.argwhere(wrong)[0].tolist()
    whose = f"row {row}" if found.names is None else quoted(found.names[row])
    if np.isinf(vectors[row, column]):
        raise FileError(f"{found.file}: {block} of {whose} has infinity in column {column}; pass finite numbers.")
    raise FileError(
        f"{found.file}: {block} of {whose} has no number in column {column}; fill the gap, or leave the whole row "
        "empty if nothing is known about the object."
    )

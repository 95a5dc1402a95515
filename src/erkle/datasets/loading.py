"""Load a data set of the catalogue from a copy in either form.

A warning says if the answers differ from the published ones, for example because a file is incomplete.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.datasets.catalogue import Entry, digest, entry_of
from erkle.datasets.copies import Copy, cache_folder, find
from erkle.datasets.dataset import Dataset, column
from erkle.datasets.fetching import fetch
from erkle.datasets.published import READERS
from erkle.files import FileError, Pathlike, read_bytes
from erkle.triplets import ReadError, read_objects
from erkle.triplets.labels import PARTS
from erkle.triplets.tables import read_table


def load(name: str, data_home: Pathlike | None = None, all_rows: bool = False) -> Dataset:
    """Load a data set of the catalogue by name, and download it first if needed.

    Parameters
    ----------
    name : str
        A key of `CATALOGUE`.
    data_home : path, optional
        Folder to search before the user's cache. The default is the environment variable ``ERKLE_DATA``.
    all_rows : bool
        Also return rows that are normally dropped. For aset400 and aset400_vdm, these are rows that name one artist
        twice; with them there are 16,385 and 9,107 rows, as published. For food100, these are repeated answers; with
        them there are 250,320 rows.

    Returns
    -------
    Dataset
        ``CATALOGUE[name].notes`` lists its columns.

    Examples
    --------
    >>> load("aset500")
    Traceback (most recent call last):
    ValueError: There is no data set 'aset500'; choose from aset400, aset400_vdm, food100, cars60, ...
    """
    entry = entry_of(name)
    copy = find(entry, data_home) or fetch(entry, cache_folder())
    dataset = _named(READERS[name](copy), copy.objects) if copy.paths else _from_tables(copy, all_rows)
    if entry.rows_per_answer > 1:
        answer = np.arange(len(dataset.triplets)) // entry.rows_per_answer
        dataset = dataset._replace(columns={"answer": answer, **dataset.columns})
    learned = _learned_from(entry, dataset)
    _compare(entry, learned, copy.folder)
    return dataset if all_rows else learned


def _named(dataset: Dataset, objects: Path) -> Dataset:
    """The data set with the names from ``objects.csv``, if that file exists."""
    if not objects.exists():
        return dataset
    names = read_objects(objects).names
    if len(names) != len(dataset.names):
        raise ReadError(
            f"objects.csv: lists {len(names)} objects, but the published files have {len(dataset.names)};"
            f" correct it or remove it from {objects.parent}."
        )
    return dataset._replace(names=names)


def _from_tables(copy: Copy, all_rows: bool) -> Dataset:
    entry, folder = copy.entry, copy.folder
    has_all_rows = (folder / entry.rows_file).exists()
    if all_rows and not has_all_rows:
        raise FileError(
            f"{entry.name}: {folder} does not have all rows; put {' and '.join(part.name for part in entry.parts)}"
            " there."
        )
    objects = read_objects(copy.objects)
    file = entry.rows_file if has_all_rows else "triplets.csv"
    T = _ids(folder / file, {key: i for i, key in enumerate(objects.ids)})
    # The file of columns has one line per row of the full table.
    columns = _columns(folder / entry.columns_file, entry.columns, len(T)) if has_all_rows else {}
    return Dataset(T, objects.names, columns, entry.description)


def _ids(path: Path, places: Mapping[str, int]) -> NDArray[np.int64]:
    table = read_table(read_bytes(path), path.name, wanted=PARTS)
    cells = [table.columns[part] for part in PARTS]
    T = np.array([[places.get(cell, -1) for cell in column] for column in cells], dtype=np.int64).T
    if (T < 0).any():
        row, i = np.argwhere(T < 0)[0].tolist()
        unknown = f"the {PARTS[i]} object {cells[i][row][:60]!r}"
        raise table.complaint(row, f"{unknown} is not in objects.csv; add it there.")
    return np.ascontiguousarray(T)


def _columns(path: Path, names: Mapping[str, str], n_rows: int) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        return {}
    table = read_table(read_bytes(path), path.name, wanted=tuple(names))
    if len(table.lines) != n_rows:
        raise ReadError(f"{path.name}: has {len(table.lines):,} rows for {n_rows:,} answers; download it again.")
    return {name: column(table.columns[header]) for header, name in names.items()}


def _learned_from(entry: Entry, dataset: Dataset) -> Dataset:
    """The rows with three different objects; or the distinct rows, sorted, if repeats are dropped."""
    if not entry.learns_repeats:
        return dataset._replace(triplets=np.unique(dataset.triplets, axis=0), columns={})
    a, b, c = dataset.triplets.T
    return dataset.rows((a != b) & (a != c) & (b != c))


def _compare(entry: Entry, dataset: Dataset, folder: Path) -> None:
    T, n_objects = dataset.triplets, len(dataset.names)
    if (n_objects, len(T)) != (entry.n_objects, entry.n_triplets):
        found = (
            f"has {len(T):,} answers about {n_objects:,} objects, but {entry.n_triplets:,} answers about"
            f" {entry.n_objects} objects were published"
        )
    elif entry.digest and digest(T) != entry.digest:
        found = "has other answers than the published ones"
    else:
        return
    warnings.warn(f"{entry.name}: {folder} {found}; download the files again.", stacklevel=3)

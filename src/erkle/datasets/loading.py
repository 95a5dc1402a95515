"""From a copy of a data set to its answers, whatever form the copy has.

Answers that are not those published, for example because a file is incomplete, are loaded with a warning.
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
    """A data set of the catalogue, by name: read from this machine, or fetched first.

    Parameters
    ----------
    name : str
        A key of `CATALOGUE`.
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.
    all_rows : bool
        Keep the rows that are not learned from: those of aset400 and aset400_vdm that name one artist twice, which
        gives the paper's 16,385 and the published 9,107, and the repeats of food100, 250,320 answers in their order.

    Returns
    -------
    Dataset
        ``CATALOGUE[name].notes`` says which columns it has.

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
    """Names from a list of objects, where one lies beside the published files."""
    if not objects.exists():
        return dataset
    names = read_objects(objects).names
    if len(names) != len(dataset.names):
        raise ReadError(
            f"objects.csv: lists {len(names)} objects, but the published files are about {len(dataset.names)};"
            f" correct it or remove it from {objects.parent}."
        )
    return dataset._replace(names=names)


def _from_tables(copy: Copy, all_rows: bool) -> Dataset:
    entry, folder = copy.entry, copy.folder
    has_all_rows = (folder / entry.rows_file).exists()
    if all_rows and not has_all_rows:
        raise FileError(
            f"{entry.name}: {folder} has only the rows that are learned from; for all of them put"
            f" {' and '.join(part.name for part in entry.parts)} there."
        )
    objects = read_objects(copy.objects)
    file = entry.rows_file if has_all_rows else "triplets.csv"
    T = _ids(folder / file, {key: i for i, key in enumerate(objects.ids)})
    # The file of columns is about every row, so it fits only those.
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
        raise ReadError(f"{path.name}: has {len(table.lines):,} rows for {n_rows:,} answers; get the file again.")
    return {name: column(table.columns[header]) for header, name in names.items()}


def _learned_from(entry: Entry, dataset: Dataset) -> Dataset:
    """Rows that name three different objects; where repeats do not count, the different ones of all rows, sorted."""
    if not entry.learns_repeats:
        return dataset._replace(triplets=np.unique(dataset.triplets, axis=0), columns={})
    a, b, c = dataset.triplets.T
    return dataset.rows((a != b) & (a != c) & (b != c))


def _compare(entry: Entry, dataset: Dataset, folder: Path) -> None:
    T, n_objects = dataset.triplets, len(dataset.names)
    if (n_objects, len(T)) != (entry.n_objects, entry.n_triplets):
        found = f"{len(T):,} answers about {n_objects:,} objects, not the {entry.n_triplets:,} about {entry.n_objects}"
    elif entry.digest and digest(T) != entry.digest:
        found = "other answers than those"
    else:
        return
    warnings.warn(f"{entry.name}: {folder} holds {found} published; get the files again.", stacklevel=3)

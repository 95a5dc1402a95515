"""From a copy of a data set to its answers, whatever form the copy has.

Answers that are not those published, for example because a file is incomplete, are loaded with a warning.
"""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.datasets.catalogue import CATALOGUE, Entry, digest
from erkle.datasets.copies import Original, cache_folder, find
from erkle.datasets.dataset import Dataset, column
from erkle.datasets.fetching import fetch
from erkle.files import FileError, Pathlike, read_bytes
from erkle.triplets import ReadError, read_objects
from erkle.triplets.tables import read_table

__all__ = ["Recipe", "load_by"]


class Recipe(NamedTuple):
    """How a data set is read: from its published files, or from tables.

    ``parse`` gives every row of the published files, and ``reduce`` leaves those that are learned from, by default all
    of them. As tables, every row may be in a file ``whole``, and more about each row, with columns renamed, in a file
    ``beside`` it.
    """

    name: str
    parse: Callable[[Original, Entry], Dataset]
    reduce: Callable[[Dataset], Dataset] | None = None
    whole: str | None = None
    beside: str | None = None
    columns: Mapping[str, str] = {}


def load_by(recipe: Recipe, data_home: Pathlike | None, whole: bool = False) -> Dataset:
    """Read the copy of a data set that is here, or fetch it first."""
    entry = CATALOGUE[recipe.name]
    copy = find(entry, data_home) or fetch(entry, cache_folder())
    if isinstance(copy, Original):
        dataset = _named(recipe.parse(copy, entry), copy.objects)
    else:
        dataset = _from_tables(recipe, entry, copy.folder, whole)
    reduced = recipe.reduce(dataset) if recipe.reduce else dataset
    _compare(entry, reduced, copy.folder)
    return dataset if whole else reduced


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


def _from_tables(recipe: Recipe, entry: Entry, folder: Path, whole: bool) -> Dataset:
    has_whole = recipe.whole is not None and (folder / recipe.whole).exists()
    if whole and not has_whole:
        raise FileError(
            f"{entry.name}: {folder} has only the rows that are learned from; for all of them put"
            f" {' and '.join(part.name for part in entry.parts)} there."
        )
    objects = read_objects(folder / "objects.csv")
    file = str(recipe.whole) if has_whole else "triplets.csv"
    T = _ids(folder / file, {key: i for i, key in enumerate(objects.ids)})
    # What lies beside is about every row, so it fits only those.
    fits = recipe.beside is not None and (has_whole or recipe.whole is None)
    columns = _columns(folder / str(recipe.beside), recipe.columns, len(T)) if fits else {}
    return Dataset(T, objects.names, columns, entry.description)


def _ids(path: Path, places: Mapping[str, int]) -> NDArray[np.int64]:
    table = read_table(read_bytes(path), path.name, wanted=("anchor", "near", "far"))
    T = np.empty((len(table.lines), 3), dtype=np.int64)
    for i, name in enumerate(("anchor", "near", "far")):
        cells = table.columns[name]
        T[:, i] = [places.get(cell, -1) for cell in cells]
        if len(unknown := np.flatnonzero(T[:, i] < 0)):
            row = int(unknown[0])
            raise table.complaint(row, f"the {name} object {cells[row][:60]!r} is not in objects.csv; add it there.")
    return T


def _columns(path: Path, names: Mapping[str, str], n_rows: int) -> dict[str, NDArray[Any]]:
    if not path.exists():
        return {}
    table = read_table(read_bytes(path), path.name, wanted=tuple(names))
    if len(table.lines) != n_rows:
        raise ReadError(f"{path.name}: has {len(table.lines):,} rows for {n_rows:,} answers; get the file again.")
    return {name: column(table.columns[header]) for header, name in names.items()}


def _compare(entry: Entry, dataset: Dataset, folder: Path) -> None:
    T, n_objects = dataset.triplets, len(dataset.names)
    if (n_objects, len(T)) != (entry.n_objects, entry.n_triplets):
        found = f"{len(T):,} answers about {n_objects:,} objects, not the {entry.n_triplets:,} about {entry.n_objects}"
    elif entry.digest and digest(T) != entry.digest:
        found = "other answers than those"
    else:
        return
    warnings.warn(f"{entry.name}: {folder} holds {found} published; get the files again.", stacklevel=4)

"""Dishes: workers pick from a grid of pictures those that taste most like another, and every pick beats every rest.

The published table of these comparisons and the raw screens give the same answers.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from erkle.datasets.catalogue import Entry
from erkle.datasets.copies import Original
from erkle.datasets.dataset import Dataset, by_alphabet, column
from erkle.datasets.loading import Recipe, load_by
from erkle.files import FileError, Pathlike, read_bytes
from erkle.triplets.tables import decoded, read_table

__all__ = ["load_food100"]


def load_food100(data_home: Pathlike | None = None, repeats: bool = False) -> Dataset:
    """Similarity of 100 dishes: 190,376 different answers.

    Parameters
    ----------
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.
    repeats : bool
        Keep all 250,320 answers in their order; the different ones are sorted.

    Returns
    -------
    Dataset
        With repeats from the raw screens (a folder ``raw-json``), columns ``worker`` and ``screen``; otherwise
        without columns.
    """
    return load_by(_FOOD100, data_home, whole=repeats)


def _different(dataset: Dataset) -> Dataset:
    return dataset._replace(triplets=np.unique(dataset.triplets, axis=0), columns={})


def _parse(copy: Original, entry: Entry) -> Dataset:
    if copy.paths["all-triplets.csv"].is_dir():
        return _parse_screens(copy.paths["all-triplets.csv"], entry)
    parts = ("probe", "near", "far")
    table = read_table(copy.read("all-triplets.csv"), "all-triplets.csv", header=parts, separator=";")
    names, T = by_alphabet(*(table.columns[part] for part in parts))
    return Dataset(T, names, {}, entry.description)


def _parse_screens(folder: Path, entry: Entry) -> Dataset:
    rows: list[tuple[str, str, str, str, str]] = []
    for path in sorted(folder.glob("*.json")):
        for number, (worker, screen) in enumerate(_screens(path)):
            # Catch trials check the worker and were chosen by hand.
            if not screen["is_catchtrial"]:
                near = screen["near_answer"]
                rest = [image for image in screen["images"] if image not in near]
                tags = f"{path.stem}/{number}", str(worker)
                rows += ((screen["probe"], b, c, *tags) for b in near for c in rest)
    if not rows:
        raise FileError(f"{folder.name}: holds no answers; get the JSON files again.")
    probe, near, far, screens, workers = map(list, zip(*rows, strict=True))
    names, T = by_alphabet(probe, near, far)
    return Dataset(T, names, {"worker": column(workers), "screen": column(screens)}, entry.description)


def _screens(path: Path) -> Iterator[tuple[object, dict[str, Any]]]:
    try:
        for task in json.loads(decoded(read_bytes(path), path.name)):
            for screen in task["HIT_screens"]:
                _ = screen["is_catchtrial"], screen["near_answer"], screen["images"], screen["probe"]
                yield task["worker_id"], screen
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path.name}: is not a list of tasks with their screens; get the file again.") from error


_FOOD100 = Recipe("food100", _parse, _different, whole="triplets_all.csv")

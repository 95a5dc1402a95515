"""Answers about three objects without an anchor: the most central of them, or the odd one out.

Either way one pair is the most unlike. If c is central, that pair is the other two, so c is the nearer for both;
if o is odd, the other two are nearer to each other than to o. One answer gives two triplets, which a split must
keep together: the column ``answer`` numbers them.
"""

import numpy as np
from numpy.typing import NDArray

from erkle.datasets.catalogue import Entry
from erkle.datasets.copies import Original
from erkle.datasets.dataset import Dataset, by_alphabet, column
from erkle.datasets.loading import Recipe, load_by
from erkle.files import Pathlike
from erkle.triplets.tables import read_table

__all__ = ["load_cars60", "load_nature", "load_vogue"]

Ids = NDArray[np.int64]


def load_cars60(data_home: Pathlike | None = None) -> Dataset:
    """Similarity of 60 cars: 14,194 triplets from 7,097 answers to *which is the most central of these three?*

    Parameters
    ----------
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.

    Returns
    -------
    Dataset
        With a column ``answer``, and from the published file ``round`` (146, each by one person) and
        ``response_time`` in seconds.
    """
    return load_by(_CARS60, data_home)


def load_nature(data_home: Pathlike | None = None) -> Dataset:
    """Similarity of 120 scenes in nature: 6,710 triplets from 3,355 answers to *which is the odd one out?*

    Parameters
    ----------
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.

    Returns
    -------
    Dataset
        With a column ``answer``.
    """
    return load_by(_NATURE, data_home)


def load_vogue(data_home: Pathlike | None = None) -> Dataset:
    """Similarity of 60 magazine covers: 2,214 triplets from 1,107 answers to *which is the odd one out?*

    Parameters
    ----------
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.

    Returns
    -------
    Dataset
        With a column ``answer``.
    """
    return load_by(_VOGUE, data_home)


def _most_central(centre: Ids, x: Ids, y: Ids) -> Ids:
    return np.stack((x, centre, y, y, centre, x), axis=1).reshape(-1, 3)


def _odd_one_out(odd: Ids, x: Ids, y: Ids) -> Ids:
    return np.stack((x, y, odd, y, x, odd), axis=1).reshape(-1, 3)


def _numbered(dataset: Dataset) -> Dataset:
    return dataset._replace(columns={"answer": np.arange(len(dataset.triplets)) // 2, **dataset.columns})


def _parse_cars(copy: Original, entry: Entry) -> Dataset:
    shown = ("triplet_object_1", "triplet_object_2", "triplet_object_3")
    wanted = ("survey_round", "chosen_center", *shown, "response_time")
    table = read_table(copy.read("survey_data.csv"), "survey_data.csv", wanted=wanted)
    centre = table.ids("chosen_center", first=1, n_objects=entry.n_objects)[:, 0]
    three = table.ids(*shown, first=1, n_objects=entry.n_objects)
    others = three != centre[:, None]
    wrong = (others.sum(axis=1) != 2) | (three[:, 0] == three[:, 1]) | (three[:, 1] == three[:, 2])
    if wrong.any():
        raise table.complaint(int(np.argmax(wrong)), "the central car is not one of three different ones.")
    T = _most_central(centre, *three[others].reshape(-1, 2).T)
    names = [f"car{i:02d}" for i in range(1, entry.n_objects + 1)]
    columns = {"round": "survey_round", "response_time": "response_time"}
    twice = {name: column(table.columns[header]).repeat(2) for name, header in columns.items()}
    return Dataset(T, names, twice, entry.description)


def _parse_odd_one_out(copy: Original, entry: Entry) -> Dataset:
    file = entry.parts[0].name
    table = read_table(copy.read(file), file, header=("x", "y", "odd"), separator=None)
    names, T = by_alphabet(*(table.columns[name] for name in ("odd", "x", "y")))
    odd, x, y = T.T
    wrong = (odd == x) | (odd == y) | (x == y)
    if wrong.any():
        raise table.complaint(int(np.argmax(wrong)), "does not name three different pictures.")
    return Dataset(_odd_one_out(odd, x, y), names, {}, entry.description)


_CARS60 = Recipe("cars60", _parse_cars, _numbered)
_NATURE = Recipe("nature", _parse_odd_one_out, _numbered)
_VOGUE = Recipe("vogue", _parse_odd_one_out, _numbered)

"""Data to learn from: simulated, of people, and your own.

`make_gaussian` makes the paper's synthetic sets, `city_answers` a map of Europe, and `flip` and `answered` wrong
answers. `load` and the loaders bring answers of people; `CATALOGUE` says what they are and whose. A loader looks
for a folder of the data set's name in ``data_home`` (or else the environment's ``ERKLE_DATA``) and then in the
user's cache, where it fetches the published files to if it finds none. `load_study` reads your own files from
Salmon, cblearn and the like.

>>> from erkle.datasets import flip, make_gaussian
>>> points = make_gaussian(n_objects=20, n_components=2, random_state=0)
>>> flip(points.triplets, probability=0.1, random_state=0).shape
(3420, 3)
"""

from collections.abc import Callable

from erkle.datasets.catalogue import CATALOGUE, Entry
from erkle.datasets.cities import Cities, city_answers, load_cities
from erkle.datasets.copies import data_folders
from erkle.datasets.dataset import Dataset
from erkle.datasets.food import load_food100
from erkle.datasets.gaussian import Gaussian, all_questions, answered, make_gaussian
from erkle.datasets.music import load_aset400, load_aset400_vdm
from erkle.datasets.noise import flip
from erkle.datasets.studies import load_eggs300, load_study, load_zappos85
from erkle.datasets.threes import load_cars60, load_nature, load_vogue
from erkle.files import Pathlike

__all__ = [
    "CATALOGUE",
    "Cities",
    "Dataset",
    "Entry",
    "Gaussian",
    "all_questions",
    "answered",
    "city_answers",
    "data_folders",
    "flip",
    "load",
    "load_aset400",
    "load_aset400_vdm",
    "load_cars60",
    "load_cities",
    "load_eggs300",
    "load_food100",
    "load_nature",
    "load_study",
    "load_vogue",
    "load_zappos85",
    "make_gaussian",
]

_LOADERS: dict[str, Callable[[Pathlike | None], Dataset]] = {
    "aset400": load_aset400,
    "aset400_vdm": load_aset400_vdm,
    "food100": load_food100,
    "cars60": load_cars60,
    "zappos85": load_zappos85,
    "eggs300": load_eggs300,
    "nature": load_nature,
    "vogue": load_vogue,
}


def load(name: str, data_home: Pathlike | None = None) -> Dataset:
    """A data set of the catalogue, by name.

    Parameters
    ----------
    name : str
        A key of `CATALOGUE`.
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.

    Returns
    -------
    Dataset
        As the data set's own loader returns it by default.

    Examples
    --------
    >>> load("aset500")
    Traceback (most recent call last):
    ValueError: There is no data set 'aset500'; choose from aset400, aset400_vdm, food100, cars60, ...
    """
    if name not in _LOADERS:
        raise ValueError(f"There is no data set {name!r}; choose from {', '.join(_LOADERS)}.")
    return _LOADERS[name](data_home)

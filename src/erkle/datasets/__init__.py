"""Data sets: simulated answers, published answers of people, and files of your own studies.

`make_gaussian` makes the synthetic data of the paper, and `city_answers` makes answers about European cities. `flip`
and `answered` add wrong answers. `load` loads a published data set by name, and `CATALOGUE` describes each of them.
`load` looks in the folder ``data_home`` (by default the environment variable ``ERKLE_DATA``) and then in the user's
cache. If neither has the data set, it downloads the published files to the cache. `load_study` reads files from
Salmon, cblearn and similar tools.

>>> from erkle.datasets import flip, make_gaussian
>>> points = make_gaussian(n_objects=20, n_components=2, random_state=0)
>>> flip(points.triplets, probability=0.1, random_state=0).shape
(3420, 3)
"""

from erkle.datasets.catalogue import CATALOGUE, Entry
from erkle.datasets.cities import Cities, city_answers, load_cities
from erkle.datasets.dataset import Dataset
from erkle.datasets.loading import load
from erkle.datasets.simulated import Gaussian, all_questions, answered, flip, make_gaussian
from erkle.datasets.studies import load_study

__all__ = [
    "CATALOGUE",
    "Cities",
    "Dataset",
    "Entry",
    "Gaussian",
    "all_questions",
    "answered",
    "city_answers",
    "flip",
    "load",
    "load_cities",
    "load_study",
    "make_gaussian",
]

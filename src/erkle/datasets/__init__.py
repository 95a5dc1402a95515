"""Data to learn from: simulated, of people, and your own.

`make_gaussian` makes the paper's synthetic sets, `city_answers` a map of Europe, and `flip` and `answered` wrong
answers. `load` brings answers of people by name; `CATALOGUE` says what they are and whose. It looks for a folder of
the data set's name in ``data_home`` (or else the environment's ``ERKLE_DATA``) and then in the user's cache, where it
fetches the published files to if it finds none. `load_study` reads your own files from Salmon, cblearn and the like.

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

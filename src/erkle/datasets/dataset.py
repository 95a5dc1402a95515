"""`Dataset`, the type that every loader returns."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import triplets


class Dataset(NamedTuple):
    """Answers of people, the names of the objects, and further columns.

    ``triplets`` has shape (m, 3) and type int64, and ``names[i]`` is the name of object i. Each of the ``columns``, for
    example ``"participant"``, is an array with one value per row of ``triplets``.
    """

    triplets: NDArray[np.int64]
    names: list[str]
    columns: Mapping[str, NDArray[Any]]
    description: str

    def rows(self, wanted: NDArray[Any]) -> "Dataset":
        """The data set with only the wanted rows, given as a mask or as row numbers."""
        columns = {name: values[wanted] for name, values in self.columns.items()}
        return self._replace(triplets=self.triplets[wanted], columns=columns)


def checked(dataset: Dataset, file: str) -> Dataset:
    """The data set, if `triplets.check` accepts its rows; otherwise raise an error that names the file."""
    try:
        return dataset._replace(triplets=triplets.check(dataset.triplets))
    except ValueError as error:
        raise triplets.ReadError(f"{file}: {error}") from None


def column(cells: list[str]) -> NDArray[Any]:
    """Cells as integers if possible, or else as floats, or else as text.

    Cells such as 007 stay text, because 7 could be a different participant.
    """
    text = np.array(cells, dtype=np.str_)
    try:
        whole = text.astype(np.int64)
        return whole if (whole.astype(np.str_) == text).all() else text
    except (ValueError, OverflowError):
        pass
    try:
        return text.astype(np.float64)
    except ValueError:
        return text


def by_alphabet(*parts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The sorted names in all columns, and the columns as positions in these names, shape (m, n_columns)."""
    names = sorted(set().union(*parts))
    places = {name: place for place, name in enumerate(names)}
    return names, np.array([list(map(places.__getitem__, part)) for part in parts], dtype=np.int64).T.copy()

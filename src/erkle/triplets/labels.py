"""Names of objects and their ids.

Names get ids in order of first appearance, and each row is read as anchor, near, far. So a stream of answers gives the
same ids however it is split. A call that fails adds no names.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import chain, count, repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.triplets.checking import repeated

PARTS = ("anchor", "near", "far")

_MISSING = frozenset(("", "nan", "na", "null", "none"))
_NEGATIVE = re.compile(r"-\d+")
# Longest name in characters.
_LONGEST_NAME = 1000
# Control characters and surrogates, which cannot be written to a text file with one name per line.
_NOT_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# With more names, the search for a similar name takes too long for an error message.
_MOST_COMPARED = 20_000


class Labels:
    """Names of objects and their ids: ``ids[names[i]] == i``.

    Parameters
    ----------
    names : iterable of str
        Names of the ids 0, 1, 2 and so on. These may be "NA" or "-1". A new name in answers must not look like a
        missing value or a negative number.

    Attributes
    ----------
    names : list of str
        Name of each id.
    ids : dict of str to int
        Id of each name.

    Examples
    --------
    >>> labels = Labels()
    >>> labels.encode([["cat", "dog", "bus"], ["bus", "tram", "cat"]])
    array([[0, 1, 2],
           [2, 3, 0]])
    >>> labels.names
    ['cat', 'dog', 'bus', 'tram']
    >>> labels.decode([[3, 2, 0]]).tolist()
    [['tram', 'bus', 'cat']]
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: list[str] = []
        self.ids: dict[str, int] = {}
        for name in names:
            self._declare(name)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Labels({len(self)} names)"

    def encode(self, rows: Iterable[Sequence[str]] | NDArray[Any], frozen: bool = False) -> NDArray[np.int64]:
        """Convert rows of names (anchor, near, far) to ids.

        Parameters
        ----------
        rows : iterable of m rows of three names
        frozen : bool
            Refuse unknown names instead of adding them.

        Returns
        -------
        ndarray of shape (m, 3), int64

        Raises
        ------
        ValueError
            If a row does not have three different names, or a name is not allowed. No names are added then.
        """
        cells = _flatten(rows)
        try:
            return self.encode_cells(cells, frozen)
        except ValueError:
            row, problem = self.first_problem(cells, frozen)
            raise ValueError(f"Row {row}: {problem}") from None

    def encode_cells(self, cells: list[str], frozen: bool = False) -> NDArray[np.int64]:
        """Encode rows given as one flat list of cells. The error does not say which row is wrong."""
        n_names = len(self.names)
        found = np.fromiter(map(self.ids.get, cells, repeat(-1)), dtype=np.int64, count=len(cells))
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            new = [cells[i] for i in unknown.tolist()]
            self._add(new, frozen)
            found[unknown] = [self.ids[name] for name in new]
        return self._rows(found, n_names)

    def encode_codes(self, codes: NDArray[np.int64], names: Sequence[str], frozen: bool = False) -> NDArray[np.int64]:
        """Encode rows given as one flat array of codes: cell i holds ``names[codes[i]]``.

        The names are in order of first appearance, and each of them occurs. The error does not say which row is wrong.
        """
        n_names = len(self.names)
        self._add([name for name in names if name not in self.ids], frozen)
        ids = np.fromiter(map(self.ids.__getitem__, names), dtype=np.int64, count=len(names))
        return self._rows(ids[codes], n_names)

    def decode(self, T: ArrayLike) -> NDArray[np.object_]:
        """Convert ids to names, as an array of str objects of the same shape.

        Parameters
        ----------
        T : array-like of int
            Ids, in any shape.

        Returns
        -------
        ndarray of object
        """
        ids: NDArray[Any] = np.asarray(T)
        if ids.size == 0:
            return np.empty(ids.shape, dtype=np.object_)
        if ids.dtype.kind not in "iu":
            raise ValueError(f"Ids have type {ids.dtype}, but ids are whole numbers; pass integers.")
        if ids.min() < 0 or ids.max() >= len(self):
            raise ValueError(
                f"Ids run from {ids.min()} to {ids.max()}, but there are {len(self)} names;"
                f" pass whole numbers from 0 to {len(self) - 1}."
            )
        names = self.names
        return np.array([names[i] for i in ids.ravel().tolist()], dtype=np.object_).reshape(ids.shape)

    def first_problem(self, cells: Sequence[str], frozen: bool = False) -> tuple[int, str]:
        """The first row that `encode_cells` refuses, and the reason."""
        for row in range(len(cells) // 3):
            problem = self._problem(cells[3 * row : 3 * row + 3], frozen)
            if problem:
                return row, problem
        raise AssertionError("Every row can be encoded.")

    def _declare(self, name: str) -> None:
        flaw = declared_flaw(name) if isinstance(name, str) else f"is {quoted(name)}; pass names as text."
        if flaw:
            raise ValueError(f"Name {len(self)} {flaw}")
        if name in self.ids:
            raise ValueError(
                f"Names {self.ids[name]} and {len(self)} are both {quoted(name)}; give each object its own name."
            )
        self.ids[str(name)] = len(self.names)
        self.names.append(str(name))

    def _add(self, new: Iterable[str], frozen: bool) -> None:
        """Give ids to unknown names, in order of first appearance."""
        names = [str(name) for name in dict.fromkeys(new)]
        if names and (frozen or any(map(_flaw, names))):
            raise ValueError("unknown or unusable name")
        self.ids.update(zip(names, count(len(self.names)), strict=False))
        self.names.extend(names)

    def _rows(self, ids: NDArray[np.int64], n_names: int) -> NDArray[np.int64]:
        """The cells as rows. If a row repeats a name, the names after the first ``n_names`` are removed again."""
        T = ids.reshape(-1, 3)
        if repeated(T).any():
            for name in self.names[n_names:]:
                del self.ids[name]
            del self.names[n_names:]
            raise ValueError("repeated name")
        return T

    def _problem(self, row: Sequence[str], frozen: bool) -> str | None:
        for part, name in zip(PARTS, row, strict=True):
            if name in self.ids:
                continue
            flaw = _flaw(name) or (self._unknown(name) if frozen else None)
            if flaw:
                return f"the {part} object {flaw}"
        for i, j in ((0, 1), (0, 2), (1, 2)):
            if row[i] == row[j]:
                return (
                    f"the {PARTS[i]} and the {PARTS[j]} object are both {quoted(row[i])};"
                    " an answer compares three different objects, so correct or delete that answer."
                )
        return None

    def _unknown(self, name: str) -> str:
        unknown = f"{quoted(name)} is not one of the {len(self)} objects"
        if len(name) <= 100 and len(self) <= _MOST_COMPARED:
            for similar in difflib.get_close_matches(name, self.names, n=1):
                return f"{unknown}; did you mean {quoted(similar)}?"
        return f"{unknown}; correct it or add it to the list of objects."


def quoted(name: object, most: int = 60) -> str:
    """The name in quotes, for an error message. Long names are shortened."""
    if isinstance(name, str) and len(name) > most:
        name = name[: most - 3] + "..."
    return repr(str(name) if isinstance(name, str) else name)


def declared_flaw(name: str) -> str | None:
    """The reason why a name is not allowed in a list of objects, or None."""
    if not name.strip():
        return f"is missing ({quoted(name)}); every object needs a name."
    if _NOT_TEXT.search(name):
        return f"has a control character ({quoted(name)}); remove it from the name."
    if len(name) > _LONGEST_NAME:
        return f"has {len(name):,} characters ({quoted(name)}); use at most {_LONGEST_NAME:,}."
    if name != name.strip():
        return f"has blanks around it ({quoted(name)}); remove them."
    return None


def _flaw(name: str) -> str | None:
    """The reason why a new name is not allowed in answers, or None."""
    if name.lower() in _MISSING:
        return f"is missing ({quoted(name)}); every answer needs three named objects."
    if _NEGATIVE.fullmatch(name):
        return f"is a negative number ({quoted(name)}); use text or numbers from 0 as names."
    return declared_flaw(name)


def _flatten(rows: Iterable[Sequence[str]] | NDArray[Any]) -> list[str]:
    listed = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    for i, row in enumerate(listed):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 3:
            raise ValueError(f"Row {i}: got {quoted(row)}, but a row has three names (anchor, near, far).")
    cells = list(chain.from_iterable(listed))
    if not all(issubclass(kind, str) for kind in set(map(type, cells))):
        i = next(i for i, cell in enumerate(cells) if not isinstance(cell, str))
        raise ValueError(
            f"Row {i // 3}: the {PARTS[i % 3]} object is {quoted(cells[i])},"
            " but names are text; pass a str, or pass ids directly to the learner."
        )
    return cells

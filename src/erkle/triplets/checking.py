"""Check the answers that users pass.

`check` returns an array of shape (m, 3), type int64 and C order, with ids from 0 to n_objects - 1 and three different
objects in each row, or raises an error that names the wrong row. The rest of the library relies on it and does not
check again.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Above this, float64 cannot represent every whole number.
_LARGEST_WHOLE_FLOAT = 2.0**53


def check(T: ArrayLike, n_objects: int | None = None) -> NDArray[np.int64]:
    """Return T as an array of answers, or raise an error that names the first wrong row.

    Parameters
    ----------
    T : array-like of shape (m, 3)
        Rows (anchor, near, far) of ids: integers, or floats with whole values. T may be an empty list.
    n_objects : int, optional
        Number of objects. Ids must be below it. By default ids may have any size.

    Returns
    -------
    ndarray of shape (m, 3), int64, C-contiguous
        T itself, not a copy, if it already is such an array.

    Raises
    ------
    ValueError
        If T has another shape or type, or if a row has an impossible id or the same object twice.

    Examples
    --------
    >>> check([[0, 1, 2]], n_objects=3)
    array([[0, 1, 2]])
    >>> check([[0, 1, 3]], n_objects=3)
    Traceback (most recent call last):
    ValueError: Triplets name object 3 (row 0), but there are 3 objects; pass n_objects=4 or call add_objects.
    """
    if type(T) is np.ndarray and T.dtype == np.int64 and T.ndim == 2 and T.shape[1] == 3:
        answers = np.ascontiguousarray(T)
    else:
        answers = _convert(T)
    if not _is_sound(answers, n_objects):
        raise ValueError(_complaint(answers, n_objects))
    return answers


def orient(T: ArrayLike, answer: ArrayLike) -> NDArray[np.int64]:
    """Turn questions (a, b, c) and their yes/no answers into rows (anchor, near, far).

    Parameters
    ----------
    T : array-like of shape (m, 3)
        Questions: is a more like b or like c?
    answer : array-like of shape (m,)
        True or 1 if b is nearer; False, 0 or -1 if c is nearer.

    Returns
    -------
    ndarray of shape (m, 3), int64
        A copy of T with b and c exchanged where the answer is no.

    Examples
    --------
    >>> orient([[0, 1, 2], [0, 3, 4]], [True, False])
    array([[0, 1, 2],
           [0, 4, 3]])
    """
    oriented = check(T).copy()
    swapped = ~_yes_or_no(answer, len(oriented))
    oriented[swapped, 1:] = oriented[swapped, :0:-1]
    return oriented


def _is_sound(T: NDArray[np.int64], n_objects: int | None) -> bool:
    limit = 2**63 if n_objects is None else n_objects
    if len(T) == 1:  # for learn_one: numpy would take 10 µs for a single answer
        a, b, c = T[0].tolist()
        return bool(a != b and a != c and b != c and min(a, b, c) >= 0 and max(a, b, c) < limit)
    # As unsigned integers, negative ids are larger than all others, so one maximum finds both kinds of error.
    return len(T) == 0 or (int(T.view(np.uint64).max()) < limit and not repeated(T).any())


def repeated(T: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the rows that name an object twice."""
    a, b, c = T.T
    mask: NDArray[np.bool_] = a == b
    mask |= a == c
    mask |= b == c
    return mask


def _convert(T: ArrayLike) -> NDArray[np.int64]:
    try:
        A: NDArray[Any] = np.asarray(T)
    except (ValueError, TypeError) as error:
        raise ValueError(
            "Triplets are rows of unequal lengths, but an answer is a row (anchor, near, far);"
            " give every row three ids."
        ) from error
    if A.shape in ((0,), (0, 3)):
        return np.empty((0, 3), dtype=np.int64)
    if A.dtype.kind not in "iuf":
        raise ValueError(
            f"Triplets are of type {A.dtype}, but ids are whole numbers;"
            " convert names to ids with Labels().encode, and yes/no answers to rows with orient."
        )
    if A.ndim != 2 or A.shape[1] != 3:
        raise ValueError(
            f"Triplets have shape {A.shape}, but an answer is a row (anchor, near, far); pass an array of shape (m, 3)."
        )
    wrong = ~_fits(A)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"Triplets name object {A[row, column]} (row {row}), but ids are whole numbers below 2**53;"
            " number the objects from 0."
        )
    return np.ascontiguousarray(A, dtype=np.int64)


def _fits(A: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the values that int64 can hold unchanged."""
    if A.dtype.kind == "f":
        wide = A.astype(np.float64)
        return np.asarray((np.abs(wide) < _LARGEST_WHOLE_FLOAT) & (wide == np.floor(wide)))
    return np.asarray(A < 2**63)


def _complaint(T: NDArray[np.int64], n_objects: int | None) -> str:
    """An error message about the first wrong row."""
    limit = 2**63 if n_objects is None else n_objects
    wrong = (T < 0).any(axis=1) | (limit <= T).any(axis=1) | repeated(T)
    row = int(np.argmax(wrong))
    a, b, c = T[row].tolist()
    if min(a, b, c) < 0:
        return f"Triplets name object {min(a, b, c)} (row {row}), but ids start at 0; correct or drop that row."
    if max(a, b, c) >= limit:
        found = max(a, b, c)
        return (
            f"Triplets name object {found} (row {row}), but there are {limit} objects;"
            f" pass n_objects={found + 1} or call add_objects."
        )
    twice = a if a in (b, c) else b
    return (
        f"Triplets name object {twice} twice (row {row}: {a}, {b}, {c}),"
        " but an answer compares three different objects; correct or drop that row."
    )


def _yes_or_no(answer: ArrayLike, n_triplets: int) -> NDArray[np.bool_]:
    given: NDArray[Any] = np.asarray(answer)
    if given.shape != (n_triplets,):
        raise ValueError(
            f"Answers have shape {given.shape}, but there are {n_triplets} questions;"
            f" pass one answer per question, shape ({n_triplets},)."
        )
    if given.dtype.kind not in "biuf" and n_triplets:
        raise ValueError(f"Answers are of type {given.dtype}; pass True or False, 1 or 0, or 1 or -1.")
    yes: NDArray[np.bool_] = given == 1
    no = given[~yes]
    if not ((no == 0).all() or (no == -1).all()):
        row = int(np.flatnonzero(~yes & (given != no[0]) | ~np.isin(given, (-1, 0, 1)))[0])
        raise ValueError(
            f"Answers hold {given[row]} (row {row}), which does not fit the other answers;"
            " pass True or False, 1 or 0, or 1 or -1."
        )
    return yes

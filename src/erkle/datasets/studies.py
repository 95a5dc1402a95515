"""Read answers from the files of other tools, such as Salmon and cblearn.

All formats give rows (anchor, near, far).
"""

import math
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.datasets.copies import read_member
from erkle.datasets.dataset import Dataset, checked, column
from erkle.files import Pathlike, read_bytes
from erkle.triplets import Labels, ReadError
from erkle.triplets.tables import Table, first_row, has_triples, read_table, triples_of

Ids = NDArray[np.int64]

_SALMON = ("head", "winner", "loser")
_RENAMED = {
    **dict.fromkeys(("puid", "participant.id", "worker", "worker_id"), "participant"),
    "response.time..s.": "response_time",
}
# Ids must be below this number.
_MOST_OBJECTS = 10_000_000


def load_study(path: Pathlike) -> Dataset:
    r"""Read answers from a file of Salmon, cblearn or a similar tool.

    The header may name (head, winner, loser) or (head, left, right, winner), as in Salmon's files; or (center, left,
    right, answer); or (anchor, near, far) or (a, b, c). Without a header, the columns are anchor, near and far, as in
    cblearn's arrays. A fourth column may then hold 1 or true if the second object is nearer, and -1, 0 or false if the
    third object is nearer. Cells are separated by commas, semicolons, tabs or blanks.

    Numbers are ids that start at 0 if the file is Salmon's or has no header. Otherwise cells are names, and ids follow
    the order of first appearance. Salmon's file names become the names of the objects.

    Parameters
    ----------
    path : path
        The file, or a ZIP archive that contains only this file.

    Returns
    -------
    Dataset
        The file's other columns are included, with names in lower case. The column of participants is called
        ``participant``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "responses.csv")
    ...     _ = path.write_text("head,left,right,winner,puid\n0,2,1,1,Ann\n2,0,1,1,Bob\n")
    ...     study = load_study(path)
    >>> study.triplets.tolist(), study.columns["participant"].tolist()
    ([[0, 1, 2], [2, 1, 0]], ['Ann', 'Bob'])
    """
    path = Path(path)
    data = read_member(path) if path.suffix.lower() == ".zip" else read_bytes(path)
    separator, words = first_row(data, path.name)
    has_header = has_triples(word.lower() for word in words)
    if not has_header and len(words) not in (3, 4):
        raise ReadError(
            f"{path.name}: has {len(words)} columns and no known header;"
            " use three columns, or a header with head, winner, loser."
        )
    header = None if has_header else ("anchor", "near", "far", "response")[: len(words)]
    table = read_table(data, path.name, header, separator=separator)
    response = None if has_header else table.columns.pop("response", None)
    cells, used = triples_of(table)
    if ("head" in used or not has_header) and all(map(_is_number, chain.from_iterable(cells))):
        T = _numbers(table, cells)
        names = _file_names(table, T)
    else:
        labels = Labels()
        T, names = _encoded(labels, cells, table), labels.names
    columns = {
        _RENAMED.get(name, name): column(values)
        for name, values in table.columns.items()
        if name not in used and not name.endswith(("_html", "_filename"))
    }
    dataset = checked(Dataset(T, names, columns, f"Answers from {path.name}."), path.name)
    if response is None:
        return dataset
    return dataset._replace(triplets=triplets.orient(dataset.triplets, _yes_or_no(response, path.name)))


def _numbers(table: Table, cells: list[list[str]]) -> Ids:
    found = np.array(cells, dtype=np.str_).astype(np.float64).T
    wrong = ~((found >= 0) & (found < _MOST_OBJECTS) & (found == np.floor(found))).all(axis=1)
    if wrong.any():
        raise table.complaint(
            int(np.argmax(wrong)), f"has an id that is not a whole number from 0 to {_MOST_OBJECTS - 1}."
        )
    return np.ascontiguousarray(found, dtype=np.int64)


def _encoded(labels: Labels, cells: list[list[str]], table: Table) -> Ids:
    flat = list(chain.from_iterable(zip(*cells, strict=True)))
    try:
        return labels.encode_cells(flat)
    except ValueError:
        raise table.complaint(*labels.first_problem(flat)) from None


def _file_names(table: Table, T: Ids) -> list[str]:
    names = {i: str(i) for i in range(int(T.max()) + 1)}
    for i, part in enumerate(_SALMON):
        names.update(zip(T[:, i].tolist(), table.columns.get(f"{part}_filename", []), strict=False))
    # File names that are empty or not unique cannot be names.
    are_names = len(set(names.values())) == len(names) and all(names.values())
    return list(names.values()) if are_names else [str(i) for i in names]


def _yes_or_no(response: list[str], file: str) -> NDArray[Any]:
    words = {"true": 1.0, "false": 0.0}
    cells = [cell.lower() for cell in response]
    try:
        found = np.array([words[cell] if cell in words else float(cell) for cell in cells])
    except ValueError:
        found = np.full(len(cells), math.nan)
    if not (np.isin(found, (0, 1)).all() or np.isin(found, (-1, 1)).all()):
        raise ReadError(
            f"{file}: has other values than 1 and -1, 1 and 0, or true and false in its fourth column; correct them."
        )
    return found


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False

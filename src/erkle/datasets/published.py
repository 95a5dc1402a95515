"""Read published files. Each format has its own reader.

A reader returns all rows of the files, with ids that start at 0, and the files' further columns.

Some answers choose one of three objects without an anchor: the most central object, or the odd one out. Each such
answer gives two consecutive rows. If c is central among x, y and c, then x is nearer to c than to y, and y is nearer
to c than to x. If o is the odd one out, then x is nearer to y than to o, and y is nearer to x than to o.
"""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.datasets.copies import Copy
from erkle.datasets.dataset import Dataset, by_alphabet, checked, column
from erkle.files import FileError, read_bytes
from erkle.triplets.tables import decoded, triples_of

Ids = NDArray[np.int64]


def _artists(copy: Copy) -> dict[int, str]:
    """Artists' names by number, from cblearn's list. If a number has two names, the later one counts."""
    table = copy.table("musician_names.txt", header=("name", "id"), separator=None)
    ids = table.integers("id")[:, 0].tolist()
    last = {key: row for row, key in enumerate(ids)}
    return {key: table.columns["name"][row] for row, key in enumerate(ids) if last[key] == row}


def _survey(copy: Copy) -> Dataset:
    """The survey of musicseer.org, without the lines about artists that are not in the list."""
    artists = _artists(copy)
    header = ("judgement", "kind", "participant", "target", "chosen", "other")
    table = copy.table("filtered-survey.txt", header, separator=None)
    places = {key: place for place, key in enumerate(artists)}
    ids = table.integers("target", "chosen", "other")
    T = np.array([[places.get(key, -1) for key in row] for row in ids.tolist()], dtype=np.int64)
    columns = {name: column(table.columns[name]) for name in ("judgement", "participant")}
    return Dataset(T, list(artists.values()), columns, copy.entry.description).rows(T.min(axis=1) >= 0)


def _matrix(copy: Copy) -> Dataset:
    """Van der Maaten's version of the survey, without conflicts."""
    from scipy.io import loadmat

    names = list(_artists(copy).values())
    try:
        found = loadmat(io.BytesIO(copy.read("music_triplets.mat")), variable_names=["triplets"])["triplets"]
        # The file stores uint16, where 0 - 1 would be 65535.
        T = np.asarray(found, dtype=np.int64).reshape(-1, 3) - 1
    # A damaged file can raise ValueError, KeyError, TypeError, NotImplementedError, zlib.error and more.
    except Exception as error:
        raise FileError(
            "music_triplets.mat: is not a MATLAB 5 file with a matrix triplets; download it again."
        ) from error
    if T.min(initial=0) < 0 or T.max(initial=0) >= len(names):
        raise FileError(f"music_triplets.mat: has ids outside 1 to {len(names)}; download it again.")
    return Dataset(T, names, {}, copy.entry.description)


def _dishes(copy: Copy) -> Dataset:
    """Answers from grids of pictures.

    Participants chose the dishes in a grid that taste most like another dish. Each chosen dish is nearer to it than
    each dish that was not chosen. The published table and the raw screens give the same answers.
    """
    if copy.paths["all-triplets.csv"].is_dir():
        *parts, screens, participants = _screens(copy.paths["all-triplets.csv"])
        columns = {"participant": column(participants), "screen": column(screens)}
    else:
        table = copy.table("all-triplets.csv", header=("probe", "near", "far"), separator=";")
        parts, columns = list(table.columns.values()), {}
    names, T = by_alphabet(*parts)
    return Dataset(T, names, columns, copy.entry.description)


def _screens(folder: Path) -> list[list[str]]:
    """The columns probe, near, far, screen and participant."""
    rows: list[tuple[str, ...]] = []
    for path in sorted(folder.glob("*.json")):
        for number, (participant, screen) in enumerate(_screens_of(path)):
            # Catch trials have known answers, which only test the participant.
            if not screen["is_catchtrial"]:
                near = screen["near_answer"]
                rest = [image for image in screen["images"] if image not in near]
                tags = f"{path.stem}/{number}", str(participant)
                rows += ((screen["probe"], b, c, *tags) for b in near for c in rest)
    if not rows:
        raise FileError(f"{folder.name}: has no answers; download the JSON files again.")
    return [list(cells) for cells in zip(*rows, strict=True)]


def _screens_of(path: Path) -> Iterator[tuple[object, dict[str, Any]]]:
    try:
        for task in json.loads(decoded(read_bytes(path), path.name)):
            for screen in task["HIT_screens"]:
                _ = screen["is_catchtrial"], screen["near_answer"], screen["images"], screen["probe"]
                yield task["worker_id"], screen
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path.name}: is not a list of tasks with screens; download it again.") from error


def _cars(copy: Copy) -> Dataset:
    """Answers that choose the most central of three cars."""
    n_objects = copy.entry.n_objects
    shown = ("triplet_object_1", "triplet_object_2", "triplet_object_3")
    table = copy.table("survey_data.csv", wanted=("survey_round", "chosen_center", *shown, "response_time"))
    centre = table.ids("chosen_center", first=1, n_objects=n_objects)
    three = table.ids(*shown, first=1, n_objects=n_objects)
    others = three != centre
    wrong = (others.sum(axis=1) != 2) | (three[:, 0] == three[:, 1]) | (three[:, 1] == three[:, 2])
    if wrong.any():
        raise table.complaint(int(np.argmax(wrong)), "does not choose one of three different cars.")
    x, y = three[others].reshape(-1, 2).T
    T = np.stack((x, centre[:, 0], y, y, centre[:, 0], x), axis=1).reshape(-1, 3)
    names = [f"car{i:02d}" for i in range(1, n_objects + 1)]
    columns = {"round": "survey_round", "response_time": "response_time"}
    twice = {name: column(table.columns[header]).repeat(2) for name, header in columns.items()}
    return Dataset(T, names, twice, copy.entry.description)


def _odd_one_out(copy: Copy) -> Dataset:
    """Answers that choose the odd one out of three pictures."""
    table = copy.table(copy.entry.parts[0].name, header=("x", "y", "odd"), separator=None)
    names, T = by_alphabet(*table.columns.values())
    x, y, odd = T.T
    wrong = (odd == x) | (odd == y) | (x == y)
    if wrong.any():
        raise table.complaint(int(np.argmax(wrong)), "does not name three different pictures.")
    return Dataset(np.stack((x, y, odd, y, x, odd), axis=1).reshape(-1, 3), names, {}, copy.entry.description)


def _shoes(copy: Copy) -> Dataset:
    file, n_objects = "deconflicted_triplets.csv", copy.entry.n_objects
    T = copy.table(file, header=("a", "b", "c")).ids("a", "b", "c", first=0, n_objects=n_objects)
    return checked(Dataset(T, [f"images/{i}.jpg" for i in range(n_objects)], {}, copy.entry.description), file)


def _eggs(copy: Copy) -> Dataset:
    further = copy.entry.columns
    table = copy.table("responses.csv", wanted=("center", "left", "right", "answer", *further))
    names, T = by_alphabet(*triples_of(table)[0])
    columns = {name: column(table.columns[header]) for header, name in further.items()}
    return checked(Dataset(T, names, columns, copy.entry.description), "responses.csv")


READERS: dict[str, Callable[[Copy], Dataset]] = {
    "aset400": _survey,
    "aset400_vdm": _matrix,
    "food100": _dishes,
    "cars60": _cars,
    "zappos85": _shoes,
    "eggs300": _eggs,
    "nature": _odd_one_out,
    "vogue": _odd_one_out,
}

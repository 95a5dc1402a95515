"""`erkle place`: where objects are that nobody was asked about, according to their features alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from erkle.cli.options import Out, check_dimensions, results_folder
from erkle.cli.screen import console, counted, numbers, print_table, waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from erkle.online import ERKLE

    Floats = NDArray[np.float64]

# Nearest objects in the file, and on the screen.
_NEAREST, _NEAREST_SHOWN = 5, 3
# Rows of the table on the screen.
_SHOWN = 20
# New objects whose distances to all known objects are computed at once.
_PIECE = 1000


def place(
    kernel: Annotated[Path, typer.Argument(help="A kernel.npz that was learned with --features.")],
    features: Annotated[
        list[str],
        typer.Option(
            metavar="[NAME=]FILE",
            help="File with features of the new objects, of the same kind as those of the learner. May be repeated.",
        ),
    ],
    objects: Annotated[
        Path | None, typer.Option(help="File that lists the new objects, if the features do not name them.")
    ] = None,
    dimensions: Annotated[int, typer.Option(help="Number of coordinates in placed.csv.")] = 2,
    out: Out = Path("erkle-place"),
) -> None:
    """Place new objects on a learned map by their features, without any answers about them."""
    check_dimensions(dimensions)
    with waiting("Loading libraries"):
        from erkle.online import ERKLE
    learner, known = ERKLE.load(kernel), _names(kernel)
    if not learner.features_:
        raise ValueError(
            f"{kernel.name}: was learned without features, so it cannot place objects; "
            "learn it with erkle learn --features."
        )
    placed = _placed(learner, known, kernel.name, features, objects)
    with results_folder(out):
        _write(placed, dimensions, out)
    _show(placed, learner, out)


class Placed(NamedTuple):
    """New objects, their coordinates in the frame of the map, and the known objects nearest to each of them.

    ``is_known`` marks objects that the learner knows; they are placed by their features as well.
    """

    names: list[str]
    coordinates: Floats
    is_known: list[bool]
    nearest: list[list[str]]


def _names(kernel: Path) -> list[str]:
    from erkle.npz_files import load_npz

    labels = load_npz(kernel)[0].get("labels")
    if labels is None:
        raise ValueError(f"{kernel.name}: contains no names of objects; save it with labels=[...].")
    names: list[str] = labels.tolist()
    return names


def _placed(learner: ERKLE, known: list[str], kernel: str, texts: list[str], objects: Path | None) -> Placed:
    import numpy as np

    from erkle.cli.features import Matched, ignored, listed, read_files
    from erkle.triplets import read_objects

    found = Matched.of(read_files(texts), None if objects is None else read_objects(objects))
    blocks = _of_learner(found.blocks, learner, kernel)
    if sentence := ignored(found.unknown, str(objects)):
        console.print(sentence, style="yellow")
    described = np.logical_not(np.all([np.isnan(vectors).any(axis=1) for vectors in blocks.values()], axis=0))
    if without := [found.ids[i] for i in np.flatnonzero(~described)]:
        have = "has" if len(without) == 1 else "have"
        words = f"{counted(len(without), 'object')} {have} no features{listed(without)}; not placed."
        console.print(words, style="yellow")
    if not described.any():
        raise ValueError("No object has features to place it by; check the files of --features.")
    names = [found.ids[i] for i in np.flatnonzero(described)]
    if not any(part.any() for part in learner.feature_map_.values()):
        raise ValueError(f"{kernel}: its features turned out to predict nothing, so they cannot place objects.")
    X = learner.place({name: vectors[described] for name, vectors in blocks.items()})
    number = {name: i for i, name in enumerate(known)}
    itself = [number.get(name, -1) for name in names]
    return Placed(names, X, [i >= 0 for i in itself], _nearest(X, itself, learner, known))


def _of_learner(blocks: dict[str, Floats], learner: ERKLE, kernel: str) -> dict[str, Floats]:
    """The blocks by their names in the learner; a single block needs no name."""
    wanted = [worth.name for worth in learner.features_]
    if len(blocks) == len(wanted) == 1:
        return {wanted[0]: next(iter(blocks.values()))}
    for name in blocks:
        if name not in wanted:
            raise ValueError(f"{kernel}: knows no features {name}, but {' and '.join(wanted)}; name them NAME=FILE.")
    for name in wanted:
        if name not in blocks:
            raise ValueError(
                f"{kernel}: was learned with the features {' and '.join(wanted)}, but {name} is missing; "
                f"pass --features {name}=FILE too."
            )
    return blocks


def _nearest(X: Floats, itself: list[int], learner: ERKLE, known: list[str]) -> list[list[str]]:
    """The names of the known objects that are nearest to each row of X, the nearest first; never the object itself."""
    import numpy as np

    places, shifts = learner.embedding(), learner.shifts_
    lengths, nearest = (places**2).sum(axis=1) + shifts, []
    for start in range(0, len(X), _PIECE):
        squared = lengths - 2.0 * X[start : start + _PIECE] @ places.T
        for row, own in zip(squared, itself[start : start + _PIECE], strict=True):
            if own >= 0:
                row[own] = np.inf
            best = np.argsort(row, kind="stable")[: min(_NEAREST, len(known) - (own >= 0))]
            nearest.append([known[i] for i in best])
    return nearest


def _write(placed: Placed, dimensions: int, out: Path) -> None:
    import numpy as np

    from erkle.csv_files import csv_text
    from erkle.files import write_text

    X = placed.coordinates[:, :dimensions]
    X = np.pad(X, ((0, 0), (0, dimensions - X.shape[1])))
    axes = ["x", "y"] if dimensions == 2 else [f"x{i + 1}" for i in range(dimensions)]
    header = ["object", *axes, "known", *(f"nearest_{i + 1}" for i in range(_NEAREST))]
    rows: list[list[object]] = []
    for name, x, is_known, nearest in zip(placed.names, X.tolist(), placed.is_known, placed.nearest, strict=True):
        empty = [""] * (_NEAREST - len(nearest))
        rows.append([name, *x, "yes" if is_known else "no", *nearest, *empty])
    write_text(out / "placed.csv", csv_text(header, rows))


def _show(placed: Placed, learner: ERKLE, out: Path) -> None:
    from erkle.cli.features import listed

    rows = [
        [name, *(f"{value:.3f}" for value in x[:2]), ", ".join(nearest[:_NEAREST_SHOWN])]
        for name, x, nearest in zip(placed.names, placed.coordinates.tolist(), placed.nearest, strict=True)
    ]
    axes = ["x", "y"][: placed.coordinates.shape[1]]
    print_table(["object", *numbers(*axes), "nearest"], rows[:_SHOWN])
    if known := [name for name, is_known in zip(placed.names, placed.is_known, strict=True) if is_known]:
        are, have = ("is", "has") if len(known) == 1 else ("are", "have")
        objects = counted(len(known), "object")
        console.print(
            f"{objects} {are} known to the learner and {have} a place from answers too{listed(known)}; "
            "placed.csv marks them and shows where features alone would put them."
        )
    for worth in learner.features_:
        console.print(f"Features: {worth}")
    if not any(worth.verdict == "helps" for worth in learner.features_):
        console.print("No features have been shown to help, so these places may mean little.", style="yellow")
    console.print(f"Placed {counted(len(placed.names), 'object')}. The places are in {out / 'placed.csv'}.")

"""Features of objects: named blocks of vectors, prepared once, and extended when objects are added."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.checks import shaped
from erkle.features.blocks import Block, Rows, Useless, checked
from erkle.npz_files import Arrays, prefixed, under

Floats = NDArray[np.float64]
# Vectors of one kind, or of several kinds by name.
Vectors = ArrayLike | Mapping[str, ArrayLike]

# The name of a block that was given without a name.
UNNAMED = "features"


class Features(NamedTuple):
    """Blocks of features of n objects.

    Attributes
    ----------
    blocks : tuple of Block
    axes : (n, p) array
        The rows of all blocks, side by side.
    rest : (n, b) array
        Squared length of the part of each vector outside the axes of its block.
    known : (n, b) array of booleans
        Whether an object has a vector.
    gram : (p, p) array
        Inner products of the columns of ``axes`` over the first objects. It fixes the frame of the coordinates, so it
        does not change when objects are added.
    """

    blocks: tuple[Block, ...]
    axes: Floats
    rest: Floats
    known: NDArray[np.bool_]
    gram: Floats

    @classmethod
    def of(cls, vectors: "Vectors | Features", n_objects: int) -> Self:
        """Prepare vectors, (n_objects, d), or a mapping from names to such arrays."""
        if isinstance(vectors, Features):
            return cls(*vectors._first(n_objects))
        return cls._of([Block.of(name, block) for name, block in _named(vectors).items()], n_objects)

    @classmethod
    def useful(cls, vectors: Mapping[str, ArrayLike], n_objects: int) -> Self | None:
        """Prepare the blocks that say something, or return None if there are none."""
        made = []
        for name, block in vectors.items():
            with suppress(Useless):
                made.append(Block.of(name, block))
        return cls._of(made, n_objects) if made else None

    @classmethod
    def _of(cls, made: list[tuple[Block, Rows]], n_objects: int) -> Self:
        for block, rows in made:
            _check_length(block.name, len(rows.axes), n_objects)
        axes, rest, known = _side_by_side([rows for _, rows in made])
        return cls(tuple(block for block, _ in made), axes, rest, known, axes.T @ axes)

    def _first(self, n_objects: int) -> "Features":
        if len(self.axes) < n_objects:
            raise ValueError(
                f"The features describe {len(self.axes)} objects, but there are {n_objects}; pass a row for each."
            )
        return self._replace(axes=self.axes[:n_objects], rest=self.rest[:n_objects], known=self.known[:n_objects])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the blocks."""
        return tuple(block.name for block in self.blocks)

    @property
    def block_of_axis(self) -> NDArray[np.int64]:
        """The number of the block that each column of ``axes`` belongs to."""
        return np.repeat(np.arange(len(self.blocks)), [block.axes.shape[1] for block in self.blocks])

    def rows(self, vectors: Vectors | None, n_new: int | None = None) -> Rows:
        """The rows of further objects; blocks that are not given, and all of them for None, are unknown."""
        named = {} if vectors is None else _named(vectors)
        if unknown := [name for name in named if name not in self.names]:
            known = " and ".join(self.names)
            raise ValueError(f"There are no features {unknown[0]}; the learner knows {known}.")
        given = {name: checked(name, block) for name, block in named.items()}
        if n_new is None:
            n_new = len(next(iter(given.values()), ()))
        for name, block in given.items():
            _check_length(name, len(block), n_new)
        missing = {
            block.name: np.full((n_new, len(block.mean)), np.nan) for block in self.blocks if block.name not in given
        }
        return _side_by_side([block.rows((missing | given)[block.name]) for block in self.blocks])

    def last(self, n: int) -> Rows:
        """The rows of the last n objects."""
        start = len(self.axes) - n
        return Rows(self.axes[start:], self.rest[start:], self.known[start:])

    def extended(self, rows: Rows) -> Self:
        """The features with further objects."""
        known = np.concatenate([self.known, rows.known])
        rest = np.concatenate([self.rest, rows.rest])
        return self._replace(axes=np.concatenate([self.axes, rows.axes]), rest=rest, known=known)

    def arrays(self) -> Arrays:
        """The whole state, as arrays."""
        arrays: Arrays = {"axes": self.axes, "rest": self.rest, "known": self.known, "gram": self.gram}
        arrays["names"] = np.array(self.names, dtype=np.str_)
        for number, block in enumerate(self.blocks):
            arrays |= prefixed(f"block{number}", block.arrays())
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Restore features from their `arrays`."""
        names = [str(name) for name in arrays["names"]]
        blocks = tuple(Block.from_arrays(name, under(f"block{i}", arrays)) for i, name in enumerate(names))
        n, p = len(arrays["axes"]), sum(block.axes.shape[1] for block in blocks)
        rest, known = shaped(arrays, "rest", (n, len(blocks))), shaped(arrays, "known", (n, len(blocks)), np.bool_)
        return cls(blocks, shaped(arrays, "axes", (n, p)), rest, known, shaped(arrays, "gram", (p, p)))


def _named(vectors: Vectors) -> Mapping[str, ArrayLike]:
    if not isinstance(vectors, Mapping):
        return {UNNAMED: vectors}
    if not vectors:
        raise ValueError("features is an empty mapping; pass at least one array, or leave features out.")
    for name in vectors:
        # Other characters would be lost in files, or could not be printed.
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ValueError(f"A block of features is called {name!r}; pass a name of visible characters.")
    return vectors


def _check_length(name: str, length: int, n_objects: int) -> None:
    if length != n_objects:
        raise ValueError(f"Features {name}: got {length} rows for {n_objects} objects; pass one row per object.")


def _side_by_side(rows: list[Rows]) -> Rows:
    axes, rest, known = (np.concatenate(parts, axis=1) for parts in zip(*rows, strict=True))
    return Rows(np.ascontiguousarray(axes), rest, known)

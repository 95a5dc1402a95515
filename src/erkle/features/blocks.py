"""A block of features: vectors of one kind, one per object, reduced to their principal axes.

Law: the row of an object depends only on its own vector and on the block's transformation, so an object that is added
later gets the row that it would have had if the transformation had been the same from the start.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.checks import shaped
from erkle.npz_files import Arrays

Floats = NDArray[np.float64]

# Most principal axes of a block. On THINGS, 60 and 150 axes of CLIP and word2vec vectors were equally good.
_MOST_AXES = 40
# An axis whose spread is a smaller share of the widest one is only rounding.
_LEAST_SPREAD = 1e-6
# From this number of columns on, vectors are embeddings: their columns have one unit, and their length means little.
# On THINGS, centred CLIP vectors of length one are right about .505 of the answers, with columns scaled .463.
_EMBEDDING_FROM = 32
# Rows that are prepared at a time, so that large blocks need no copies.
_CHUNK = 8192
# Blocks with more numbers are decomposed by subspace iteration: a full decomposition would need several copies.
_EXACT_UP_TO = 4_000_000
# Larger numbers are refused, because sums of their squares could overflow.
_LARGEST = np.float64(1e100)
# A further object whose vector is longer by this factor than usual would leave only rounding of all others.
_FARTHEST = 1e6
# Directions that subspace iteration follows in addition to those wanted, and its passes over the vectors.
_MORE, _PASSES = 20, 6


class Useless(ValueError):
    """Vectors that say nothing: of fewer than two objects, or the same for all."""


class Rows(NamedTuple):
    """Objects as b blocks describe them.

    Attributes
    ----------
    axes : (n, p) array
        Positions on the principal axes; the mean squared length of a vector is about 1. Zeros where unknown.
    rest : (n, b) array
        Squared length of the part of each vector outside the principal axes.
    known : (n, b) array of booleans
        Whether the object has a vector.
    """

    axes: Floats
    rest: Floats
    known: NDArray[np.bool_]


class Block(NamedTuple):
    """How vectors of one kind are prepared, and their principal axes.

    A prepared vector is ``(vector - mean) / scale``, set to length one if ``unit``, minus ``centre``.

    Attributes
    ----------
    name : str
    mean, scale : (d,) arrays
    unit : bool
        Whether every vector gets length one.
    centre : (d,) array
        The mean of the vectors at that point.
    axes : (d, p) array
        Orthonormal columns, the direction of the largest spread first.
    """

    name: str
    mean: Floats
    scale: Floats
    unit: bool
    centre: Floats
    axes: Floats

    @classmethod
    def of(cls, name: str, vectors: ArrayLike) -> tuple[Self, Rows]:
        """The block of vectors, (n, d), and its rows; a row of NaN is an object without a vector."""
        F = checked(name, vectors)
        known = np.flatnonzero(_known(name, F))
        if len(known) < 2:
            given = f"{len(known)} vector{'' if len(known) == 1 else 's'}"
            raise Useless(f"Features {name}: got {given}; pass vectors of two or more objects.")
        mean = _mean(F, known, lambda rows: rows)
        spread = np.sqrt(_mean(F, known, lambda rows: (rows - mean) ** 2))
        varies = spread > 1e-12 * np.maximum(1.0, np.abs(mean))
        if not varies.any():
            raise Useless(
                f"Features {name}: all objects have the same vector up to rounding, which says nothing; leave it out, "
                "or multiply tiny numbers by a constant."
            )
        unit = F.shape[1] >= _EMBEDDING_FROM
        scale = np.ones_like(mean) if unit else np.where(varies, spread, np.inf) * np.sqrt(varies.sum())
        block = cls(name, mean, scale, unit, np.zeros_like(mean), np.empty((F.shape[1], 0)))
        block = block._replace(centre=_mean(F, known, block.prepared))
        block = block._replace(axes=_principal_axes(F, known, block.prepared))
        return block, block.rows(F)

    def rows(self, vectors: ArrayLike) -> Rows:
        """The rows of objects with these vectors, (n, d)."""
        F = checked(self.name, vectors)
        if F.shape[1] != len(self.mean):
            raise ValueError(
                f"Features {self.name}: got {F.shape[1]} columns, but the learner knows {len(self.mean)}; "
                "pass vectors of the same kind."
            )
        known = _known(self.name, F)
        axes, rest = np.zeros((len(F), self.axes.shape[1])), np.zeros(len(F))
        for rows in _chunks(np.flatnonzero(known)):
            prepared = self.prepared(F[rows])
            squared = (prepared**2).sum(axis=1)
            for row in np.flatnonzero(squared > _FARTHEST**2)[:1]:
                raise ValueError(
                    f"Features {self.name}: the vector in row {rows[row]} is {np.sqrt(squared[row]):.0e} times as long "
                    "as is usual; check its units."
                )
            axes[rows] = prepared @ self.axes
            rest[rows] = np.maximum(0.0, squared - (axes[rows] ** 2).sum(axis=1))
        return Rows(axes, rest[:, None], known[:, None])

    def prepared(self, F: NDArray[Any]) -> Floats:
        """The prepared vectors, (n, d)."""
        prepared = (F.astype(np.float64) - self.mean) / self.scale
        if self.unit:
            prepared /= np.maximum(1e-12, np.sqrt((prepared**2).sum(axis=1, keepdims=True)))
        return np.asarray(prepared - self.centre)

    def arrays(self) -> Arrays:
        """The transformation, as arrays."""
        vectors = {"mean": self.mean, "scale": self.scale, "centre": self.centre}
        return {**vectors, "unit": np.array(self.unit), "axes": self.axes}

    @classmethod
    def from_arrays(cls, name: str, arrays: dict[str, NDArray[Any]]) -> Self:
        """Restore a block from its `arrays`."""
        d, p = arrays["axes"].shape
        scale = np.array(arrays["scale"], np.float64)
        if scale.shape != (d,) or not (scale > 0.0).all():
            raise ValueError(f"the scale of the features {name} has shape {scale.shape} or is not positive")
        mean, centre = shaped(arrays, "mean", (d,)), shaped(arrays, "centre", (d,))
        return cls(name, mean, scale, bool(arrays["unit"]), centre, shaped(arrays, "axes", (d, p)))


def checked(name: str, vectors: ArrayLike) -> NDArray[Any]:
    """The vectors as an array of numbers, (n, d), of any type; masked numbers become NaN."""
    try:
        F = np.asarray(vectors)
    except (TypeError, ValueError):
        raise ValueError(
            f"Features {name}: got rows that are not numbers or differ in length; pass numbers, one row per object."
        ) from None
    if F.ndim != 2 or not F.shape[1] or F.dtype.kind not in "buif":
        got = f"an array of {F.dtype} and shape {F.shape}" if F.ndim else f"a {type(vectors).__name__}"
        raise ValueError(f"Features {name}: got {got}; pass an array of numbers, one row per object.")
    return np.where(np.ma.getmaskarray(vectors), np.nan, F) if isinstance(vectors, np.ma.MaskedArray) else F


def _known(name: str, F: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have a vector: all numbers are NaN in the others. Huge numbers, and rows with gaps, are refused."""
    known = np.empty(len(F), np.bool_)
    for rows in _chunks(np.arange(len(F))):
        infinite, missing, huge = np.isinf(F[rows]), np.isnan(F[rows]), np.abs(F[rows]) > _LARGEST
        for row, column in np.argwhere(infinite)[:1]:
            raise ValueError(f"Features {name}: row {rows[row]} has infinity in column {column}; pass finite numbers.")
        for row, column in np.argwhere(huge)[:1]:
            raise ValueError(
                f"Features {name}: row {rows[row]} has a number beyond {_LARGEST:.0e} in column {column}; divide the "
                "numbers by a constant."
            )
        for row, column in np.argwhere(missing & np.logical_not(missing.all(axis=1, keepdims=True)))[:1]:
            raise ValueError(
                f"Features {name}: row {rows[row]} has NaN in column {column}; fill the gap, "
                "or make the whole row NaN if nothing is known about the object."
            )
        known[rows] = np.logical_not(missing[:, 0])
    return known


def _chunks(ids: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]


def _mean(F: NDArray[Any], known: NDArray[np.int64], of: Callable[[NDArray[Any]], Floats]) -> Floats:
    """The mean of a function of the known rows."""
    return np.asarray(sum(of(F[rows].astype(np.float64)).sum(axis=0) for rows in _chunks(known)) / len(known))


def _principal_axes(F: NDArray[Any], known: NDArray[np.int64], prepared: Callable[[NDArray[Any]], Floats]) -> Floats:
    """The directions of the largest spread of the prepared rows, (d, p), with a fixed sign."""
    most = min(_MOST_AXES, len(known), F.shape[1])
    if len(known) * F.shape[1] <= _EXACT_UP_TO:
        _, spread, V = np.linalg.svd(prepared(F[known]), full_matrices=False)
    else:
        spread, V = _by_subspace_iteration(F, known, prepared, most)
    kept = spread[:most] > _LEAST_SPREAD * spread[0]
    V = V[:most][kept]
    largest = V[np.arange(len(V)), np.abs(V).argmax(axis=1)]
    return np.ascontiguousarray((V * np.sign(largest)[:, None]).T)


def _by_subspace_iteration(
    F: NDArray[Any], known: NDArray[np.int64], prepared: Callable[[NDArray[Any]], Floats], most: int
) -> tuple[Floats, Floats]:
    """The largest singular values of the prepared rows, and their right singular vectors (Halko et al. 2011)."""
    V = np.random.default_rng(0).standard_normal((F.shape[1], min(F.shape[1], most + _MORE)))
    for _ in range(_PASSES):
        V, _ = np.linalg.qr(V)
        V = np.asarray(sum(P.T @ (P @ V) for P in (prepared(F[rows]) for rows in _chunks(known))))
    V, _ = np.linalg.qr(V)
    half = [prepared(F[rows]) @ V for rows in _chunks(known)]
    values, vectors = np.linalg.eigh(sum(H.T @ H for H in half))
    return np.sqrt(np.maximum(values[::-1], 0.0)), (V @ vectors[:, ::-1]).T

"""Features: vectors that describe the objects of studies, in named blocks, stored in single precision.

A block has a row per object, in the order of their numbers. A row of NaN is an object without a vector, and so is an
object after the last row. Every change counts as a change of the roster, because the learner learns from the start.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import RowMapping, delete, insert, select, update

from erkle.store import limits
from erkle.store.database import rows, schema
from erkle.store.database.sqlite.room import check_room
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed, StoreError, Unknown
from erkle.store.sanitising import bounded_text, is_text, strict_text

Vectors = NDArray[np.float32]
Blocks = Mapping[str, Vectors]

# How numbers are stored: in single precision, the lowest byte first.
_STORED = np.dtype("<f4")
_T = schema.features.c


class Features(Topic):
    """The features of studies, by the name of the block."""

    @reading
    def all(self, study: str) -> dict[str, Vectors]:
        """Return all blocks of a study, sorted by name, each an (n_objects, d) array."""
        row = rows.study(self.connection, study)
        found = self._stored(row["id"])
        return {name: _padded(found[name], row["n_objects"]) for name in sorted(found)}

    @writing
    def add(self, study: str, blocks: Blocks, names: Sequence[str] | None = None) -> None:
        """Add blocks to a study; a block replaces the one of the same name.

        Parameters
        ----------
        study : str
        blocks : mapping from names to (n_objects, d) arrays
            Finite numbers; a row of NaN is an object without a vector.
        names : sequence of str, optional
            The names of the objects that the rows describe. If the first objects of the study have other names by now,
            nothing changes.
        """
        row = rows.lock_study(self.connection, study)
        if names is not None:
            self._check_names(row["id"], names)
        self._write(row, self._stored(row["id"]), blocks)
        self._change_roster(row["id"])

    @writing
    def remove(self, study: str, name: str) -> None:
        """Remove a block from a study."""
        number = rows.lock_study(self.connection, study)["id"]
        of_name = delete(schema.features).where(_T.study_id == number, _T.name == name)
        if not is_text(name, limits.FEATURE_NAME) or not self.connection.execute(of_name).rowcount:
            raise Unknown(f"The study has no features {bounded_text(name, 60)!r}; check the name.")
        self._change_roster(number)

    @writing
    def reorder(self, study: str, kept: Sequence[int | None]) -> None:
        """Give each object the vectors of the object that had the number in ``kept``, and a new object none.

        Blocks without any vector left are removed.
        """
        row = rows.lock_study(self.connection, study)
        places = np.array([-1 if number is None else number for number in kept])
        after = {}
        for name, before in self._stored(row["id"]).items():
            wide = _padded(before, max(len(before), int(places.max(initial=0)) + 1))
            vectors = np.where((places >= 0)[:, None], wide[places], np.float32(np.nan))
            if not np.isnan(vectors).all():
                after[name] = vectors
        self.connection.execute(delete(schema.features).where(_T.study_id == row["id"]))
        self._write(row, {}, after)

    @writing
    def extend(self, study: str, n_before: int, blocks: Blocks) -> None:
        """Add the vectors of new objects, which follow the first ``n_before``, to blocks that the study has."""
        row = rows.lock_study(self.connection, study)
        stored = self._stored(row["id"])
        self._write(row, stored, _longer(stored, n_before, blocks))

    @reading
    def check_extension(self, study: str, n_before: int, blocks: Blocks) -> None:
        """Raise what `extend` would raise; nothing changes."""
        stored = self._stored(rows.study(self.connection, study)["id"])
        _check_size({**stored, **_longer(stored, n_before, blocks)})

    def _write(self, study: RowMapping, before: Blocks, new: Blocks) -> None:
        """Write new blocks; ``before`` are those that the study has, of which some may be replaced."""
        _check_size({**before, **new})
        values = [_row(study["id"], study["n_objects"], name, vectors) for name, vectors in new.items()]
        check_room(self.connection, sum(len(row["data"]) for row in values))
        for row in values:
            replaced = delete(schema.features).where(_T.study_id == study["id"], _T.name == row["name"])
            self.connection.execute(replaced)
            self.connection.execute(insert(schema.features), row)

    def _check_names(self, number: int, names: Sequence[str]) -> None:
        o = schema.objects.c
        query = select(o.name).where(o.study_id == number).order_by(o.number).limit(len(names))
        if self.connection.execute(query).scalars().all() != list(names):
            raise NotAllowed("Somebody else changed the objects at the same time; try again.")

    def _change_roster(self, number: int) -> None:
        s = schema.studies
        self.connection.execute(update(s).where(s.c.id == number).values(roster=s.c.roster + 1))

    def _stored(self, number: int) -> dict[str, Vectors]:
        query = select(_T.name, _T.n_columns, _T.data).where(_T.study_id == number)
        return {
            name: np.frombuffer(data, _STORED).reshape(-1, n_columns).astype(np.float32, copy=False)
            for name, n_columns, data in self.connection.execute(query)
        }


def _check_size(blocks: Blocks) -> None:
    if len(blocks) > limits.FEATURE_BLOCKS:
        raise StoreError(f"There are {len(blocks)} blocks of features; a study has at most {limits.FEATURE_BLOCKS}.")
    n_bytes = sum(vectors.size for vectors in blocks.values()) * _STORED.itemsize
    if n_bytes > limits.FEATURE_BYTES:
        raise StoreError(
            f"The features take {n_bytes:,} bytes in single precision; a study has at most "
            f"{limits.FEATURE_BYTES:,}. Pass fewer columns, for example the first principal components."
        )


def _longer(stored: Blocks, n_before: int, new: Blocks) -> Blocks:
    """Stored blocks with the vectors of new objects, which follow the first ``n_before``."""
    for name, vectors in new.items():
        if name not in stored or stored[name].shape[1] != vectors.shape[1]:
            known = ", ".join(f"{block!r} with {each.shape[1]:,}" for block, each in stored.items()) or "none"
            raise StoreError(
                f"The new objects have features {name[:60]!r} with {vectors.shape[1]:,} columns, but the study has "
                f"{known}; pass vectors of the same kind, in files with these names."
            )
    return {name: np.concatenate([_padded(stored[name], n_before), vectors]) for name, vectors in new.items()}


def _row(number: int, n_objects: int, name: str, vectors: Vectors) -> dict[str, Any]:
    name = strict_text(name, "The name of features", limits.FEATURE_NAME)
    if vectors.ndim != 2 or not vectors.size or len(vectors) > n_objects:
        raise StoreError(
            f"The features {name!r} have the shape {vectors.shape}; pass one row for each of {n_objects:,} objects."
        )
    if not np.isfinite(vectors[~np.isnan(vectors).all(axis=1)]).all():
        raise StoreError(f"The features {name!r} have gaps or infinite numbers; pass finite numbers.")
    data = np.ascontiguousarray(vectors, _STORED).tobytes()
    return {"study_id": number, "name": name, "n_columns": vectors.shape[1], "data": data}


def _padded(vectors: Vectors, n_rows: int) -> Vectors:
    """The vectors with rows of NaN for further objects."""
    missing = np.full((max(0, n_rows - len(vectors)), vectors.shape[1]), np.nan, np.float32)
    return np.concatenate([vectors, missing])

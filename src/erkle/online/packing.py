"""Models as plain arrays and what JSON can hold, and back: names of parts are joined by dots."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from erkle.online.selection.candidates import Entry, Field
from erkle.online.selection.evidence import Judge
from erkle.parameters import whole

__all__ = ["Packed", "pack_field", "prefixed", "under", "unpack_field"]

Arrays = dict[str, NDArray[Any]]
Packed = tuple[Arrays, dict[str, Any]]


def prefixed(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays as those of a part."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def under(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays of a part, by the names they have in it."""
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def pack_field(field: Field[Any, Any], arrays_of: Callable[[Any], Mapping[str, NDArray[Any]]]) -> Packed:
    """A field of candidates, whose models give their arrays by a function."""
    arrays: Arrays = {}
    for i, entry in enumerate(field.entries):
        arrays |= prefixed(f"candidate{i}.judge", entry.judge.arrays())
        arrays |= prefixed(f"candidate{i}.model", arrays_of(entry.model))
    return arrays, {
        "candidates": [list(entry.setting) for entry in field.entries],
        "leader": field.entries.index(field.leader),
        "retired": [[list(setting), seen] for setting, seen in field.retired.items()],
    }


def unpack_field(
    field: Field[Any, Any], arrays: Arrays, meta: dict[str, Any], setting: Callable[..., Any], model: Callable[..., Any]
) -> None:
    """Put the candidates that were packed in the place of those of a new field."""
    discount = field.leader.judge.discount
    field.entries = [
        Entry(
            setting(*fields),
            model(under(f"candidate{i}.model", arrays)),
            Judge.from_arrays(under(f"candidate{i}.judge", arrays), discount),
        )
        for i, fields in enumerate(meta["candidates"])
    ]
    field.leader = field.entries[whole(meta["leader"], "leader", 0, "it is the place of a candidate")]
    field.retired = {
        setting(*fields): whole(seen, "retired", 0, "it counts answers") for fields, seen in meta["retired"]
    }

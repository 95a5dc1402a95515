"""Names of the parts of a packed model: a part's arrays have its name and a dot before their own."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

__all__ = ["Arrays", "Packed", "prefixed", "under"]

Arrays = dict[str, NDArray[Any]]
# A model as plain arrays, and as what JSON can hold.
Packed = tuple[Arrays, dict[str, Any]]


def prefixed(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays as those of a part."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def under(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays of a part, by the names they have in it."""
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}

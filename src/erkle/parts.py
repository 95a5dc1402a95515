"""What losses and steps have in common: they are `NamedTuple` values of positive numbers.

Immutable, comparable, hashable, printable and picklable for free, and compiled code reads their fields
without Python.
"""

import math
from numbers import Real
from typing import Any, TypeVar, cast

__all__ = ["check_part"]

Part = TypeVar("Part")


def check_part(part: Part, kind: str, methods: tuple[str, ...]) -> Part:
    """The part with its fields as floats, or an error that says what is missing."""
    if isinstance(part, type):
        raise TypeError(f"The {kind} is the class {part.__name__}; pass a value, {part.__name__}().")
    missing = [name for name in methods if not callable(getattr(part, name, None))]
    if not (isinstance(part, tuple) and hasattr(part, "_fields")) or missing:
        wanted = f"method{'s' * (len(methods) > 1)} {' and '.join(methods)}"
        raise TypeError(f"The {kind} is {part!r}; pass a NamedTuple with the {wanted}.")
    for name, field in zip(part._fields, part, strict=True):
        number = isinstance(field, Real) and not isinstance(field, bool)
        if not (number and 0.0 < field < math.inf):
            raise ValueError(f"{type(part).__name__} has {name}={field!r}; pass a positive, finite number.")
    return cast(Part, cast(Any, type(part))(*map(float, part)))

"""Check the parameters, losses, steps and matrices that users pass.

A check returns the value in the form that the rest of the code uses, or raises an error that says what was passed and
what to pass instead.
"""

import math
import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Part = TypeVar("Part")
Value = TypeVar("Value", bound=tuple[Any, ...])

# Largest asymmetry, as a share of the largest entry. Rounding to single precision stays below it.
_SYMMETRY = 1e-6


def whole(value: Any, name: str, least: int, because: str) -> int:
    """The value as an int of at least ``least``.

    >>> whole(2, "n_objects", 3, "a question needs three objects")
    Traceback (most recent call last):
    ValueError: n_objects is 2; pass an integer of at least 3: a question needs three objects.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; pass an integer of at least {least}: {because}.")
    return int(value)


def number(value: Any, name: str, because: str) -> float:
    """The value as a float of at least 0.

    >>> number(-1, "trace", "0 regularises nothing")
    Traceback (most recent call last):
    ValueError: trace is -1; pass a finite number of at least 0: 0 regularises nothing.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < math.inf:
        raise ValueError(f"{name} is {value!r}; pass a finite number of at least 0: {because}.")
    return float(value)


def share(value: Any, name: str) -> float:
    """The value as a float from 0 to 1.

    >>> share(1.5, "holdout")
    Traceback (most recent call last):
    ValueError: holdout is 1.5; pass a share from 0 to 1.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"{name} is {value!r}; pass a share from 0 to 1.")
    return float(value)


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise an error unless the value is one of the choices.

    >>> one_of("up", "direction", ("canonical", "gradient"))
    Traceback (most recent call last):
    ValueError: direction is 'up'; pass 'canonical' or 'gradient'.
    """
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; pass {' or '.join(map(repr, choices))}.")


def random_generator(value: Any, name: str) -> np.random.Generator:
    """The value itself if it is a generator; otherwise a new generator with this seed.

    >>> random_generator("x", "rng")
    Traceback (most recent call last):
    ValueError: rng is 'x'; pass None, an integer of at least 0 or a numpy Generator.
    """
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; pass None, an integer of at least 0 or a numpy Generator.") from None


def compared_by_type(kind: type[Value]) -> type[Value]:
    """A class decorator: two values are equal only if they are of the same class.

    Without it, tuples of the same numbers are equal, and a table that groups by loss would merge GNMDS() and SOE().
    """

    def equals(self: tuple[Any, ...], other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def differs(self: tuple[Any, ...], other: object) -> bool:
        return not equals(self, other)

    def hashed(self: tuple[Any, ...]) -> int:
        return hash((type(self).__qualname__, *self))

    for name, method in (("__eq__", equals), ("__ne__", differs), ("__hash__", hashed)):
        setattr(kind, name, method)
    return kind


def check_part(part: Part, kind: str, methods: tuple[str, ...]) -> Part:
    """The loss or step with its fields as floats.

    Losses and steps are `NamedTuple` values of positive numbers, so they are immutable, comparable, hashable and
    picklable, and compiled code can read their fields. Fields that ``highest`` names may be from 0 to a highest value.
    """
    if isinstance(part, type):
        raise TypeError(f"The {kind} is the class {part.__name__}; pass a value, {part.__name__}().")
    missing = [name for name in methods if not callable(getattr(part, name, None))]
    if not (isinstance(part, tuple) and hasattr(part, "_fields")) or missing:
        wanted = f"method{'s' * (len(methods) > 1)} {' and '.join(methods)}"
        raise TypeError(f"The {kind} is {part!r}; pass a NamedTuple with the {wanted}.")
    highest: dict[str, float] = getattr(part, "highest", dict)()
    for name, field in zip(part._fields, part, strict=True):
        number = isinstance(field, Real) and not isinstance(field, bool)
        # A larger integer has no float.
        number &= not isinstance(field, int) or field < sys.float_info.max
        if name in highest and not (number and 0.0 <= field <= highest[name]):
            got = f"{type(part).__name__} has {name}={field!r}"
            raise ValueError(f"{got}; pass a number from 0 to {highest[name]:g}.")
        if name not in highest and not (number and 0.0 < field < math.inf):
            raise ValueError(f"{type(part).__name__} has {name}={field!r}; pass a positive, finite number.")
    return cast(Part, cast(Any, type(part))(*map(float, part)))


def check_kernel(K: ArrayLike, name: str = "K") -> NDArray[np.float64]:
    """K as an array of floats. It must be square, symmetric and finite; its eigenvalues are not checked.

    >>> check_kernel([[1, 0], [0, 1]]).shape
    (2, 2)
    """
    K = _check_numbers(K, name)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise ValueError(
            f"Got {name} of shape {K.shape}, wanted (n_objects, n_objects); pass a kernel, not coordinates."
        )
    if np.abs(K - K.T).max() > _SYMMETRY * np.abs(K).max():
        raise ValueError(
            f"Got {name} that is not symmetric, wanted a kernel; pass ({name} + {name}.T) / 2 to make it symmetric."
        )
    return K


def check_map(X: ArrayLike, name: str = "X") -> NDArray[np.float64]:
    """X as an array of floats with one row per object. It must be finite.

    >>> check_map([[0, 1], [2, 3], [4, 5]]).shape
    (3, 2)
    """
    X = _check_numbers(X, name)
    if X.ndim != 2:
        raise ValueError(f"Got {name} of shape {X.shape}, wanted (n_objects, n_components); pass one row per object.")
    return X


def _check_numbers(A: ArrayLike, name: str) -> NDArray[np.float64]:
    A = np.asarray(A)
    if A.dtype.kind not in "buif" or not np.isfinite(A).all():
        raise ValueError(f"Got {name} with entries that are not finite numbers; remove NaN, infinity and text from it.")
    return A.astype(np.float64, copy=False)


def shaped(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """A copy of an array that was read from a file. It must have this shape and type, and finite numbers only.

    >>> shaped({"K": np.eye(2)}, "K", (3, 3))
    Traceback (most recent call last):
    ValueError: K has shape (2, 2) and type float64, wanted (3, 3) and float64
    """
    array = arrays[name]
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}, wanted {shape} and {np.dtype(dtype).name}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has entries that are not finite")
    return np.array(array, order="C")

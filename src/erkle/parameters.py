"""The boundary for parameters: what was got, what is wanted and why, in one sentence that names the parameter."""

import math
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["number", "one_of", "random_generator", "share", "whole"]


def whole(value: Any, name: str, least: int, because: str) -> int:
    """The value as an integer.

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
    """Nothing, if the value is one of the choices.

    >>> one_of("up", "direction", ("canonical", "gradient"))
    Traceback (most recent call last):
    ValueError: direction is 'up'; pass 'canonical' or 'gradient'.
    """
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; pass {' or '.join(map(repr, choices))}.")


def random_generator(value: Any, name: str) -> np.random.Generator:
    """The value itself, if it is a generator, or a new one with this seed.

    >>> random_generator("x", "rng")
    Traceback (most recent call last):
    ValueError: rng is 'x'; pass None, an integer of at least 0 or a numpy Generator.
    """
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; pass None, an integer of at least 0 or a numpy Generator.") from None

"""Sums over many answers, computed in parts: by threads here, or by the workers of a cluster.

Law: the parts, and the order in which their sums are added, depend on nothing but the answers. So any number of threads
or workers gives the same bits. A part never changes once it is full, and always belongs to the same group, so a worker
can keep it while further answers arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from erkle.threads import results

Floats = NDArray[np.float64]
# Adds the losses of answers to a total and their gradient to an array: (T, own values, total, gradient, *shared).
Summand = Callable[..., float]
# A total and its gradient.
Sum = tuple[float, Floats]
# The answers of each part of a group, and a value for each answer.
Group = Iterable[tuple[NDArray[np.integer[Any]], Floats]]

# Sums over fewer answers are computed in one piece: fits of few answers run side by side instead.
IN_PARTS_FROM = 1 << 20
# Answers in a part.
_PART = 1 << 17
# Groups of parts; more threads or workers than groups are of no use.
_GROUPS = 16


class Part(NamedTuple):
    """Answers in an order that keeps rows of the same anchor near each other in memory.

    Attributes
    ----------
    T : (m, 3) array
        The answers.
    order : (m,) array
        Their places among all answers.
    number : int
        The number of the part, in the order of arrival.
    """

    T: NDArray[np.int32]
    order: NDArray[np.int64]
    number: int


class Sums(Protocol):
    """Sums over parts that have a value for each answer."""

    def sum(self, summand: Summand, shape: tuple[int, ...], *shared: Any) -> Sum:
        """The sum over all answers and its gradient, which has this shape.

        ``shared`` is what all parts need, such as coordinates.
        """
        ...


class Held(Protocol):
    """Parts that are held where their sums are computed."""

    def given(self, own: Floats | float) -> Sums:
        """The parts with a value for each answer, such as its lapse; or the same value for all."""
        ...


class Place(Protocol):
    """Where sums are computed."""

    def hold(self, groups: list[list[Part]]) -> Held:
        """Hold these parts."""
        ...


def in_groups(T: NDArray[np.integer[Any]]) -> list[list[Part]]:
    """The answers in parts, and the parts in groups: part p is in group p modulo the number of groups.

    The groups are in such an order that neighbours have about the same number of parts in total as other neighbours.
    """
    parts = [_part(T, number) for number in range(-(-len(T) // _PART))]
    return [parts[group::_GROUPS] for group in sorted(range(min(_GROUPS, len(parts))), key=_reversed)]


def _reversed(group: int) -> int:
    """The number with its bits in reverse: even groups before odd ones, and so on."""
    return int(f"{group:08b}"[::-1], 2)


def _part(T: NDArray[np.integer[Any]], number: int) -> Part:
    start = number * _PART
    rows = T[start : start + _PART]
    order = np.lexsort(rows.T[::-1])
    return Part(np.ascontiguousarray(rows[order], np.int32), start + order, number)


def are_many(T: NDArray[np.integer[Any]]) -> bool:
    """Whether sums over these answers are computed in parts."""
    return len(T) >= IN_PARTS_FROM


def values_of(part: Part, own: Floats | float) -> Floats:
    """The value of each answer of a part."""
    return own[part.order] if isinstance(own, np.ndarray) else np.full(len(part.T), own)


def group_sum(summand: Summand, group: Group, shape: tuple[int, ...], shared: tuple[Any, ...]) -> Sum:
    """The sum over the parts of a group, one after the other."""
    total, G = 0.0, np.zeros(shape)
    for T, own in group:
        total = summand(T, own, total, G, *shared)
    return total, G


def in_pairs(sums: Iterable[Any], add: Callable[[Any, Any], Any]) -> Any:
    """The sum of sums: neighbours are added first, and as soon as there are two, so that few sums need memory."""
    waiting: list[tuple[int, Any]] = []
    for one in sums:
        size = 1
        while waiting and waiting[-1][0] == size:
            one = add(waiting.pop()[1], one)
            size *= 2
        waiting.append((size, one))
    total = waiting.pop()[1]
    while waiting:
        total = add(waiting.pop()[1], total)
    return total


def added(one: Sum, other: Sum) -> Sum:
    """Two sums together."""
    return one[0] + other[0], one[1] + other[1]


class Threads(NamedTuple):
    """Groups that threads of this process sum up."""

    groups: list[Group]

    def sum(self, summand: Summand, shape: tuple[int, ...], *shared: Any) -> Sum:
        """See `Sums.sum`."""
        tasks = (partial(_group_sum, summand, group, shape, shared) for group in self.groups)
        with closing(results(tasks)) as sums:
            found: Sum = in_pairs(sums, added)
        return found


def _group_sum(summand: Summand, group: Group, shape: tuple[int, ...], shared: tuple[Any, ...], _: Any) -> Sum:
    return group_sum(summand, group, shape, shared)


class HeldHere(NamedTuple):
    """Parts in the memory of this process."""

    groups: list[list[Part]]

    def given(self, own: Floats | float) -> Sums:
        """See `Held.given`."""
        return Threads([[(part.T, values_of(part, own)) for part in group] for group in self.groups])


class InOnePiece(NamedTuple):
    """Few answers, and a value for each of them."""

    T: NDArray[np.integer[Any]]
    own: Floats

    def sum(self, summand: Summand, shape: tuple[int, ...], *shared: Any) -> Sum:
        """See `Sums.sum`."""
        return group_sum(summand, [self], shape, shared)


class HeldInOnePiece(NamedTuple):
    """Few answers, which are summed in their order."""

    T: NDArray[np.integer[Any]]

    def given(self, own: Floats | float) -> Sums:
        """See `Held.given`."""
        return InOnePiece(self.T, own if isinstance(own, np.ndarray) else np.full(len(self.T), own))


class Here(NamedTuple):
    """The process itself."""

    def hold(self, groups: list[list[Part]]) -> Held:
        """See `Place.hold`."""
        return HeldHere(groups)


_place: ContextVar[Place] = ContextVar("place", default=Here())


def place() -> Place:
    """Where sums are computed now."""
    return _place.get()


@contextmanager
def computed_at(where: Place) -> Iterator[None]:
    """Compute the sums inside the block elsewhere."""
    token = _place.set(where)
    try:
        yield
    finally:
        _place.reset(token)


def held(T: NDArray[np.integer[Any]]) -> Held:
    """Answers that are held where their sums are computed now."""
    return place().hold(in_groups(T)) if are_many(T) else HeldInOnePiece(T)

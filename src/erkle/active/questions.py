"""The questions that may be asked: all questions about some objects or a list of questions, with a limit for each."""

import copy
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.checks import whole

Ids = NDArray[np.int64]
Query = tuple[int, int, int]

# Largest number of objects: the keys of questions about more objects do not fit into 64 bits.
MOST_OBJECTS = 2_000_000
# Pairs are drawn one by one if an anchor has more than this many times the wanted pairs; otherwise all are listed.
_MANY = 8
# Additional pairs that are drawn, because some pairs may not be asked again.
_SPARE = 32


class Questions:
    """Questions (anchor, {first, second}), and how often each of them may still be asked.

    Parameters
    ----------
    n_objects : int
        At least 3.
    times : int or None
        How often the same question may be asked; None means any number of times.
    listed : (m, 3) array of integers, optional
        The only questions that may be asked, each of them ``times`` times for each time it is listed. By default, all
        questions about all objects may be asked.
    excluded : sequence of int
        Objects that must not be asked about.
    left_out : (m, 3) array of integers, optional
        Questions that must not be asked, such as catch questions that you ask yourself.

    Examples
    --------
    >>> questions = Questions(4, times=1, excluded=[3])
    >>> questions.propose(0, 10, np.random.default_rng(0))
    array([[1, 2]])
    >>> questions.take((0, 2, 1))
    >>> questions.propose(0, 10, np.random.default_rng(0)).shape
    (0, 2)
    >>> questions.remaining()
    array([0, 1, 1, 0])
    """

    def __init__(
        self,
        n_objects: int,
        times: int | None = 1,
        listed: ArrayLike | None = None,
        excluded: Iterable[int] = (),
        left_out: ArrayLike | None = None,
    ) -> None:
        self.n_objects = whole(n_objects, "n_objects", 3, "a question needs three objects")
        if self.n_objects > MOST_OBJECTS:
            raise ValueError(f"n_objects is {n_objects}; pass at most {MOST_OBJECTS:,}, so that keys fit into 64 bits.")
        self.times = (
            math.inf if times is None else whole(times, "times", 1, "pass a question in left_out to never ask it")
        )
        self._excluded = _excluded(excluded, self.n_objects)
        self._ids = np.delete(np.arange(self.n_objects), list(self._excluded))
        self._left_out = set() if left_out is None else set(self.keys(left_out).tolist())
        self._without: set[int] = set()
        self._taken: Counter[int] = Counter()
        self._listed: Counter[int] | None = None
        if listed is not None:
            self._listed = Counter(filter(self._is_allowed, self.keys(listed).tolist()))
            keys = np.sort(np.fromiter(self._listed, np.uint64, len(self._listed)))
            anchors, _, _ = triplets.ids_of_keys(keys)
            self._by_anchor = np.split(keys, np.searchsorted(anchors, np.arange(1, self.n_objects)))
        self._remaining = self._initially_remaining()

    def keys(self, T: ArrayLike) -> NDArray[np.uint64]:
        """The key of each question; see `erkle.triplets.question_keys`. The order of the candidates does not matter."""
        return triplets.question_keys(T, self.n_objects)

    def key(self, query: Iterable[Any]) -> int:
        """The key of one question."""
        return int(self.keys([tuple(query)])[0])

    def without(self, keys: Iterable[int]) -> Self:
        """A view without the questions with these keys. The view and the original share all counts."""
        view = copy.copy(self)
        view._without = self._without.union(keys)
        return view

    def may_ask(self, key: int) -> bool:
        """Whether the question may be asked once more."""
        return key not in self._without and self._taken[key] < self._limit(key)

    @property
    def _unlimited(self) -> bool:
        """Whether every question that can be drawn may be asked any number of times."""
        return math.isinf(self.times) and self._listed is None and not self._left_out

    def take(self, query: Iterable[Any]) -> None:
        """Count the question as asked once more."""
        key = self.key(query)
        self._taken[key] += 1
        if self._taken[key] == self._limit(key):
            self._remaining[triplets.ids_of_keys(key)[0]] -= 1

    def give_back(self, query: Iterable[Any]) -> None:
        """Count the question as asked once less, because it will not be answered."""
        key = self.key(query)
        if self._taken[key] < 1:
            raise ValueError(
                f"The question {triplets.ids_of_keys(key)} has not been asked; give back only asked questions."
            )
        if self._taken[key] == self._limit(key):
            self._remaining[triplets.ids_of_keys(key)[0]] += 1
        self._taken[key] -= 1
        # Counts of 0 are deleted, so that questions that are taken and given back do not fill the memory.
        if not self._taken[key]:
            del self._taken[key]

    def remaining(self, without: Iterable[int] = ()) -> Ids:
        """How many questions about each anchor may still be asked, not counting those with these keys, (n,)."""
        remaining = self._remaining.copy()
        for key in self._without.union(without):
            remaining[triplets.ids_of_keys(key)[0]] -= self._taken[key] < self._limit(key)
        return remaining

    def propose(self, anchor: int, n_pairs: int, rng: np.random.Generator, without: Iterable[int] = ()) -> Ids:
        """Draw up to ``n_pairs`` different pairs that this anchor may be asked about, (k, 2).

        All pairs have the same probability. There is at least one pair if any question is left for this anchor.
        Questions with keys in ``without`` are not proposed.
        """
        if not 0 <= anchor < self.n_objects:
            raise ValueError(f"The anchor is {anchor}, but ids run from 0 to {self.n_objects - 1}; pass one of them.")
        whole(n_pairs, "n_pairs", 1, "there must be a pair to propose")
        not_these = self._without.union(without)
        for keys in self._batches(anchor, n_pairs, rng):
            # Without duplicates, in the order in which they were drawn.
            found = [key for key in dict.fromkeys(keys) if key not in not_these]
            if not self._unlimited:
                found = [key for key in found if self.may_ask(key)]
            if found:
                _, low, high = triplets.ids_of_keys(np.array(found[:n_pairs]))
                return np.stack([low, high], axis=1)
        return np.empty((0, 2), np.int64)

    def _batches(self, anchor: int, n_pairs: int, rng: np.random.Generator) -> Iterator[list[int]]:
        """Yield keys of the anchor in random order: first a few if there are many, then all of them."""
        if self._listed is not None:
            keys = rng.permutation(self._by_anchor[anchor])
            yield keys[: n_pairs + _SPARE].tolist()
            yield keys.tolist()
        elif anchor not in self._excluded:
            n, place = len(self._ids), int(np.searchsorted(self._ids, anchor))
            if (n - 1) * (n - 2) // 2 > _MANY * n_pairs + _SPARE:
                yield self._keys(anchor, _random_pairs(n, place, n_pairs + _SPARE, rng))
            yield self._keys(anchor, rng.permutation(_all_pairs(n, place)))

    def _keys(self, anchor: int, places: Ids) -> list[int]:
        keys: list[int] = self.keys(np.insert(self._ids[places], 0, anchor, axis=1)).tolist()
        return keys

    def _is_allowed(self, key: int) -> bool:
        """Whether the question is not left out and contains no excluded object."""
        return key not in self._left_out and (
            not self._excluded or self._excluded.isdisjoint(triplets.ids_of_keys(key))
        )

    def _limit(self, key: int) -> float:
        """How often the question may be asked in total."""
        if self._listed is None:
            return self.times if self._is_allowed(key) else 0
        return self.times * self._listed[key] if key in self._listed else 0

    def _initially_remaining(self) -> Ids:
        """The number of questions about each anchor before any of them is asked."""
        if self._listed is not None:
            return np.array([len(keys) for keys in self._by_anchor])
        n = len(self._ids)
        counts = np.zeros(self.n_objects, np.int64)
        counts[self._ids] = (n - 1) * (n - 2) // 2
        for anchor, *pair in map(triplets.ids_of_keys, self._left_out):
            counts[anchor] -= self._excluded.isdisjoint((anchor, *pair))
        return counts


def check_questions(value: Any) -> Questions:
    """The value itself if it is a `Questions`; otherwise raise an error."""
    if not isinstance(value, Questions):
        raise TypeError(f"questions is {value!r}; pass Questions(n_objects), or Questions(n_objects, listed=...).")
    return value


def _random_pairs(n_objects: int, anchor: int, n_pairs: int, rng: np.random.Generator) -> Ids:
    b, c = rng.integers(0, n_objects - 1, n_pairs), rng.integers(0, n_objects - 2, n_pairs)
    c += c >= b
    return np.stack([b + (b >= anchor), c + (c >= anchor)], axis=1)


def _all_pairs(n_objects: int, anchor: int) -> Ids:
    b, c = np.triu_indices(n_objects - 1, 1)
    return np.stack([b + (b >= anchor), c + (c >= anchor)], axis=1)


def _excluded(ids: Iterable[int], n_objects: int) -> set[int]:
    try:
        given = np.asarray([*ids] if isinstance(ids, Iterable) else ids)
    except ValueError:  # rows of different lengths
        given = np.empty((0, 0))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"excluded is {ids!r}; pass a list of ids, integers from 0 to {n_objects - 1}.")
    excluded = set(given.tolist())
    if excluded and not 0 <= min(excluded) <= max(excluded) < n_objects:
        raise ValueError(
            f"excluded is {given.tolist()}, but ids run from 0 to {n_objects - 1}; pass only ids of objects that exist."
        )
    if n_objects - len(excluded) < 3:
        raise ValueError(f"{len(excluded)} of {n_objects} objects are excluded; leave at least three to ask about.")
    return excluded

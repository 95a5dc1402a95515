"""What may be asked: all questions about some objects, or those of a list, each of them so many times."""

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

# Questions about more objects have no numbers of 64 bits.
MOST_OBJECTS = 2_000_000
# Pairs of a head are drawn at random while there are more than so many times what is wanted; else all are looked at.
_MANY = 8
# Pairs drawn besides, because some of them may have been asked.
_SPARE = 32


class Questions:
    """Questions (head, {o1, o2}), and how often each of them may still be asked.

    Parameters
    ----------
    n_objects : int
        At least 3.
    times : int or None
        How often the same question may be asked; None is as often as you like.
    listed : (m, 3) array of integers, optional
        Only these, each ``times`` times as often as it is listed; by default all questions about all objects.
    excluded : sequence of int
        Objects that are not to be asked about.
    left_out : (m, 3) array of integers, optional
        Questions that are not to be asked: catch questions, say, which you ask yourself.

    Examples
    --------
    >>> questions = Questions(4, times=1, excluded=[3])
    >>> questions.propose(0, 10, np.random.default_rng(0))
    array([[1, 2]])
    >>> questions.take((0, 2, 1))
    >>> questions.propose(0, 10, np.random.default_rng(0)).shape
    (0, 2)
    >>> questions.left()
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
            raise ValueError(
                f"n_objects is {n_objects}; pass at most {MOST_OBJECTS:,}: more questions cannot be told apart."
            )
        self.times = math.inf if times is None else whole(times, "times", 1, "what is never asked can be left out")
        self._excluded = _excluded(excluded, self.n_objects)
        self._ids = np.delete(np.arange(self.n_objects), list(self._excluded))
        self._left_out = set() if left_out is None else set(self.keys(left_out).tolist())
        self._but: set[int] = set()
        self._taken: Counter[int] = Counter()
        self._listed: Counter[int] | None = None
        if listed is not None:
            self._listed = Counter(filter(self._is_among, self.keys(listed).tolist()))
            keys = np.sort(np.fromiter(self._listed, np.uint64, len(self._listed)))
            heads, _, _ = triplets.ids_of_keys(keys)
            self._by_head = np.split(keys, np.searchsorted(heads, np.arange(1, self.n_objects)))
        self._left = self._all()

    def keys(self, T: ArrayLike) -> NDArray[np.uint64]:
        """The key of each question, by `erkle.triplets.question_keys`: whichever candidate comes first."""
        return triplets.question_keys(T, self.n_objects)

    def key(self, query: Iterable[Any]) -> int:
        """The number of one question."""
        return int(self.keys([tuple(query)])[0])

    def without(self, keys: Iterable[int]) -> Self:
        """The same questions, which are taken from both alike, but for some."""
        some = copy.copy(self)
        some._but = self._but.union(keys)
        return some

    def may(self, key: int) -> bool:
        """Whether it may be asked once more."""
        return key not in self._but and self._taken[key] < self._most(key)

    @property
    def _is_free(self) -> bool:
        """Whether every question that is drawn may be asked, as often as one likes."""
        return math.isinf(self.times) and self._listed is None and not self._left_out

    def take(self, query: Iterable[Any]) -> None:
        """It has been asked."""
        key = self.key(query)
        self._taken[key] += 1
        if self._taken[key] == self._most(key):
            self._left[triplets.ids_of_keys(key)[0]] -= 1

    def give_back(self, query: Iterable[Any]) -> None:
        """It was asked, and nobody has answered or will."""
        key = self.key(query)
        if self._taken[key] < 1:
            raise ValueError(f"The question {triplets.ids_of_keys(key)} has not been asked; give back what was taken.")
        if self._taken[key] == self._most(key):
            self._left[triplets.ids_of_keys(key)[0]] += 1
        self._taken[key] -= 1
        # Else what is asked and given back for ever would fill the memory.
        if not self._taken[key]:
            del self._taken[key]

    def left(self, but: Iterable[int] = ()) -> Ids:
        """How many questions about each head may be asked, (n,); ``but`` are keys to leave out."""
        left = self._left.copy()
        for key in self._but.union(but):
            left[triplets.ids_of_keys(key)[0]] -= self._taken[key] < self._most(key)
        return left

    def propose(self, head: int, n_pairs: int, rng: np.random.Generator, but: Iterable[int] = ()) -> Ids:
        """Up to so many pairs, (k, 2), that this head may be asked about, all alike likely; none only if none are left.

        ``but`` are keys to leave out.
        """
        if not 0 <= head < self.n_objects:
            raise ValueError(f"The head is {head}, but ids run from 0 to {self.n_objects - 1}; pass one of them.")
        whole(n_pairs, "n_pairs", 1, "there is nothing to propose")
        without = self._but.union(but)
        for keys in self._drawn(head, n_pairs, rng):
            # Each once, in the order drawn.
            found = [key for key in dict.fromkeys(keys) if key not in without]
            if not self._is_free:
                found = [key for key in found if self.may(key)]
            if found:
                _, low, high = triplets.ids_of_keys(np.array(found[:n_pairs]))
                return np.stack([low, high], axis=1)
        return np.empty((0, 2), np.int64)

    def _drawn(self, head: int, n_pairs: int, rng: np.random.Generator) -> Iterator[list[int]]:
        """Keys of the head in random order: some, if there are many, and if they will not do all."""
        if self._listed is not None:
            keys = rng.permutation(self._by_head[head])
            yield keys[: n_pairs + _SPARE].tolist()
            yield keys.tolist()
        elif head not in self._excluded:
            n, place = len(self._ids), int(np.searchsorted(self._ids, head))
            if (n - 1) * (n - 2) // 2 > _MANY * n_pairs + _SPARE:
                yield self._keys(head, _random_pairs(n, place, n_pairs + _SPARE, rng))
            yield self._keys(head, rng.permutation(_all_pairs(n, place)))

    def _keys(self, head: int, places: Ids) -> list[int]:
        keys: list[int] = self.keys(np.insert(self._ids[places], 0, head, axis=1)).tolist()
        return keys

    def _is_among(self, key: int) -> bool:
        """Whether it is one of those that may be asked at all, if it is listed."""
        return key not in self._left_out and (
            not self._excluded or self._excluded.isdisjoint(triplets.ids_of_keys(key))
        )

    def _most(self, key: int) -> float:
        """How often it may be asked in all."""
        if self._listed is None:
            return self.times if self._is_among(key) else 0
        return self.times * self._listed[key] if key in self._listed else 0

    def _all(self) -> Ids:
        """How many there are about each head while none has been asked."""
        if self._listed is not None:
            return np.array([len(keys) for keys in self._by_head])
        n = len(self._ids)
        counts = np.zeros(self.n_objects, np.int64)
        counts[self._ids] = (n - 1) * (n - 2) // 2
        for head, *pair in map(triplets.ids_of_keys, self._left_out):
            counts[head] -= self._excluded.isdisjoint((head, *pair))
        return counts


def check_questions(value: Any) -> Questions:
    """The value itself, if it says what may be asked."""
    if not isinstance(value, Questions):
        raise TypeError(f"questions is {value!r}; pass Questions(n_objects), or Questions(n_objects, listed=...).")
    return value


def _random_pairs(n_objects: int, head: int, n_pairs: int, rng: np.random.Generator) -> Ids:
    b, c = rng.integers(0, n_objects - 1, n_pairs), rng.integers(0, n_objects - 2, n_pairs)
    c += c >= b
    return np.stack([b + (b >= head), c + (c >= head)], axis=1)


def _all_pairs(n_objects: int, head: int) -> Ids:
    b, c = np.triu_indices(n_objects - 1, 1)
    return np.stack([b + (b >= head), c + (c >= head)], axis=1)


def _excluded(ids: Iterable[int], n_objects: int) -> set[int]:
    try:
        given = np.asarray([*ids] if isinstance(ids, Iterable) else ids)
    except ValueError:  # rows of different lengths
        given = np.empty((0, 0))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"Excluded are {ids!r}; pass a list of ids, whole numbers from 0 to {n_objects - 1}.")
    excluded = set(given.tolist())
    if excluded and not 0 <= min(excluded) <= max(excluded) < n_objects:
        raise ValueError(f"Excluded are {given.tolist()}, but ids run from 0 to {n_objects - 1}; leave out the others.")
    if n_objects - len(excluded) < 3:
        raise ValueError(f"Of {n_objects} objects {len(excluded)} are excluded; leave three to ask about.")
    return excluded

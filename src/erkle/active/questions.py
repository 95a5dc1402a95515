"""What may be asked: all questions about some objects, or those of a list, each of them so many times."""

import copy
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import triplets
from erkle.parameters import whole

__all__ = ["Query", "Questions"]

Ids = NDArray[np.int64]
Query = tuple[int, int, int]

# Pairs of a head are drawn at random while there are more than so many times what is wanted; else all are looked at.
_MANY = 8


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
        self.times = math.inf if times is None else whole(times, "times", 1, "what is never asked can be left out")
        self._allowed = _mask(excluded, n_objects)
        self._left_out = {self.key(query) for query in _rows(left_out, n_objects)}
        self._taken: Counter[int] = Counter()
        self._list = None if listed is None else _List(self, _rows(listed, n_objects))

    def key(self, query: Iterable[Any]) -> int:
        """A number for the question, whichever candidate stands first."""
        head, *pair = (int(i) for i in query)
        return (head * self.n_objects + min(pair)) * self.n_objects + max(pair)

    def without(self, keys: Iterable[int]) -> Self:
        """The same questions, which are taken from both alike, but for some."""
        some = copy.copy(self)
        some._left_out = self._left_out.union(keys)
        return some

    def may(self, key: int) -> bool:
        """Whether it may be asked once more."""
        most = self.times if self._list is None else self.times * self._list.multiplicity[key]
        return key not in self._left_out and self._taken[key] < most

    def take(self, query: Iterable[Any]) -> None:
        """It has been asked."""
        key = self.key(query)
        self._taken[key] += 1
        if self._list is not None and not self.may(key):
            self._list.remove(key)

    def give_back(self, query: Iterable[Any]) -> None:
        """It was asked, and nobody has answered or will."""
        key = self.key(query)
        if self._taken[key] < 1:
            raise ValueError(f"The question {tuple(query)} has not been asked; give back what was taken.")
        self._taken[key] -= 1
        if self._list is not None:
            self._list.insert(key)

    def weights(self) -> NDArray[np.int64]:
        """How many questions there are about each head, in proportion; some of them may have been asked already."""
        return self._allowed.astype(np.int64) if self._list is None else np.where(self._allowed, self._list.sizes, 0)

    def propose(self, head: int, n_pairs: int, rng: np.random.Generator, but: Iterable[int] = ()) -> Ids:
        """Up to so many pairs, (k, 2), that this head may be asked about, at random; ``but`` are keys to leave out."""
        if not self._allowed[head]:
            return np.empty((0, 2), np.int64)
        if self._list is not None:
            pairs = self._list.some(head, n_pairs, rng)
        elif (self.n_objects - 1) * (self.n_objects - 2) // 2 > _MANY * n_pairs:
            pairs = _random_pairs(self.n_objects, head, n_pairs, rng)
        else:
            pairs = rng.permutation(_all_pairs(self.n_objects, head))
        pairs = pairs[self._allowed[pairs].all(axis=1)]
        keys = ((head * self.n_objects + pairs.min(axis=1)) * self.n_objects + pairs.max(axis=1)).tolist()
        without = set(but)
        return pairs[[key not in without and self.may(key) for key in keys]][:n_pairs]


class _List:
    """The questions of a list by head, those that may still be asked in front."""

    def __init__(self, questions: Questions, rows: Ids) -> None:
        keys = [questions.key(row) for row in rows]
        self.multiplicity = Counter(keys)
        self._by_head: list[list[int]] = [[] for _ in range(questions.n_objects)]
        for key in self.multiplicity:
            self._by_head[key // questions.n_objects**2].append(key)
        self._place = {key: place for keys in self._by_head for place, key in enumerate(keys)}
        self.sizes = np.array([len(keys) for keys in self._by_head])
        self._n = questions.n_objects

    def some(self, head: int, n_pairs: int, rng: np.random.Generator) -> Ids:
        keys, size = self._by_head[head], int(self.sizes[head])
        # A few more than wanted, for some of them may be excluded.
        chosen = rng.permutation(size)[: 2 * n_pairs]
        found = np.array([keys[i] for i in chosen], np.int64)
        return np.stack([found // self._n % self._n, found % self._n], axis=1)

    def remove(self, key: int) -> None:
        head = key // self._n**2
        if self._place[key] < self.sizes[head]:
            self.sizes[head] -= 1
            self._swap(head, self._place[key], int(self.sizes[head]))

    def insert(self, key: int) -> None:
        head = key // self._n**2
        if self._place[key] >= self.sizes[head]:
            self._swap(head, self._place[key], int(self.sizes[head]))
            self.sizes[head] += 1

    def _swap(self, head: int, i: int, j: int) -> None:
        keys = self._by_head[head]
        keys[i], keys[j] = keys[j], keys[i]
        self._place[keys[i]], self._place[keys[j]] = i, j


def _random_pairs(n_objects: int, head: int, n_pairs: int, rng: np.random.Generator) -> Ids:
    b, c = rng.integers(0, n_objects - 1, n_pairs), rng.integers(0, n_objects - 2, n_pairs)
    c += c >= b
    return np.stack([b + (b >= head), c + (c >= head)], axis=1)


def _all_pairs(n_objects: int, head: int) -> Ids:
    b, c = np.triu_indices(n_objects - 1, 1)
    return np.stack([b + (b >= head), c + (c >= head)], axis=1)


def _rows(T: ArrayLike | None, n_objects: int) -> Ids:
    return np.empty((0, 3), np.int64) if T is None else triplets.check(T, n_objects)


def _mask(excluded: Iterable[int], n_objects: int) -> NDArray[np.bool_]:
    ids = np.asarray(list(excluded), dtype=np.int64)
    if ((ids < 0) | (ids >= n_objects)).any():
        raise ValueError(f"Excluded are {ids.tolist()}, but ids run from 0 to {n_objects - 1}; leave out the others.")
    allowed = np.ones(n_objects, np.bool_)
    allowed[ids] = False
    if allowed.sum() < 3:
        raise ValueError(f"Of {n_objects} objects {len(set(ids.tolist()))} are excluded; leave three to ask about.")
    return allowed

"""Errors with features and without them, along streams of people's answers."""

import time
from typing import Any

import numpy as np

from benchmarks.features.vectors import Vectors, useless, vectors
from benchmarks.people import things
from benchmarks.people.streams import Stream, stream
from erkle import ERKLE

# Numbers of answers at which the error is measured; the last number of THINGS stands for all of them.
ZAPPOS = (0, 85, 200, 425, 850, 1_700, 3_400)
THINGS = (0, 3_000, 10_000, 30_000, 100_000, 400_000)
# Objects of THINGS that nobody is asked about while learning.
N_NEW = 371
# Answers per object at which useless features are compared with none.
USELESS_AT = (5, 10, 20, 40)


def zappos(seed: int, kind: str) -> dict[str, Any]:
    """Held-out error on zappos85, CPU seconds, and what the features were worth at the end."""
    data = stream("zappos85", seed)
    return _along(data, seed, _chosen("zappos85", kind, seed), ZAPPOS)


def useless_on(name: str, seed: int, kind: str) -> dict[str, Any]:
    """The same for useless features, also on points in the plane."""
    data = stream(name, seed)
    given = None if kind == "none" else _useless_for(name, data.n_objects, kind, seed)
    return _along(data, seed, given, tuple(k * data.n_objects for k in USELESS_AT))


def _useless_for(name: str, n_objects: int, kind: str, seed: int) -> Vectors:
    if name == "zappos85":
        return useless(name, kind, seed)
    return {"random": np.random.default_rng([seed, 5]).standard_normal((n_objects, 512))}


def _along(data: Stream, seed: int, features: Vectors | None, sizes: tuple[int, ...]) -> dict[str, Any]:
    model, seen, seconds = ERKLE(data.n_objects, random_state=1000 + seed, features=features), 0, 0.0
    errors, times = [], []
    for size in sizes:
        start = time.process_time()
        model.partial_fit(data.train[seen:size])
        seconds += time.process_time() - start
        seen = size
        errors.append(1.0 - model.score(data.test))
        times.append(seconds)
    return {"errors": errors, "seconds": times, "worth": [str(each) for each in model.features_]}


def of_things(seed: int, kind: str) -> dict[str, Any]:
    """Share of held-out odd-one-outs predicted rightly among three, and CPU seconds."""
    T, _, test = things.split(seed, THINGS[-1])
    features = _chosen("things", kind, seed)
    model = ERKLE(things.N_OBJECTS, random_state=1000 + seed, features=features)
    seen, seconds = 0, 0.0
    right, times = [], []
    for size in THINGS:
        start = time.process_time()
        # Each answer is two triplets.
        model.partial_fit(T[seen : 2 * size])
        seconds += time.process_time() - start
        seen = min(2 * size, len(T))
        right.append(things.three_way(model, test))
        times.append(seconds)
    return {"right": right, "seconds": times, "n": len(T) // 2, "worth": [str(each) for each in model.features_]}


def newcomers(seed: int) -> dict[str, Any]:
    """Share predicted rightly among three of answers with one, two and three objects that nobody was asked about."""
    T, _, test = things.split(seed, THINGS[-1])
    given = vectors("things")
    rng = np.random.default_rng([seed, 9])
    order = rng.permutation(things.N_OBJECTS)
    # New objects get the last ids.
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    n_known = things.N_OBJECTS - N_NEW
    T, test = place[T], place[test]
    sorted_vectors = {name: V[order] for name, V in given.items()}
    model = ERKLE(n_known, random_state=1000 + seed, features={name: V[:n_known] for name, V in sorted_vectors.items()})
    model.fit(T[(n_known > T).all(axis=1)])
    model.add_objects(features={name: V[n_known:] for name, V in sorted_vectors.items()})
    n_new = (test >= n_known).sum(axis=1)
    return {str(count): things.three_way(model, test[n_new == count]) for count in range(4)}


def _chosen(name: str, kind: str, seed: int) -> Vectors | None:
    """No vectors, all of them, one kind, or useless ones."""
    if kind == "none":
        return None
    if kind in ("random", "shuffled"):
        return useless(name, kind, seed)
    given = vectors(name)
    return given if kind == "all" else {kind: given[kind]}

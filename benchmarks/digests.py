"""Digests of learned kernels, to the last bit. A change that only moves or renames code must not change any digest.

``python -m benchmarks.digests`` prints one line per learner and stream. People's answers need ``ERKLE_DATA``.
Digests depend on the processor and on the versions of NumPy and Numba, so compare runs on one machine only.
"""

import os

# One BLAS thread, because the number of threads changes the last bits. It must be set before a BLAS is loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erkle import ERKLE, RCKL, STE, Constant, Dense, InverseSqrt, LowRank, PassiveAggressiveI, TripletEmbedding
from erkle.active import Adaptive, Asker, Questions, Random
from erkle.datasets import flip, load, make_gaussian

PEOPLE = ("zappos85", "cars60", "food100")
Ids = NDArray[np.int64]


def main() -> None:
    """Print one line per digest."""
    for name, bits in digests():
        print(f"{bits}  {name}", flush=True)


def digests() -> Iterator[tuple[str, str]]:
    """Yield the name and the digest of everything that is learned."""
    for name, n, T in streams():
        for settings, learner in learners(n):
            yield f"{settings}, {name}", of_learner(learner().fit(T))
            yield f"{settings}, {name}, saved half way", of_learner(resumed(learner(), T))
    n, T = simulated()
    yield "TripletEmbedding, points", digest(TripletEmbedding(n, 2, random_state=0).fit(T).embedding_)
    yield "RCKL, points", digest(RCKL(n, trace=0.01).fit(T).kernel_)
    for strategy in (Adaptive(), Random()):
        yield f"questions asked by {type(strategy).__name__}", digest(questions(strategy))
    yield "the service, from a log", service()


def streams() -> Iterator[tuple[str, int, Ids]]:
    """Yield simulated answers without and with errors, and people's answers if ``ERKLE_DATA`` is set."""
    n, T = simulated()
    yield "points", n, T
    yield "points, a fifth wrong", n, flip(T, 0.2, 0)
    if "ERKLE_DATA" in os.environ:
        for name in PEOPLE:
            data = load(name)
            order = np.random.default_rng(0).permutation(len(data.triplets))[:3000]
            yield name, len(data.names), data.triplets[order]


@cache
def simulated() -> tuple[int, Ids]:
    """Answers about 40 points in five dimensions."""
    return 40, make_gaussian(40, 5, 2500, random_state=0).triplets


def learners(n: int) -> Iterator[tuple[str, Callable[[], ERKLE]]]:
    """Yield a name and a constructor for every kind of model."""
    settings = {
        "PA-ERKLE": {"kernel": Dense()},
        "PA-ERKLE by eigh, gradient, PA-I": {
            "kernel": Dense(projection="eigh"),
            "direction": "gradient",
            "step": PassiveAggressiveI(0.1),
        },
        "STE-ERKLE, three passes": {"kernel": Dense(), "loss": STE(), "step": Constant(1.0), "passes": 3},
        "rank 5": {"kernel": LowRank(5)},
        "rank 3 with a trace norm, STE": {
            "kernel": LowRank(3, 0.01),
            "loss": STE(),
            "step": InverseSqrt(1.0),
            "passes": 2,
        },
        "racing": {"kernel": LowRank(consolidate="off")},
        "racing, three passes": {"kernel": LowRank(consolidate="off"), "passes": 3},
        "refitting": {},
        "refitting, rank 5": {"kernel": LowRank(5, 0.001, 0.2)},
    }
    for name, parameters in settings.items():
        yield name, lambda parameters=parameters: ERKLE(n, random_state=0, **parameters)


def resumed(learner: ERKLE, T: Ids) -> ERKLE:
    """Learn the answers in uneven pieces, and save and load the learner in between."""
    half = len(T) // 2 + 7
    learner.fit(T[:half])
    for row in T[half : half + 5]:
        learner.learn_one(row)
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "kernel.npz")
        learner = ERKLE.load(Path(folder) / "kernel.npz")
    return learner.partial_fit(T[half + 5 :])


def questions(strategy: object) -> Ids:
    """The questions of a simulated study, asked two at a time."""
    n, _ = simulated()
    X = make_gaussian(n, 5, 1, random_state=0).points
    learner = ERKLE(n, random_state=0)
    asker = Asker(Questions(n), strategy, random_state=0)
    asked = []
    for _ in range(300):
        for question in asker.ask(learner, 2, participant="Ann"):
            anchor, first, second = question.query
            asked.append([anchor, first, second])
            near = np.linalg.norm(X[anchor] - X[first]) < np.linalg.norm(X[anchor] - X[second])
            asker.answer(learner, question, bool(near))
    return np.array(asked)


def service() -> str:
    """The digest of what the service learns from a recorded log, in two pieces with a snapshot in between."""
    from erkle.service.learning import Fold
    from erkle.store import Imported, Kind, Store

    n, T = simulated()
    kinds = [Kind.CHOSEN, Kind.HELD_OUT, Kind.REPEATED, Kind.CATCH, Kind.PRACTICE]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "erkle.db") as store:
        study = store.studies.create("Points", [f"p{i}" for i in range(n)], {}).id
        store.imports.append(
            study, [Imported(f"person {i % 7}", *map(int, row), kind=kinds[i % 5]) for i, row in enumerate(T[:1500])]
        )
        answers = list(store.answers.log(study))
    fold = Fold(n)
    fold.learn(answers[:701])
    fold, _ = Fold.from_bytes(fold.to_bytes())
    fold.learn(answers[701:])
    return of_learner(fold.learner)


def of_learner(learner: ERKLE) -> str:
    """The digest of the kernel and the counts of a learner."""
    counts = [learner.n_triplets_seen_, round(learner.prequential_error_ * learner.n_triplets_seen_)]
    return digest(learner.kernel_matrix(), np.array(counts, np.int64))


def digest(*arrays: NDArray[np.generic]) -> str:
    """Sixteen hexadecimal digits that depend on every bit of the arrays."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(str((array.shape, array.dtype)).encode() + np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:16]


if __name__ == "__main__":
    main()

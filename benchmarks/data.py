"""The paper's synthetic sets: n points N(0, I) in R^50, and random questions answered from their distances."""

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.datasets import answered


def gaussian_points(n: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng([seed, n]).standard_normal((n, 50))


def gaussian_answers(n: int, n_answers: int, seed: int) -> NDArray[np.int64]:
    return answered(triplets.sample(n, n_answers, seed), gaussian_points(n, seed))


def all_questions(n: int) -> NDArray[np.int64]:
    # The order differs from that of `erkle.datasets.all_questions`; the published figures depend on it.
    a, b, c = np.indices((n, n, n)).reshape(3, -1)
    return np.stack([a, b, c], axis=1)[(b < c) & (a != b) & (a != c)]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

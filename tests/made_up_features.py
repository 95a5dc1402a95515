"""Points with features that say much, little or nothing about them."""

import numpy as np

from erkle import triplets
from erkle.datasets import answered


def points(n=40, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def vectors(X, d=64, noise=0.1, seed=1):
    """Embeddings of points: a random linear map into d dimensions, plus noise."""
    rng = np.random.default_rng(seed)
    return X @ rng.standard_normal((X.shape[1], d)) + noise * rng.standard_normal((len(X), d))


def answers(X, n_answers, seed=2):
    return answered(triplets.sample(len(X), n_answers, seed), X)

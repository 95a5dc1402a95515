"""Adaptive choice of questions, as for the paper's scenes: a random start, then one informative question per anchor.

The criterion is that of Tamuz et al. (2011). The answers so far give a posterior over the position of the anchor, which
is assumed to be the position of one of the objects. The question with the largest expected information is chosen.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from erkle.batch import TripletEmbedding
from erkle.losses import CKL

Triplets = NDArray[np.int64]
Floats = NDArray[np.float64]

# Random questions per anchor at the start.
_RANDOM_PER_ANCHOR = 6
# Questions that are scored for one choice.
_CANDIDATES = 200
# Regulariser of the crowd kernel (CKL).
_MU = 0.05


def adaptively_chosen(answers: Triplets, n_objects: int, n_wanted: int, rng: np.random.Generator) -> Triplets:
    """Choose ``n_wanted`` of the answers, in rounds of one question per anchor."""
    pools = [rng.permutation(answers[answers[:, 0] == anchor]) for anchor in range(n_objects)]
    chosen = np.concatenate([pool[:_RANDOM_PER_ANCHOR] for pool in pools])
    pools = [pool[_RANDOM_PER_ANCHOR:] for pool in pools]
    while len(chosen) < n_wanted:
        X = _map(chosen, n_objects)
        picked = []
        for anchor in range(n_objects):
            candidates = rng.permutation(len(pools[anchor]))[:_CANDIDATES]
            if len(candidates):
                gains = _information(X, chosen[chosen[:, 0] == anchor], pools[anchor][candidates])
                best = candidates[int(np.argmax(gains))]
                picked.append(pools[anchor][best])
                pools[anchor] = np.delete(pools[anchor], best, axis=0)
        if not picked:
            break
        chosen = np.concatenate([chosen, picked])
    return chosen[:n_wanted]


def _map(chosen: Triplets, n_objects: int) -> Floats:
    learner = TripletEmbedding(n_objects, n_components=3, loss=CKL(_MU), ridge=0.1, random_state=0, max_iter=100)
    with warnings.catch_warnings():
        # A rough fit is good enough to choose questions, and the next round fits again.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(learner.fit(chosen).embedding())


def _information(X: Floats, known: Triplets, candidates: Triplets) -> Floats:
    """Expected information about the anchor's position, in bits, for each candidate question."""
    log_posterior = np.log(_probabilities(X, known)).sum(axis=1)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    p = _probabilities(X, candidates)
    return np.asarray(_entropy(posterior @ p) - posterior @ _entropy(p))


def _probabilities(X: Floats, T: Triplets) -> Floats:
    """Probability of each answer if the anchor has the position of each object, (n_objects, n_answers)."""
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    near, far = squared[:, T[:, 1]] + _MU, squared[:, T[:, 2]] + _MU
    return np.asarray(far / (near + far))


def _entropy(p: Floats) -> Floats:
    return np.asarray(-p * np.log2(p) - (1.0 - p) * np.log2(1.0 - p))

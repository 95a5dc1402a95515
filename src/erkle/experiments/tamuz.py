"""Questions chosen as the paper's scenes were: a random start, then rounds of the most informative one per anchor.

The criterion is that of Tamuz et al. (2011): given where the anchor may be (a posterior over the places of the other
objects, from its answers so far), the question whose answer is expected to tell most.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from erkle.batch import TripletEmbedding
from erkle.losses import CKL

Triplets = NDArray[np.int64]
Floats = NDArray[np.float64]

_RANDOM_PER_ANCHOR = 6
_CANDIDATES = 200
_MU = 0.05


def adaptively_chosen(answers: Triplets, n_objects: int, n_wanted: int, rng: np.random.Generator) -> Triplets:
    """So many of the answers (one per question at most), chosen in rounds of one question for each anchor."""
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
        # Good enough to choose by; the next round fits again.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(learner.fit(chosen).embedding_)


def _information(X: Floats, known: Triplets, candidates: Triplets) -> Floats:
    """Expected fall in bits of the entropy of the anchor's place, for each candidate question."""
    log_posterior = np.log(_probabilities(X, known)).sum(axis=1)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    p = _probabilities(X, candidates)
    return np.asarray(_entropy(posterior @ p) - posterior @ _entropy(p))


def _probabilities(X: Floats, T: Triplets) -> Floats:
    """Of each answer, if the anchor were where each of the objects is: shape (objects, answers)."""
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    near, far = squared[:, T[:, 1]] + _MU, squared[:, T[:, 2]] + _MU
    return np.asarray(far / (near + far))


def _entropy(p: Floats) -> Floats:
    return np.asarray(-p * np.log2(p) - (1.0 - p) * np.log2(1.0 - p))

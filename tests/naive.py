"""The paper's algorithm in simple NumPy: a full eigendecomposition at every move; and the model of answers.

It is slow and easy to check. Tests compare all compiled code with it.
"""

import numpy as np


def distance(K, a, b):
    return K[a, a] + K[b, b] - 2 * K[a, b]


def direction(n, a, b, c, near, far, name):
    """D of the move K - gamma D; the slopes matter only for the direction "gradient"."""
    D = np.zeros((n, n))
    if name == "canonical":
        D[np.ix_([a, b, c], [a, b, c])] = [[0, -2, 2], [-2, 1, 0], [2, 0, -1]]
        return D
    mean = (near - far) / 2
    near, far = (near / mean, far / mean) if mean > 0 else (1, -1)
    u, v = np.zeros(n), np.zeros(n)
    u[[a, b]] = 1, -1
    v[[a, c]] = 1, -1
    return near * np.outer(u, u) + far * np.outer(v, v)


def total(K, T, loss):
    """The sum of the loss over all answers, and its gradient with respect to the kernel."""
    value, G = 0.0, np.zeros_like(K)
    for a, b, c in T:
        d_near, d_far = max(0.0, distance(K, a, b)), max(0.0, distance(K, a, c))
        value += loss.value(d_near, d_far)
        near, far = loss.slopes(d_near, d_far)
        u, v = np.zeros(len(K)), np.zeros(len(K))
        u[[a, b]] = 1, -1
        v[[a, c]] = 1, -1
        G += near * np.outer(u, u) + far * np.outer(v, v)
    return value, G


def project(K, rank=None, shrink=0.0):
    """The nearest kernel to K of at most this rank, with eigenvalues reduced by ``shrink``; and K's smallest one."""
    values, vectors = np.linalg.eigh(K)
    kept = np.maximum(values - shrink, 0)
    kept[: len(K) - (rank or len(K))] = 0
    return (vectors * kept) @ vectors.T, values[0]


def step_once(K, triplet, number, loss, step, name, rank=None, trace=0.0):
    """The kernel after one answer, and whether it moved; a move reduces the eigenvalues by its rate times ``trace``."""
    a, b, c = triplet
    d_near, d_far = distance(K, a, b), distance(K, a, c)
    near, far = loss.slopes(max(0, d_near), max(0, d_far))
    gamma = step.magnitude(number, d_near - d_far, (near - far) / 2, 10 if name == "canonical" else 6)
    if gamma == 0:
        return K, False
    rate = gamma / ((near - far) / 2) if near > far else gamma
    moved = K - gamma * direction(len(K), a, b, c, near, far, name)
    return project(moved, rank, rate * trace)[0], True


def erkle(T, K, loss, step, name="canonical", passes=1, seed=None, **limits):
    """The kernel after the stream T, and the number of moves."""
    rng = np.random.default_rng(seed)
    active = 0
    for j, triplet in enumerate(T, start=1):
        K, moved = step_once(K, triplet, j, loss, step, name, **limits)
        active += moved
        draws = rng.random(passes - 1) if passes > 1 else []
        if j > 2 * passes:
            for k, draw in enumerate(draws, start=1):
                K, moved = step_once(K, T[int(draw * j)], j + k, loss, step, name, **limits)
                active += moved
    return K, active


def skip_rule(T, K, loss, step):
    """The numbers of eigenpairs and projections under the paper's skip rule: direction canonical, one pass."""
    bound, eigenpairs, projections = np.linalg.eigvalsh(K)[0], 0, 0
    for j, (a, b, c) in enumerate(T, start=1):
        d_near, d_far = distance(K, a, b), distance(K, a, c)
        near, far = loss.slopes(max(0, d_near), max(0, d_far))
        gamma = step.magnitude(j, d_near - d_far, (near - far) / 2, 10)
        K = K - gamma * direction(len(K), a, b, c, near, far, "canonical")
        bound -= 3 * gamma
        if bound < 0:
            K, smallest = project(K)
            bound = max(0, smallest)
            eigenpairs += 1
            projections += smallest < 0
    return eigenpairs, projections


def probability(model, d_near, d_far):
    """The probability of an answer, as the docstring of `erkle.answer_models` defines it."""
    sensitivity, power, lapse = model

    def u(d):
        return sensitivity * (np.log1p(d) if power == 0 else np.expm1(power * np.log1p(d)) / power)

    return lapse + (1 - 2 * lapse) / (1 + np.exp(u(d_near) - u(d_far)))


def likelihood_step(K, triplet, model, rate, h=1e-5):
    """The projection of K minus ``rate`` times the gradient of -log P, by central differences in every entry."""
    a, b, c = triplet

    def loss(K):
        return -np.log(probability(model, distance(K, a, b), distance(K, a, c)))

    G = np.zeros_like(K)
    for i, j in np.ndindex(K.shape):
        # Only symmetric changes: both triangles share each off-diagonal entry.
        E = np.zeros_like(K)
        E[i, j] += h / 2
        E[j, i] += h / 2
        G[i, j] = (loss(K + E) - loss(K - E)) / (2 * h)
    return project(K - rate * G)[0]


def fit_objective(model, T, lapses, ridge, shift, X):
    """What a fit minimises: -log P of all answers, each with its own lapse, plus ridges.

    The last column of X holds the logarithms of shifts; a shift ridge of 0 means that there are none.
    """
    coordinates, logs = X[:, :-1], X[:, -1]
    shifts = np.exp(logs) if shift else np.zeros(len(X))
    total = ridge * np.sum(coordinates**2) + shift * np.sum(logs**2)
    for (a, b, c), lapse in zip(T, lapses, strict=True):
        d_near = np.sum((coordinates[a] - coordinates[b]) ** 2) + shifts[a] + shifts[b]
        d_far = np.sum((coordinates[a] - coordinates[c]) ** 2) + shifts[a] + shifts[c]
        total -= np.log(probability((model.sensitivity, model.power, lapse), d_near, d_far))
    return total


def feature_covariance(blocks, shares, ridge):
    """The prior covariance of a column of coordinates; ``blocks`` are pairs of axes and the rest outside of them."""
    n = len(next(iter(blocks))[0])
    own = np.ones(n)
    C = np.zeros((n, n))
    for (F, rest), share in zip(blocks, shares, strict=True):
        C += share * F @ F.T
        known = np.any(F != 0.0, axis=1) | (rest > 0.0)
        own -= share * (known - rest)
    return (C + np.diag(np.maximum(1e-3, own))) / ridge

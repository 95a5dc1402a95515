"""The paper's algorithm in simple NumPy: a full eigendecomposition at every move.

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

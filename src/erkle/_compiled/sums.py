"""Sums of a loss over answers, and their gradients, which are added to those of other answers.

The gradient with respect to the kernel is a weighted graph Laplacian: an answer (a, b, c) adds its slope in ``d_near``
to the weight of the edge ab and its slope in ``d_far`` to the weight of the edge ac. An offset is added to each
``d_near``; it is zero unless the method of multipliers minimises a hinge.
"""

from typing import Any

from erkle._compiled.compiling import compiled, compiled_in_memory
from erkle._compiled.overloads import slopes, value
from erkle.losses import Loss

Array = Any


def _add_by_kernel(T: Array, offsets: Array, total: float, G: Array, loss: Loss, K: Array) -> float:
    """Add the losses at the kernel K to the total, and the negative weights of the edges to G, for `make_laplacian`."""
    for i in range(T.shape[0]):
        a, b, c = T[i, 0], T[i, 1], T[i, 2]
        # Rounding can make a squared distance negative, where some losses are not defined.
        d_near = max(0.0, K[a, a] + K[b, b] - 2.0 * K[a, b]) + offsets[i]
        d_far = max(0.0, K[a, a] + K[c, c] - 2.0 * K[a, c])
        total += value(loss, d_near, d_far)
        near, far = slopes(loss, d_near, d_far)
        G[a, b] -= near
        G[a, c] -= far
    return total


@compiled
def make_laplacian(G: Array) -> None:
    """Turn negative edge weights into the gradient, a Laplacian: add both triangles, then make each row sum to zero."""
    n = G.shape[0]
    for i in range(n):
        for j in range(i):
            both = G[i, j] + G[j, i]
            G[i, j] = both
            G[j, i] = both
            G[i, i] -= both
            G[j, j] -= both


def _add_by_map(T: Array, offsets: Array, total: float, G: Array, loss: Loss, X: Array) -> float:
    """Add the losses at the coordinates X to the total, and their gradient to G."""
    for i in range(T.shape[0]):
        a, b, c = T[i, 0], T[i, 1], T[i, 2]
        d_near = d_far = 0.0
        for k in range(X.shape[1]):
            d_near += (X[a, k] - X[b, k]) ** 2
            d_far += (X[a, k] - X[c, k]) ** 2
        d_near += offsets[i]
        total += value(loss, d_near, d_far)
        near, far = slopes(loss, d_near, d_far)
        # Many answers have zero slopes and add nothing to the gradient.
        if near == 0.0 and far == 0.0:
            continue
        for k in range(X.shape[1]):
            to_near = 2.0 * near * (X[a, k] - X[b, k])
            to_far = 2.0 * far * (X[a, k] - X[c, k])
            G[a, k] += to_near + to_far
            G[b, k] -= to_near
            G[c, k] -= to_far
    return total


add_by_kernel, add_by_map = compiled(_add_by_kernel), compiled(_add_by_map)
add_by_kernel_with_user_loss = compiled_in_memory(_add_by_kernel)
add_by_map_with_user_loss = compiled_in_memory(_add_by_map)

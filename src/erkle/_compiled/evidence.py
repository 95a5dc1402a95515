"""How good predictions were: test-then-train losses at many temperatures, the recent ones counting most.

The answer numbered j multiplies the weight of all before it by 1 - c / (j + c), so that the weight of an answer grows
with its number to the power of c: with c = 3, half of all weight is on the last sixth of a stream, however long.
"""

import math
from typing import Any

from erkle._compiled.compiling import compiled

Array = Any

# Behind the losses of all temperatures stand the weighted number of errors and the sum of all weights.
ERROR, WEIGHT = -2, -1


@compiled
def add_answers(
    excess: Array, first: int, discount: float, temperatures: Array, prior: Array, sums: Array, bins: Array
) -> None:
    """Add answers whose first is numbered ``first`` to discounted sums and to bins of confidence.

    A bin holds the number of answers, the sum of the confidences and the number of right ones, the confidence being
    that at the temperature which had been best until then, with a prior against those far from 1.
    """
    n = temperatures.size
    for i in range(excess.size):
        x = excess[i]
        best = 0
        for k in range(1, n):
            if sums[k] + prior[k] < sums[best] + prior[best]:
                best = k
        confidence = 1.0 / (1.0 + math.exp(-min(abs(x) / temperatures[best], 700.0)))
        bin = min(int((confidence - 0.5) * 2.0 * bins.shape[0]), bins.shape[0] - 1)
        bins[bin, 0] += 1.0
        bins[bin, 1] += confidence
        # A tie is right half of the time.
        bins[bin, 2] += 1.0 if x < 0.0 else 0.5 if x == 0.0 else 0.0
        keep = 1.0 - discount / (first + i + discount)
        for k in range(n):
            z = x / temperatures[k]
            sums[k] = sums[k] * keep + max(z, 0.0) + math.log1p(math.exp(-abs(z)))
        sums[n] = sums[n] * keep + (0.0 if x < 0.0 else 1.0)
        sums[n + 1] = sums[n + 1] * keep + 1.0


@compiled
def excess_of_map(X: Array, T: Array, excess: Array) -> None:
    """d²(a, b) - d²(a, c) of each row of T, for coordinates X with a last column of shifts."""
    last = X.shape[1] - 1
    for i in range(T.shape[0]):
        a, b, c = T[i, 0], T[i, 1], T[i, 2]
        total = X[b, last] - X[c, last]
        for k in range(last):
            total += (X[a, k] - X[b, k]) ** 2 - (X[a, k] - X[c, k]) ** 2
        excess[i] = total

"""How good predictions were: test-then-train losses at many temperatures, where recent answers count most.

Answer j multiplies the weight of all earlier answers by 1 - c / (j + c), so the weight of an answer grows like its
number to the power of c. With c = 3, the last sixth of a stream carries half of the weight, at any length.
"""

import math
from typing import Any

from erkle._compiled.compiling import compiled

Array = Any

# Index of the weighted number of errors in the sums; the losses at all temperatures come first.
ERROR = -2
# Index of the sum of all weights in the sums.
WEIGHT = -1


@compiled
def add_answers(
    excess: Array, first: int, discount: float, temperatures: Array, prior: Array, sums: Array, bins: Array
) -> None:
    """Add answers, numbered from ``first``, to the discounted sums and to the bins of confidence.

    A bin holds the number of answers, the sum of their confidences and the number of correct predictions. The
    confidence belongs to the temperature with the smallest loss so far; ``prior`` penalises temperatures far from 1.
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
        # A tie counts as half correct.
        bins[bin, 2] += 1.0 if x < 0.0 else 0.5 if x == 0.0 else 0.0
        keep = 1.0 - discount / (first + i + discount)
        for k in range(n):
            z = x / temperatures[k]
            sums[k] = sums[k] * keep + max(z, 0.0) + math.log1p(math.exp(-abs(z)))
        sums[n] = sums[n] * keep + (0.0 if x < 0.0 else 1.0)
        sums[n + 1] = sums[n + 1] * keep + 1.0


@compiled
def excess_of_map(X: Array, T: Array, excess: Array) -> None:
    """Write d²(a, b) - d²(a, c) of each row of T to ``excess``; the last column of X holds the shifts."""
    last = X.shape[1] - 1
    for i in range(T.shape[0]):
        a, b, c = T[i, 0], T[i, 1], T[i, 2]
        total = X[b, last] - X[c, last]
        for k in range(last):
            total += (X[a, k] - X[b, k]) ** 2 - (X[a, k] - X[c, k]) ** 2
        excess[i] = total

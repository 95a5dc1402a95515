"""What one answer does to a kernel, and what a compiled function reports when it is done."""

from typing import NamedTuple

# The kernel has moved, and nothing is left to do.
DONE = 0
# The smallest eigenpair must come from LAPACK.
NEEDS_EIGENPAIR = 1
# The maintained inverse must be built anew.
NEEDS_INVERSE = 2
# The lower bound of the spectrum is worth asking LAPACK for.
NEEDS_BOUND = 3
# The answer was not learned: its move, or the distances under the kernel, are not finite.
NOT_FINITE = 4


class Move(NamedTuple):
    """a1 w1 w1' - a2 w2 w2' on the three objects, the most by which it can lower an eigenvalue, and its rate.

    The rate is the length of the gradient step: what a weight on the trace is multiplied by.
    """

    a1: float
    w1: tuple[float, float, float]
    a2: float
    w2: tuple[float, float, float]
    reach: float
    rate: float

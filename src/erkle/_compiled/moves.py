"""The move that one answer makes, and the statuses that compiled functions return."""

from typing import NamedTuple

# The kernel has moved; nothing is left to do.
DONE = 0
# LAPACK must compute the smallest eigenpair.
NEEDS_EIGENPAIR = 1
# The maintained inverse must be built again.
NEEDS_INVERSE = 2
# LAPACK should compute the lower bound of the spectrum.
NEEDS_BOUND = 3
# The answer was not learned: its move or its distances are not finite.
NOT_FINITE = 4
# The answer was not learned: its move may lead out of the interior, where the maintained inverse certifies moves.
NOT_CERTIFIED = 5


class Move(NamedTuple):
    """The move a1 w1 w1' - a2 w2 w2' on the three objects, its reach and its rate.

    The reach is the most by which the move can lower an eigenvalue. The rate is the length of the gradient step, which
    multiplies the weight of the trace.
    """

    a1: float
    w1: tuple[float, float, float]
    a2: float
    w2: tuple[float, float, float]
    reach: float
    rate: float

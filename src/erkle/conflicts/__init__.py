"""What answers say against each other, and who says it.

The same two candidates put to the same anchor are one question. A kernel answers it one way, so of the answers to a
question it leaves at least the minority unsatisfied. Summed over all questions, that is a floor under the error of
every kernel. Contradictions that run over several questions (a cycle of answers) are not counted, so the least error
is *at least* the floor.

A worker is measured by the answers to questions that others answered, too, or by the decision values of a learner.
Nothing here depends on the order of the answers, and nothing is ever dropped.
"""

from erkle.conflicts.finding import Conflicts, contradicted, find, floor
from erkle.conflicts.participants import Workers, agreement_with

__all__ = ["Conflicts", "Workers", "agreement_with", "contradicted", "find", "floor"]

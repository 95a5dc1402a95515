"""Contradictions between answers, and participants who disagree with the rest.

A question is an anchor and two candidates. A kernel answers each question in one way, so it gets at least the minority
of the answers to each question wrong. The share of these answers among all answers is a lower bound (the floor) on the
error of every kernel. The smallest possible error can be higher, because contradictions across several questions
(cycles) are not counted.

Participants are compared with the other participants who answered the same questions, or with the decision values of
a learner. The order of the answers has no effect, and no answer is ever dropped.
"""

from erkle.conflicts.finding import Conflicts, contradicted, find, floor
from erkle.conflicts.participants import Participants, agreement_with

__all__ = ["Conflicts", "Participants", "agreement_with", "contradicted", "find", "floor"]

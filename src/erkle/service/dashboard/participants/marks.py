"""Marks: what is unusual about how a participant answered, each with its evidence.

A share is marked only if it is surely above what is tolerable: a participant whose true share is tolerable gets the
mark with a probability of at most `RATE`. Few answers are therefore never enough, and a participant who answers
carefully is almost never marked. `python -m benchmarks.marks` measures how often it happens.
"""

from collections.abc import Iterator
from enum import StrEnum

from pydantic import BaseModel
from scipy.special import betainc, betaincinv

from erkle.service.dashboard.participants.conduct import Conduct
from erkle.service.studies.spec import Checks

# The largest probability with which somebody whose share is just tolerable gets a mark.
RATE = 0.001
# The tolerable lapse: half of the answers are coin tosses. It was chosen with `python -m benchmarks.marks`: with 50
# answers each, the intervals of most who toss coins begin above it, and those of careful participants below 0.1.
_RANDOM = 0.25
# The tolerable share of catch questions that are failed: a slip of the finger now and then.
_CATCH_SLIPS = 0.1
# The tolerable share of answers that are too fast.
_FAST = 0.1
# The tolerable share of answers on one side. The server balances the sides, so the expected share is 0.5.
_ONE_SIDE = 0.6
# The tolerable share of answers that disagree with the map. Adaptive questions are hard ones, where people disagree.
_DISAGREEMENT = 0.4
# The tolerable share of repeated questions that are answered differently; coin tosses give the same share.
_INCONSISTENCY = 0.5


class MarkKind(StrEnum):
    """What is unusual about a participant."""

    RANDOM = "random"
    CATCH = "catch"
    FAST = "fast"
    SIDE = "side"
    DISAGREES = "disagrees"
    INCONSISTENT = "inconsistent"


class Mark(BaseModel):
    """What is unusual about a participant, with the evidence in words."""

    kind: MarkKind
    sentence: str


class Interval(BaseModel):
    """A share with its 95 % interval (Clopper and Pearson 1934).

    >>> print(Interval.of(45, 50))
    90 % (78 to 97 %)
    """

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, count: int, n: int) -> "Interval":
        """Return the share of ``count`` among ``n`` > 0."""
        low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, 0.025))
        high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 0.975))
        return cls(share=round(count / n, 4), low=round(low, 4), high=round(high, 4))

    def __str__(self) -> str:
        return f"{100 * self.share:.0f} % ({100 * self.low:.0f} to {100 * self.high:.0f} %)"


def is_surely_above(count: int, n: int, tolerable: float) -> bool:
    """Return whether ``count`` or more of ``n`` have a probability of at most `RATE` if the true share is tolerable.

    >>> is_surely_above(5, 5, 0.5), is_surely_above(10, 10, 0.5), is_surely_above(60, 100, 0.5)
    (False, True, False)
    """
    return count > 0 and bool(betainc(count, n - count + 1.0, tolerable) <= RATE)


def marks(conduct: Conduct, checks: Checks) -> list[Mark]:
    """Return what is unusual about how a participant answered, the most serious first."""
    return [Mark(kind=kind, sentence=sentence) for kind, sentence in _found(conduct, checks)]


def _found(conduct: Conduct, checks: Checks) -> Iterator[tuple[MarkKind, str]]:
    wrong, asked = conduct.catch_wrong, conduct.catch_asked
    differing, disagreeing = conduct.repeated - conduct.consistent, conduct.compared - conduct.agreeing
    right = conduct.sided - conduct.left
    if conduct.lapse is not None and conduct.lapse.low >= _RANDOM:
        yield MarkKind.RANDOM, f"answers nearly at random: about {conduct.lapse}"
    # As many as end the participation are a mark, whatever their share.
    if wrong >= checks.fail_after or is_surely_above(wrong, asked, _CATCH_SLIPS):
        yield MarkKind.CATCH, f"{wrong} of {asked} catch questions failed"
    if is_surely_above(conduct.too_fast, conduct.timed, _FAST):
        yield MarkKind.FAST, f"{conduct.too_fast} of {conduct.timed} answers faster than {checks.too_fast_ms} ms"
    for side, count in (("left", conduct.left), ("right", right)):
        if is_surely_above(count, conduct.sided, _ONE_SIDE):
            yield MarkKind.SIDE, f"chose the {side} in {Interval.of(count, conduct.sided)} of {conduct.sided} answers"
    if is_surely_above(disagreeing, conduct.compared, _DISAGREEMENT):
        yield MarkKind.DISAGREES, f"only {conduct.agreeing} of {conduct.compared} answers agree with the map"
    if is_surely_above(differing, conduct.repeated, _INCONSISTENCY):
        sentence = f"only {conduct.consistent} of {conduct.repeated} repeated questions answered the same way"
        yield MarkKind.INCONSISTENT, sentence

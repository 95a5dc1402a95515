"""Losses of one answered triplet, as functions of its two squared distances.

A loss never falls as ``d_near`` grows and never rises as ``d_far`` grows. This is all the learner needs: an answer
then makes at most one eigenvalue of the kernel negative.

A loss is a `NamedTuple` of positive numbers with two methods: ``value(d_near, d_far)``, and ``slopes(d_near, d_far)``,
the two partial derivatives. You can write your own loss as a class of this form. Its methods are compiled, so they can
use only arithmetic and the `math` module.

>>> from erkle import STE
>>> STE().slopes(2.0, 2.0)
(0.5, -0.5)
"""

import math
from typing import NamedTuple, Protocol, runtime_checkable

from erkle.answer_models import AnswerModel
from erkle.checks import check_part, compared_by_type

__all__ = ["CKL", "GNMDS", "LOSSES", "SOE", "STE", "TSTE", "Loss", "RoundedHinge", "check_loss"]


@runtime_checkable
class Loss(Protocol):
    """The methods that learners need from a loss."""

    def value(self, d_near: float, d_far: float) -> float:
        """The loss itself, never negative."""

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """The derivatives in ``d_near`` (never negative) and in ``d_far`` (never positive)."""


@compared_by_type
class STE(NamedTuple):
    """log(1 + exp(d_near - d_far)), the loss of Stochastic Triplet Embedding."""

    def value(self, d_near: float, d_far: float) -> float:
        """The loss itself, never negative."""
        x = d_near - d_far
        return max(0.0, x) + math.log1p(math.exp(-abs(x)))

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """1 - p and p - 1, where p is the probability of the answer."""
        # The exponent is never positive, so exp cannot overflow.
        tail = math.exp(-abs(d_near - d_far))
        wrong = 1.0 / (1.0 + tail) if d_near > d_far else tail / (1.0 + tail)
        return wrong, -wrong


@compared_by_type
class GNMDS(NamedTuple):
    """max(0, margin + d_near - d_far), the hinge of Generalised Non-metric Multidimensional Scaling."""

    margin: float = 1.0

    def value(self, d_near: float, d_far: float) -> float:
        """The loss itself, never negative."""
        return max(0.0, self.margin + d_near - d_far)

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """1 and -1 if the margin is violated, 0 and 0 otherwise."""
        violated = 1.0 if self.margin + d_near - d_far > 0.0 else 0.0
        return violated, -violated


@compared_by_type
class CKL(NamedTuple):
    """log((d_near + d_far + 2 mu) / (d_far + mu)), the scale-invariant loss of Crowd Kernel Learning."""

    mu: float = 0.05

    def value(self, d_near: float, d_far: float) -> float:
        """The loss itself, never negative."""
        return math.log1p((d_near + self.mu) / (d_far + self.mu))

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """The derivatives in ``d_near`` and in ``d_far``; they differ in size, unlike those of STE and GNMDS."""
        both = 1.0 / (d_near + d_far + 2.0 * self.mu)
        return both, -both * (d_near + self.mu) / (d_far + self.mu)


@compared_by_type
class TSTE(NamedTuple):
    """-log(k(d_near) / (k(d_near) + k(d_far))) with k(d) = (1 + d/alpha)^(-(alpha+1)/2), the loss of t-STE."""

    alpha: float = 1.0

    def value(self, d_near: float, d_far: float) -> float:
        """The loss itself, never negative."""
        x = 0.5 * (self.alpha + 1.0) * (math.log1p(d_near / self.alpha) - math.log1p(d_far / self.alpha))
        return max(0.0, x) + math.log1p(math.exp(-abs(x)))

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """The derivatives in ``d_near`` and in ``d_far``; heavy tails make them decrease with the distances."""
        half = 0.5 * (self.alpha + 1.0)
        x = half * (math.log1p(d_near / self.alpha) - math.log1p(d_far / self.alpha))
        tail = math.exp(-abs(x))
        wrong = 1.0 / (1.0 + tail) if x > 0.0 else tail / (1.0 + tail)
        return wrong * half / (self.alpha + d_near), -wrong * half / (self.alpha + d_far)


# Distance below which two objects count as equal; dividing by a smaller number could overflow.
_LEAST_DISTANCE = 1e-150


@compared_by_type
class SOE(NamedTuple):
    """max(0, margin + sqrt(d_near) - sqrt(d_far))^2, the loss of Soft Ordinal Embedding (Terada & von Luxburg 2014).

    It is made for coordinates, in which it is smooth. Its slope in a squared distance grows without bound near 0.
    """

    margin: float = 1.0

    def value(self, d_near: float, d_far: float) -> float:
        """The loss itself, never negative."""
        violation = max(0.0, self.margin + math.sqrt(d_near) - math.sqrt(d_far))
        return violation * violation

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """The derivatives in ``d_near`` and in ``d_far``; 0 at distance 0, for coordinates that coincide."""
        near, far = math.sqrt(d_near), math.sqrt(d_far)
        violation = max(0.0, self.margin + near - far)
        return (violation / near if near > _LEAST_DISTANCE else 0.0), (
            -violation / far if far > _LEAST_DISTANCE else 0.0
        )


@compared_by_type
class RoundedHinge(NamedTuple):
    """The hinge of GNMDS with its kink rounded off: x^2 / (2 width) up to x = width, then x - width / 2.

    It is the maximum of s x - width s^2 / 2 over slopes s from 0 to 1 (Nesterov's smoothing). Batch learners use it.
    """

    margin: float = 1.0
    width: float = 1.0

    def value(self, d_near: float, d_far: float) -> float:
        """The loss itself, never negative."""
        x = max(0.0, self.margin + d_near - d_far)
        return x - 0.5 * self.width if x > self.width else 0.5 * x * (x / self.width)

    def slopes(self, d_near: float, d_far: float) -> tuple[float, float]:
        """s and -s, where s rises from 0 to 1 over the width."""
        slope = min(1.0, max(0.0, self.margin + d_near - d_far) / self.width)
        return slope, -slope


LOSSES: dict[str, type[Loss]] = {
    "ste": STE,
    "gnmds": GNMDS,
    "ckl": CKL,
    "tste": TSTE,
    "soe": SOE,
    "power": AnswerModel,
}

# Squared distances at which the slopes of a loss are checked.
_PROBES = (0.0, 1e-3, 0.3, 1.0, 2.0, 7.0, 100.0)


def check_loss(loss: Loss) -> Loss:
    """The loss with its fields as floats, or a `ValueError` that says what is wrong.

    >>> check_loss(GNMDS(2))
    GNMDS(margin=2.0)
    """
    loss = check_part(loss, "loss", ("value", "slopes"))
    for d_near in _PROBES:
        for d_far in _PROBES:
            _check_slopes(loss, d_near, d_far)
    return loss


def _check_slopes(loss: Loss, d_near: float, d_far: float) -> None:
    call = f"{type(loss).__name__}.slopes({d_near}, {d_far})"
    try:
        near, far = map(float, loss.slopes(d_near, d_far))
    except Exception as error:
        raise ValueError(
            f"{call} fails ({type(error).__name__}: {error}), but a loss needs two slopes at all distances from 0 up; "
            "return a pair of finite numbers."
        ) from error
    if not (0.0 <= near < math.inf and -math.inf < far <= 0.0):
        raise ValueError(
            f"{call} is ({near}, {far}), but a loss must not fall with d_near or rise with d_far; "
            "return a slope >= 0 and a slope <= 0."
        )

"""How much an answer would tell: expected information in closed form, from a map and from how often objects were asked.

The place of an object is uncertain along each axis. Before the first answer about it, the uncertainty is the spread
of all objects along that axis; every answer about it makes it smaller. So a decision value is uncertain too, to first
order through the places of its three objects. An answer tells the entropy of the answer, less the entropy that is
left when the places are known (Houlsby et al. 2011). That is large where the model does not know, and small where
nobody can know because the answer is a matter of chance.
"""

import math
from typing import Any

import numpy as np
import scipy.spatial
import scipy.special
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

_PROBIT = math.pi / 8
_WIDTH = math.pi * math.log(2) / 2
# Places depend on each other and the map is no truth: uncertainty is larger than its first order.
_CAUTION = 10.0


def information(logits: Floats, variances: Floats, unsettled: Floats | float = 0.0) -> Floats:
    """Bits that each answer would tell, from 0 to 1, its logit being normal with this mean and variance.

    It is that of a probit that runs close to the logistic curve, and off by 0.036 bits at most. Where pending answers
    will move the mean, by an ``unsettled`` variance, it is what is left to tell after them, in the mean.

    >>> information(np.array([0.0, 0.0, 9.0]), np.array([0.0, 100.0, 1.0])).round(2)
    array([0.  , 0.84, 0.  ])
    >>> information(np.array([0.0, 9.0]), np.array([1.0, 1.0]), 50.0).round(3)
    array([0.041, 0.019])
    """
    spread = _PROBIT * variances
    # The same curve for the entropy, exp(-x² / 2 width), in both: what is known then tells nothing, exactly.
    whole = _mean_curve(logits, unsettled, _WIDTH + _WIDTH * spread)
    left = np.sqrt(_WIDTH / (_WIDTH + spread)) * _mean_curve(logits, unsettled, _WIDTH + spread)
    return np.asarray(np.maximum(whole - left, 0.0))


def _mean_curve(logits: Floats, variances: Floats | float, width: Floats) -> Floats:
    """The mean of exp(-x² / 2 width), x the argument of the probit for a logit that is normal about these."""
    wider = 1.0 + _PROBIT * variances / width
    return np.asarray(np.exp(-_PROBIT * logits**2 / (2.0 * width * wider)) / np.sqrt(wider))


def variances(head: Floats, o1: Floats, o2: Floats, axes: Floats, asked: NDArray[np.integer[Any]]) -> Floats:
    """Variances of d²(head, o2) - d²(head, o1), a row of coordinates for each, to first order.

    Parameters
    ----------
    head, o1, o2 : (m, r) arrays
    axes : (r,) array
        Variance of the objects along each axis.
    asked : (m, 3) array
        How often head, o1 and o2 have been in an answer.
    """
    share = axes / max(float(axes.sum()), 1e-300)
    moves = (o2 - o1, head - o1, o2 - head)
    parts = (4.0 * move**2 * axes / (1.0 + count[:, None] * share) for move, count in zip(moves, asked.T, strict=True))
    return np.asarray(_CAUTION * sum(part.sum(axis=1) for part in parts))


def head_information(places: Floats, answered: NDArray[np.integer[Any]], pairs: Ids, temperature: float) -> Floats:
    """Bits that each pair (o1, o2) would tell of where the head is, if that is where one of the objects is.

    As logarithms to base 2: after many answers there is hardly a doubt, and yet one pair tells more than another.

    Parameters
    ----------
    places : (n, r) array
        Where the objects are.
    answered : (m, 2) array of ids
        Rows (near, far) of what is known about the head.
    pairs : (k, 2) array of ids
    temperature : float
        What decision values are divided by before they become probabilities.
    """
    distances = scipy.spatial.distance.cdist(places, places, "sqeuclidean") / temperature
    known = -np.logaddexp(0.0, distances[:, answered[:, 0]] - distances[:, answered[:, 1]]).sum(axis=1)
    belief = scipy.special.log_softmax(known)
    near = scipy.special.expit(distances[pairs[:, 1]] - distances[pairs[:, 0]])
    # Seen from the likeliest place, for there the mean differs by less than a rounding error.
    off = near - near[:, [np.argmax(belief)]]
    rise = (off @ np.exp(belief))[:, None] - off
    told = -_gain(near, rise) - _gain(1.0 - near, -rise)
    with np.errstate(divide="ignore"):
        nats = scipy.special.logsumexp(belief + np.log(np.maximum(told, 0.0)), axis=1)
    return np.asarray(np.maximum((nats - math.log(math.log(2))) / math.log(2), -1e300))


def _gain(p: Floats, rise: Floats) -> Floats:
    """p log((p + rise) / p), which is 0 for p = 0."""
    return np.asarray(scipy.special.xlog1py(p, np.maximum(rise / np.maximum(p, 1e-300), 1e-15 - 1.0)))

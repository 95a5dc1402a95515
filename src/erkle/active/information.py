"""The expected information of an answer, in closed form.

The position of an object is uncertain along each axis. Before the first answer about an object, the variance of its
position is the variance of all objects along that axis. Every answer about the object makes it smaller. The three
uncertain positions of a question make its decision value uncertain, here to first order.

The information of an answer is its entropy, minus the entropy that remains if the positions are known (Houlsby et al.
2011). It is large if the model does not know the answer, and small if the answer is random even for known positions.
"""

import math
from typing import Any

import numpy as np
import scipy.spatial
import scipy.special
from numpy.typing import NDArray

from erkle.answer_models import AnswerModel

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

# The logistic function of a logit is close to the probit of sqrt(_PROBIT) times the logit.
_PROBIT = math.pi / 8
# The entropy of an answer with probit argument x is close to exp(-x² / (2 _WIDTH)) bits.
_WIDTH = math.pi * math.log(2) / 2
# Factor on the first-order variances, which are too small: positions depend on each other, and the map is an estimate.
_CAUTION = 10.0


def information(logits: Floats, variances: Floats, unsettled: Floats | float = 0.0) -> Floats:
    """Information of each answer in bits, from 0 to 1, for logits that are normal with these means and variances.

    The logistic function is approximated by a probit; the error is at most 0.036 bits. If pending answers will move the
    mean by a random amount with variance ``unsettled``, the result is the expected information after these answers.

    >>> information(np.array([0.0, 0.0, 9.0]), np.array([0.0, 100.0, 1.0])).round(2)
    array([0.  , 0.84, 0.  ])
    >>> information(np.array([0.0, 9.0]), np.array([1.0, 1.0]), 50.0).round(3)
    array([0.041, 0.019])
    """
    spread = _PROBIT * variances
    # Both terms use the same curve for the entropy, so that the information for a variance of 0 is exactly 0.
    total = _mean_curve(logits, unsettled, _WIDTH + _WIDTH * spread)
    remaining = np.sqrt(_WIDTH / (_WIDTH + spread)) * _mean_curve(logits, unsettled, _WIDTH + spread)
    return np.asarray(np.maximum(total - remaining, 0.0))


def _mean_curve(logits: Floats, variances: Floats | float, width: Floats) -> Floats:
    """The mean of exp(-x² / (2 width)) for probit arguments x of logits with these means and variances."""
    wider = 1.0 + _PROBIT * variances / width
    return np.asarray(np.exp(-_PROBIT * logits**2 / (2.0 * width * wider)) / np.sqrt(wider))


def logit_gradients(anchor: Floats, first: Floats, second: Floats, rise_first: Floats, rise_second: Floats) -> Floats:
    """The derivatives of u(d²(anchor, second)) - u(d²(anchor, first)) in the three positions, (3, m, r).

    Parameters
    ----------
    anchor, first, second : (m, r) arrays
        Positions.
    rise_first, rise_second : (m,) arrays
        The derivatives of u at the two squared distances.
    """
    to_first = 2.0 * rise_first[:, None] * (anchor - first)
    to_second = 2.0 * rise_second[:, None] * (anchor - second)
    return np.stack([to_second - to_first, to_first, -to_second])


def variances(gradients: Floats, axes: Floats, asked: NDArray[np.integer[Any]]) -> Floats:
    """Variance of the logit of each question, to first order.

    Parameters
    ----------
    gradients : (3, m, r) array
        The derivatives of the logits in the positions of the three objects.
    axes : (r,) array
        Variance of the objects along each axis.
    asked : (m, 3) array
        How often the anchor, the first and the second object have been in an answer.
    """
    share = axes / max(float(axes.sum()), 1e-300)
    spread = axes / (1.0 + asked.T[:, :, None] * share)
    return np.asarray(_CAUTION * (gradients**2 * spread).sum(axis=(0, 2)))


def anchor_information(positions: Floats, answered: NDArray[np.integer[Any]], pairs: Ids, model: AnswerModel) -> Floats:
    """Logarithm to base 2 of the expected information about the position of the anchor, in bits, for each pair.

    The anchor is assumed to have the position of one of the objects. After many answers the information is tiny, but
    its logarithm still shows which pair is better.

    Parameters
    ----------
    positions : (n, r) array
        Positions of the objects.
    answered : (m, 2) array of ids
        Rows (near, far) of the answers about the anchor.
    pairs : (k, 2) array of ids
    model : AnswerModel
        How distances become answers.
    """
    distances = scipy.spatial.distance.cdist(positions, positions, "sqeuclidean")
    likely = model.probability(distances[:, answered[:, 0]], distances[:, answered[:, 1]])
    belief = scipy.special.log_softmax(np.log(np.maximum(likely, 1e-300)).sum(axis=1))
    near = model.probability(distances[pairs[:, 0]], distances[pairs[:, 1]])
    # Relative to the likeliest position: its difference from the mean can be smaller than a rounding error.
    off = near - near[:, [np.argmax(belief)]]
    rise = (off @ np.exp(belief))[:, None] - off
    gained = -_gain(near, rise) - _gain(1.0 - near, -rise)
    with np.errstate(divide="ignore"):
        nats = scipy.special.logsumexp(belief + np.log(np.maximum(gained, 0.0)), axis=1)
    return np.asarray(np.maximum((nats - math.log(math.log(2))) / math.log(2), -1e300))


def _gain(p: Floats, rise: Floats) -> Floats:
    """p log((p + rise) / p), and 0 for p = 0."""
    return np.asarray(scipy.special.xlog1py(p, np.maximum(rise / np.maximum(p, 1e-300), 1e-15 - 1.0)))

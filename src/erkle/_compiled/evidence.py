"""How good predictions were, and which answer model explains them; recent answers count most.

Answer j multiplies the weight of all earlier answers by 1 - c / (j + c), so the weight of an answer grows like its
number to the power of c. With c = 3, the last sixth of a stream carries half of the weight. In a long stream, the last
`_MOST_WEIGHT` answers carry most of it: they are enough to compare candidates, and older ones are out of date.
"""

import math
from typing import Any

import numpy as np

from erkle._compiled.compiling import compiled
from erkle._compiled.overloads import value
from erkle.answer_models import AnswerModel

Array = Any

# Indices of the discounted sums: of losses, of errors, and of weights.
LOSS, ERROR, WEIGHT = 0, 1, 2
# Largest sum of the weights of all answers.
_MOST_WEIGHT = 20_000.0
# Largest lapse of an answer. With 0.5, it would say nothing.
_LARGEST_LAPSE = 0.499
# Larger squared distances are kept as this one, because the window has single precision.
_LARGEST = 1e30
# Most steps of an estimate. Each starts where the last estimate ended, so few are needed.
_MOST_STEPS = 8
# An estimate ends when no parameter moves by more than this, in units of the prior's standard deviation.
_SETTLED = 1e-3
# Most cuts of a step that does not raise the likelihood.
_MOST_CUTS = 12


@compiled
def add_answers(
    distances: Array,
    lapses: Array,
    first: int,
    discount: float,
    model: AnswerModel,
    sums: Array,
    bins: Array,
    window: Array,
    likely: Array,
) -> None:
    """Add answers, numbered from ``first``, to the discounted sums, the bins of confidence and the window.

    Where ``lapses`` is not NaN, it is the lapse of the answer, in place of the model's. A bin holds the number of
    answers, the sum of their confidences and the number of correct predictions. The probability of each answer without
    slips is written to ``likely``.
    """
    for i in range(distances.shape[0]):
        near, far = max(0.0, distances[i, 0]), max(0.0, distances[i, 1])
        lapse = model.lapse if math.isnan(lapses[i]) else min(lapses[i], _LARGEST_LAPSE)
        loss = value(AnswerModel(model.sensitivity, model.power, lapse), near, far)
        probability = math.exp(-loss)
        likely[i] = min(max((probability - lapse) / (1.0 - 2.0 * lapse), 0.0), 1.0)
        confidence = max(probability, 1.0 - probability)
        bin = max(0, min(int((confidence - 0.5) * 2.0 * bins.shape[0]), bins.shape[0] - 1))
        bins[bin, 0] += 1.0
        bins[bin, 1] += confidence
        # A tie counts as half correct.
        bins[bin, 2] += 1.0 if near < far else 0.5 if near == far else 0.0
        keep = 1.0 - max(discount / (first + i + discount), 1.0 / _MOST_WEIGHT)
        sums[LOSS] = sums[LOSS] * keep + loss
        sums[ERROR] = sums[ERROR] * keep + (0.0 if near < far else 1.0)
        sums[WEIGHT] = sums[WEIGHT] * keep + 1.0
        row = (first + i - 1) % window.shape[0]
        window[row, 0] = min(near, _LARGEST)
        window[row, 1] = min(far, _LARGEST)


@compiled
def parameters_at(at: Array) -> tuple[float, float, float]:
    """Sensitivity, power and lapse at log sensitivity, logit of the power, and logit of twice the lapse.

    It is a plain tuple, because Numba would call Python to make a named one, and Ctrl-C there crashes the process.
    """
    return math.exp(at[0]), _logistic(at[1]), 0.5 * _logistic(at[2])


@compiled
def estimate(window: Array, n_answers: int, discount: float, mean: Array, precision: Array, at: Array) -> Array:
    """Move ``at`` to the most likely answer model of the predictions; return the inverse of the information there.

    ``window`` holds the squared distances of the latest of ``n_answers`` predictions. The prior of the parameters (see
    `parameters_at`) is normal with this ``mean`` and ``precision``. The method is Fisher scoring with step halving.
    """
    predictions = _logarithms(window, n_answers, discount)
    information, score = np.zeros((3, 3)), np.zeros(3)
    best = _posterior(predictions, mean, precision, at, score, information)
    other_score, other_information = np.zeros(3), np.zeros((3, 3))
    for _ in range(_MOST_STEPS):
        step = np.linalg.solve(information, score)
        moved = False
        for _ in range(_MOST_CUTS):
            tried = at + step
            found = _posterior(predictions, mean, precision, tried, other_score, other_information)
            if found >= best:
                moved = True
                break
            step *= 0.5
        if not moved:
            break
        at[:], best = tried, found
        score[:], information[:] = other_score, other_information
        if np.max(np.abs(step) * np.sqrt(precision)) < _SETTLED:
            break
    return np.linalg.inv(information)


@compiled
def _logarithms(window: Array, n_answers: int, discount: float) -> Array:
    """Rows log(1 + d_near), log(1 + d_far), weight: what every step of an estimate needs of a prediction."""
    predictions = np.empty((min(n_answers, window.shape[0]), 3))
    for i in range(predictions.shape[0]):
        # The row holds the latest answer whose number minus 1 leaves this remainder.
        number = n_answers - (n_answers - 1 - i) % window.shape[0]
        predictions[i, 0] = math.log(1.0 + window[i, 0])
        predictions[i, 1] = math.log(1.0 + window[i, 1])
        predictions[i, 2] = (number / n_answers) ** discount
    return predictions


@compiled
def _posterior(predictions: Array, mean: Array, precision: Array, at: Array, score: Array, information: Array) -> float:
    """The log of prior times likelihood; write its gradient to ``score`` and its expected curvature."""
    sensitivity, power, lapse = parameters_at(at)
    model, total = AnswerModel(sensitivity, power, lapse), 0.0
    score[:] = 0.0
    information[:] = 0.0
    gradient = np.zeros(3)
    for i in range(predictions.shape[0]):
        weight = predictions[i, 2]
        p = _probability(model, predictions[i, 0], predictions[i, 1], gradient)
        total += weight * math.log(p)
        for j in range(3):
            score[j] += weight * gradient[j] / p
            for k in range(3):
                information[j, k] += weight * gradient[j] * gradient[k] / (p * (1.0 - p))
    for j in range(3):
        off = at[j] - mean[j]
        total -= 0.5 * precision[j] * off * off
        score[j] -= precision[j] * off
        information[j, j] += precision[j]
    return total


@compiled
def _probability(model: AnswerModel, log_near: float, log_far: float, gradient: Array) -> float:
    """The probability of an answer, given log(1 + d) of both distances; write its derivatives in the parameters."""
    q = max(model.power, 1e-3)
    near, far = math.exp(q * log_near), math.exp(q * log_far)
    z = model.sensitivity * (far - near) / q
    in_power = (model.sensitivity * (far * log_far - near * log_near) - z) / q
    z = min(max(z, -700.0), 700.0)
    likely = _logistic(z)
    rise = (1.0 - 2.0 * model.lapse) * likely * (1.0 - likely)
    gradient[0] = rise * z
    gradient[1] = rise * in_power * q * (1.0 - q)
    gradient[2] = (1.0 - 2.0 * likely) * model.lapse * (1.0 - 2.0 * model.lapse)
    # The bounds matter only where rounding would make a probability 0 or 1.
    return min(max(model.lapse + (1.0 - 2.0 * model.lapse) * likely, 1e-12), 1.0 - 1e-12)


@compiled
def _logistic(x: float) -> float:
    tail = math.exp(-min(abs(x), 700.0))
    return 1.0 / (1.0 + tail) if x >= 0.0 else tail / (1.0 + tail)


@compiled
def distances_of_map(X: Array, shifted: bool, T: Array, distances: Array) -> None:
    """Write d²(a, b) and d²(a, c) of each row of T; the last column of X holds the logarithms of the shifts."""
    last = X.shape[1] - 1
    for i in range(T.shape[0]):
        a = T[i, 0]
        for side in range(2):
            b = T[i, 1 + side]
            total = math.exp(X[a, last]) + math.exp(X[b, last]) if shifted else 0.0
            for k in range(last):
                total += (X[a, k] - X[b, k]) ** 2
            distances[i, side] = total

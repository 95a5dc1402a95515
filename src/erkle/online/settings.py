"""The learner's parameters, checked where they are first used, as scikit-learn wants it."""

from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from erkle.kernels.dense import Projection, check_initial_kernel
from erkle.losses import Loss, check_loss
from erkle.parameters import one_of, whole
from erkle.steps import Step, check_step

__all__ = ["Settings", "check_settings"]

DIRECTIONS = ("canonical", "gradient")


class Settings(NamedTuple):
    """Parameters in the form the learner works with."""

    loss: Loss
    step: Step
    passes: int
    tol: float
    initial_kernel: NDArray[np.float64]


def check_settings(learner: Any) -> Settings:
    """The learner's parameters, or an error that says which one is wrong and what it should be."""
    n = whole(learner.n_objects, "n_objects", 3, "a question needs three objects")
    passes = whole(learner.passes, "passes", 1, "one pass learns every answer once")
    one_of(learner.direction, "direction", DIRECTIONS)
    one_of(learner.projection, "projection", get_args(Projection))
    tol = learner.tol
    if isinstance(tol, bool) or not isinstance(tol, int | float | np.number) or not 1e-12 <= tol <= 0.5:
        raise ValueError(f"tol is {tol!r}; pass a number from 1e-12 to 0.5.")
    initial = learner.initial_kernel
    kernel = np.eye(n) if initial is None else check_initial_kernel(initial, n)
    return Settings(check_loss(learner.loss), check_step(learner.step), passes, float(tol), kernel)

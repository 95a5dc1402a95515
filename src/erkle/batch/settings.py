"""Parameters the batch learners share, checked where they are first used, as scikit-learn wants it."""

import warnings
from typing import TYPE_CHECKING, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from erkle.batch.progress import Progress
from erkle.checks import number, whole
from erkle.losses import Loss, check_loss

if TYPE_CHECKING:
    from erkle.batch.rckl import RCKL
    from erkle.batch.triplet_embedding import TripletEmbedding

__all__ = ["Settings", "check_settings", "warn_unless_converged"]


class Settings(NamedTuple):
    """Parameters in the form the learner works with."""

    n_objects: int
    loss: Loss
    weight: float
    max_iter: int
    tol: float


def check_settings(learner: "RCKL | TripletEmbedding", weight: str) -> Settings:
    """The learner's parameters, the weight of the trace under its own name, or an error that says which is wrong."""
    if learner.callback is not None and not callable(learner.callback):
        raise ValueError(
            f"callback is {learner.callback!r}; pass a function of the iteration and the objective, or None."
        )
    return Settings(
        whole(learner.n_objects, "n_objects", 3, "a question needs three objects"),
        check_loss(learner.loss),
        number(getattr(learner, weight), weight, "0 leaves the size of the kernel free"),
        whole(learner.max_iter, "max_iter", 1, "each iteration lowers the objective"),
        number(learner.tol, "tol", "0 goes on until only rounding is left"),
    )


def warn_unless_converged(progress: Progress, settings: Settings) -> None:
    """Warn where iterations ran out."""
    if not progress.converged:
        warnings.warn(
            f"The objective was still falling after max_iter={settings.max_iter} iterations; "
            "pass a larger max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

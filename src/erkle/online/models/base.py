"""What a learner can consist of: one kernel, kernels in a race, or fits that are consolidated."""

import sys

import numpy as np

from erkle.kernels.dense import DenseKernel, Projection
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.models.racing import Race
from erkle.online.models.refitting import Consolidation, Fit
from erkle.online.models.single import Alone
from erkle.online.settings import Settings

__all__ = ["MODELS", "Model", "model_for", "most_kept"]

Model = Alone | Race | Consolidation

# By the name each one packs itself under.
MODELS: dict[str, type[Alone] | type[Race] | type[Consolidation]] = {
    "dense": Alone,
    "low rank": Alone,
    "race": Race,
    "consolidation": Consolidation,
}
# Answers that a learner keeps which could do without them, so that it can tell of conflicts.
_RECENT = 1_000_000


def model_for(settings: Settings, projection: Projection, rng: np.random.Generator) -> Model:
    """A new model by the settings; only fits, which begin at random, need the generator."""
    n, kernel = settings.n_objects, settings.kernel
    if kernel is None:
        return Alone(DenseKernel(settings.initial_kernel, settings.tol, projection))
    if settings.share == 0.0:
        return Race(n) if kernel.chooses else Alone(LowRankKernel(n, int(kernel.rank), kernel.trace or 0.0))
    fit = None if kernel.chooses else Fit(int(kernel.rank), kernel.trace or 0.0)
    return Consolidation(n, fit, settings.share, int(rng.integers(2**62)))


def most_kept(settings: Settings) -> int:
    """How many answers to keep."""
    if settings.kernel is None:
        return 0
    return _RECENT if settings.share == 0.0 else sys.maxsize

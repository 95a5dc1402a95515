"""The models of a learner: a single kernel, kernels that race, or candidates that are refitted."""

import sys
from typing import Any

import numpy as np

from erkle.features import Features
from erkle.kernels.dense import Dense, DenseKernel
from erkle.kernels.lapack import one_thread
from erkle.kernels.looping import Rule
from erkle.kernels.low_rank import LowRankKernel
from erkle.npz_files import Arrays
from erkle.online.models.base import Answers, Model
from erkle.online.models.racing import Racing
from erkle.online.models.refitting import Refitting
from erkle.online.models.single import Single
from erkle.online.settings import DEFAULT_RULE, Settings

__all__ = ["Answers", "Model", "Racing", "Refitting", "Single", "model_for", "most_kept", "unpack_model"]

# Number of answers kept by a learner that does not need them to learn, so that conflicts can be found.
_RECENT = 1_000_000


def model_for(settings: Settings, rng: np.random.Generator) -> Model:
    """A new model for the settings. Only refitting uses the generator, for its random starts."""
    n, kernel = settings.n_objects, settings.kernel
    if isinstance(kernel, Dense):
        initial = np.eye(n) if kernel.initial is None else np.asarray(kernel.initial)
        return Single(DenseKernel(initial, kernel.tol, kernel.projection), settings.rule)
    rank, trace = None if kernel.chooses else int(kernel.rank), kernel.trace or 0.0
    if settings.share != 0.0:
        # Fits elsewhere in the process limit the BLAS threads, whose number changes the last bits.
        with one_thread(n):
            features = None if settings.features is None else Features.of(settings.features, n)
            return Refitting(n, settings.share, int(rng.integers(2**62)), rank, trace, features)
    return Racing(n) if rank is None else Single(LowRankKernel(n, rank, trace), settings.rule)


def unpack_model(arrays: Arrays, meta: dict[str, Any], rule: Rule = DEFAULT_RULE) -> Model:
    """Restore a model from what `pack` returned; a single kernel continues with the rule."""
    if meta["model"] == "single":
        return Single.unpack(arrays, meta, rule)
    kinds: dict[str, type[Racing] | type[Refitting]] = {"racing": Racing, "refitting": Refitting}
    return kinds[meta["model"]].unpack(arrays, meta)


def most_kept(settings: Settings) -> int:
    """The number of answers to keep."""
    if isinstance(settings.kernel, Dense):
        return 0
    return _RECENT if settings.share == 0.0 else sys.maxsize

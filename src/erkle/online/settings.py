"""The learner's parameters, checked where they are first used, as scikit-learn wants it."""

from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from erkle.kernels.dense import Projection, check_initial_kernel
from erkle.kernels.low_rank import LowRank
from erkle.losses import GNMDS, Loss, check_loss
from erkle.parameters import number, one_of, whole
from erkle.steps import PassiveAggressive, Step, check_step

if TYPE_CHECKING:
    from erkle.online.erkle import ERKLE

__all__ = ["MOVES", "Settings", "check_settings"]

DIRECTIONS = ("canonical", "gradient")
# What moves a kernel, where nobody has said otherwise.
MOVES: dict[str, Any] = {"loss": GNMDS(), "step": PassiveAggressive(), "direction": "canonical"}


class Settings(NamedTuple):
    """Parameters in the form the learner works with; the share is 0 for no fits, None for those of a good schedule."""

    n_objects: int
    loss: Loss
    step: Step
    passes: int
    tol: float
    initial_kernel: NDArray[np.float64]
    kernel: LowRank | None
    share: float | None


def check_settings(learner: "ERKLE") -> Settings:
    """The learner's parameters, or an error that says which one is wrong and what it should be."""
    n = whole(learner.n_objects, "n_objects", 3, "a question needs three objects")
    passes = whole(learner.passes, "passes", 1, "one pass learns every answer once")
    one_of(learner.direction, "direction", DIRECTIONS)
    one_of(learner.projection, "projection", get_args(Projection))
    tol = learner.tol
    if isinstance(tol, bool) or not isinstance(tol, int | float | np.number) or not 1e-12 <= tol <= 0.5:
        raise ValueError(f"tol is {tol!r}; pass a number from 1e-12 to 0.5.")
    loss, step = check_loss(learner.loss), check_step(learner.step)
    kernel = _check_kernel(learner, loss, step, n)
    share = 0.0 if kernel is None else _share(kernel)
    return Settings(n, loss, step, passes, float(tol), _start(learner, kernel, n), kernel, share)


def _start(learner: "ERKLE", kernel: LowRank | None, n_objects: int) -> NDArray[np.float64]:
    if kernel is not None:
        return np.zeros((0, 0))
    return (
        np.eye(n_objects) if learner.initial_kernel is None else check_initial_kernel(learner.initial_kernel, n_objects)
    )


def _check_kernel(learner: "ERKLE", loss: Loss, step: Step, n_objects: int) -> LowRank | None:
    kernel = learner.kernel
    if kernel is None:
        return None
    if not isinstance(kernel, LowRank):
        raise ValueError(f"kernel is {kernel!r}; pass LowRank(...), or None for the exact kernel.")
    if learner.initial_kernel is not None:
        raise ValueError("A low-rank kernel starts at 0; leave initial_kernel at None, or pass kernel=None.")
    # The types too: as tuples, Constant(1.0) and PassiveAggressive(1.0) are the same.
    moves = (type(loss), type(step)) != (GNMDS, PassiveAggressive) or (loss, step, learner.direction) != (
        *MOVES.values(),
    )
    if kernel.chooses:
        if kernel.trace is not None:
            raise ValueError('LowRank("auto") chooses its weight of the trace; leave it at None, or pass a rank.')
        if moves:
            raise ValueError('LowRank("auto") chooses its own loss and step; leave them out, or pass a rank.')
        return kernel
    if isinstance(kernel.rank, str):
        raise ValueError(f'The rank is {kernel.rank!r}; pass an integer of at least 1, or "auto".')
    rank = whole(kernel.rank, "rank", 1, "a kernel of rank 0 knows nothing")
    trace = 0.0 if kernel.trace is None else number(kernel.trace, "trace", "0 leaves the size of the kernel free")
    if moves and _share(kernel) != 0.0:
        own = f'LowRank({rank}, consolidate="off")'
        raise ValueError(f"Fits have a loss and a step of their own; leave yours out, or pass kernel={own}.")
    return LowRank(min(rank, n_objects), trace, kernel.consolidate)


def _share(kernel: LowRank) -> float | None:
    if isinstance(kernel.consolidate, str):
        one_of(kernel.consolidate, "consolidate", ("auto", "off"))
        return None if kernel.consolidates else 0.0
    return number(kernel.consolidate, "consolidate", "0.05 fits anew when there are 5 % more answers")

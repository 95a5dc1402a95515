"""The learner's parameters, checked where they are first used, as scikit-learn wants it."""

from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from erkle.checks import number, one_of, whole
from erkle.kernels.dense import Dense, Projection, check_initial_kernel
from erkle.kernels.looping import Rule
from erkle.kernels.low_rank import LowRank
from erkle.losses import GNMDS, check_loss
from erkle.steps import PassiveAggressive, check_step

if TYPE_CHECKING:
    from erkle.online.erkle import ERKLE

DIRECTIONS = ("canonical", "gradient")
# What moves a kernel by default.
DEFAULT_RULE = Rule(GNMDS(), PassiveAggressive(), True)


class Settings(NamedTuple):
    """Parameters in the form the learner works with; the share is 0 for no fits, None for those of a good schedule."""

    n_objects: int
    rule: Rule
    passes: int
    kernel: Dense | LowRank
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
    rule = Rule(check_loss(learner.loss), check_step(learner.step), learner.direction == "canonical")
    if learner.kernel is None:
        K = check_initial_kernel(learner.initial_kernel, n)
        return Settings(n, rule, passes, Dense(K, float(tol), learner.projection), 0.0)
    kernel = _check_low_rank(learner, rule, n)
    return Settings(n, rule, passes, kernel, _share(kernel))


def _check_low_rank(learner: "ERKLE", rule: Rule, n_objects: int) -> LowRank:
    kernel = learner.kernel
    if not isinstance(kernel, LowRank):
        raise ValueError(f"kernel is {kernel!r}; pass LowRank(...), or None for the exact kernel.")
    if learner.initial_kernel is not None:
        raise ValueError("A low-rank kernel starts at 0; leave initial_kernel at None, or pass kernel=None.")
    # The types too: as tuples, Constant(1.0) and PassiveAggressive(1.0) are the same.
    moves = rule != DEFAULT_RULE or [*map(type, rule)] != [*map(type, DEFAULT_RULE)]
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

"""The learner's parameters, checked when they are first used, as scikit-learn requires."""

from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from erkle.checks import number, one_of, whole
from erkle.features import Features
from erkle.features.features import Vectors
from erkle.kernels.dense import DEFAULT_TOL, Dense, Projection
from erkle.kernels.forms import check_room
from erkle.kernels.initial import check_initial_kernel
from erkle.kernels.looping import Rule
from erkle.kernels.low_rank import LowRank
from erkle.losses import GNMDS, check_loss
from erkle.steps import PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII, check_step

if TYPE_CHECKING:
    from erkle.online.erkle import ERKLE

DIRECTIONS = ("canonical", "gradient")
# Steps whose length depends on the excess of an answer alone. In the canonical direction the loss then has no effect.
_WITHOUT_LOSS = (PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII)
# How answers move a kernel by default: PA-ERKLE of the paper.
DEFAULT_RULE = Rule(GNMDS(), PassiveAggressive(), True)


class Settings(NamedTuple):
    """The checked parameters.

    Attributes
    ----------
    n_objects : int
    rule : Rule
        How an answer moves a kernel that follows the learner's rule.
    passes : int
    kernel : Dense or LowRank
        A `Dense` has its checked initial matrix here, a `LowRank` of given rank its weight of the trace.
    share : float or None
        By what share answers grow between two fits: 0 for no fits, None for the automatic schedule.
    features : features of the objects, or None
        As they were given: `model_for` prepares them.
    """

    n_objects: int
    rule: Rule
    passes: int
    kernel: Dense | LowRank
    share: float | None
    features: Vectors | Features | None = None


def check_settings(learner: "ERKLE") -> Settings:
    """The learner's parameters, or an error that names the wrong one and says what to pass instead."""
    n = whole(learner.n_objects, "n_objects", 3, "a question needs three objects")
    passes = whole(learner.passes, "passes", 1, "one pass learns every answer once")
    kernel = learner.kernel
    if learner.features is not None and not (isinstance(kernel, LowRank) and kernel.chooses and kernel.consolidates):
        raise ValueError(
            f"features are given, but {kernel!r} cannot use them; leave features out, or pass kernel=LowRank(), "
            "which chooses how much they count."
        )
    if isinstance(kernel, Dense):
        return Settings(n, _rule(learner), passes, _check_dense(kernel, n), 0.0)
    if not isinstance(kernel, LowRank):
        raise ValueError(f"kernel is {kernel!r}; pass LowRank(...) or Dense(...).")
    kernel = _check_low_rank(kernel, n)
    share = _share(kernel)
    if not kernel.follows_rule:
        _refuse_rule(learner, kernel)
    return Settings(n, _rule(learner), passes, kernel, share, learner.features)


def _rule(learner: "ERKLE") -> Rule:
    loss = DEFAULT_RULE.loss if learner.loss is None else check_loss(learner.loss)
    step = DEFAULT_RULE.step if learner.step is None else check_step(learner.step)
    if learner.direction is not None:
        one_of(learner.direction, "direction", DIRECTIONS)
    rule = Rule(loss, step, learner.direction != "gradient")
    if rule.canonical and isinstance(step, _WITHOUT_LOSS) and DEFAULT_RULE.loss != loss:
        raise ValueError(
            f"loss is {learner.loss!r}, but {type(step).__name__} in the canonical direction ignores the loss; "
            "leave loss out, or pass step=Constant(1.0) or direction='gradient'."
        )
    return rule


def _refuse_rule(learner: "ERKLE", kernel: LowRank) -> None:
    """Refuse a loss, step or direction that would have no effect."""
    for name in ("loss", "step", "direction"):
        given = getattr(learner, name)
        if given is not None:
            instead = "LowRank(10)" if kernel.chooses else f'LowRank({kernel.rank}, consolidate="off")'
            raise ValueError(
                f"{name} is {given!r}, but {kernel!r} chooses its own moves; leave {name} out, "
                f"or pass kernel={instead} or kernel=Dense()."
            )


def _check_dense(kernel: Dense, n_objects: int) -> Dense:
    one_of(kernel.projection, "projection", get_args(Projection))
    tol = kernel.tol
    if isinstance(tol, bool) or not isinstance(tol, int | float | np.number) or not 1e-12 <= tol <= 0.5:
        raise ValueError(f"tol is {tol!r}; pass a number from 1e-12 to 0.5.")
    if kernel.projection == "eigh" and tol != DEFAULT_TOL:
        raise ValueError(f'tol is {tol!r}, but projection="eigh" computes exact eigenpairs; leave tol out.')
    check_room(n_objects, float(tol))
    initial = None if kernel.initial is None else check_initial_kernel(kernel.initial, n_objects)
    return Dense(float(tol), kernel.projection, initial)


def _check_low_rank(kernel: LowRank, n_objects: int) -> LowRank:
    if kernel.chooses:
        if kernel.trace is not None:
            raise ValueError(
                f"trace is {kernel.trace!r}, but LowRank() chooses the trace itself; leave trace out, or pass a rank."
            )
        return kernel
    if isinstance(kernel.rank, str):
        raise ValueError(f'rank is {kernel.rank!r}; pass an integer of at least 1, or "auto".')
    rank = whole(kernel.rank, "rank", 1, "a kernel of rank 0 knows nothing")
    trace = 0.0 if kernel.trace is None else number(kernel.trace, "trace", "0 leaves the size of the kernel free")
    return LowRank(min(rank, n_objects), trace, kernel.consolidate)


def _share(kernel: LowRank) -> float | None:
    if isinstance(kernel.consolidate, str):
        one_of(kernel.consolidate, "consolidate", ("auto", "off"))
        return None if kernel.consolidates else 0.0
    return number(kernel.consolidate, "consolidate", "0.05 fits all answers again whenever there are 5 % more")

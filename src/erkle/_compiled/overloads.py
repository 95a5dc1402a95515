"""Losses and steps in compiled code: Python and Numba use the same methods of a `NamedTuple`."""

from numba.extending import overload, register_jitable

from erkle.answer_models import AnswerModel, logit_and_slopes
from erkle.losses import Loss
from erkle.steps import Step

register_jitable(logit_and_slopes)


def is_built_in(*parts: Loss | Step) -> bool:
    """Whether all parts are ours: the hash in the cache folder's name covers only our own sources."""
    return all(type(part).__module__ in (Loss.__module__, Step.__module__, AnswerModel.__module__) for part in parts)


def cannot_compile(methods: str, error: Exception) -> TypeError:
    """The error to raise if Numba cannot compile the methods of a part."""
    reason = " ".join(str(error).split())[:300]
    return TypeError(
        f"{methods} could not be compiled; use arithmetic, comparisons and the math module only. "
        f"The compiler says: {reason}"
    )


def value(loss: Loss, d_near: float, d_far: float) -> float:
    """The loss itself."""
    return loss.value(d_near, d_far)


def slopes(loss: Loss, d_near: float, d_far: float) -> tuple[float, float]:
    """The loss's two slopes."""
    return loss.slopes(d_near, d_far)


def magnitude(step: Step, j: int, excess: float, slope: float, fall: float) -> float:
    """The step's magnitude."""
    return step.magnitude(j, excess, slope, fall)


# Numba requires these functions and the lambdas they return to have equal signatures, so they are not annotated.
@overload(value)
def _compiled_value(loss, d_near, d_far):  # type: ignore[no-untyped-def]
    method = register_jitable(loss.instance_class.value)
    return lambda loss, d_near, d_far: method(loss, d_near, d_far)


@overload(slopes)
def _compiled_slopes(loss, d_near, d_far):  # type: ignore[no-untyped-def]
    method = register_jitable(loss.instance_class.slopes)
    return lambda loss, d_near, d_far: method(loss, d_near, d_far)


@overload(magnitude)
def _compiled_magnitude(step, j, excess, slope, fall):  # type: ignore[no-untyped-def]
    method = register_jitable(step.instance_class.magnitude)
    return lambda step, j, excess, slope, fall: method(step, j, excess, slope, fall)

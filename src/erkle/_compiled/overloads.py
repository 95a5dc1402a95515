"""Losses and steps inside compiled code: one definition, the method of the `NamedTuple`, serves Python and Numba."""

from numba.extending import overload, register_jitable

from erkle.losses import Loss
from erkle.steps import Step


def is_stamped(*parts: Loss | Step) -> bool:
    """Whether the cache's name follows the sources of these parts: it does for ours, and for no others."""
    return all(type(part).__module__ in (Loss.__module__, Step.__module__) for part in parts)


def cannot_compile(methods: str, error: Exception) -> TypeError:
    """What to raise when the compiler refuses a part's methods."""
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


# Numba compares the signatures of the functions below and of what they return, annotations included.
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

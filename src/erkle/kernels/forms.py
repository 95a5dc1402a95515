"""How K and P of a dense kernel are stored: the one rule by size.

A small kernel fits in the cache: each answer updates K and P at once, in float64. For a large kernel the time of an
answer is the time of passes over memory: updates are buffered, and P is float32 unless the tolerance asks for more.
A large kernel also starts in the interior of the cone, where P certifies moves without an eigenpair.
"""

from typing import Any, NamedTuple

import numpy as np

from erkle.memory import machine_memory

# Objects from which updates are buffered: the forms are equally fast at about 300 (`python -m benchmarks.thousands`).
BUFFERED_FROM = 400
# Terms that wait before BLAS applies them. With 32, kernels of up to 800 objects are a tenth faster, but large ones
# need twice as many passes over memory (`python -m benchmarks.thousands`).
ROOM = 64
# Least tolerance of eigenpairs for which P can be float32, whose rounding then is a hundred times smaller.
LEAST_TOL_OF_FLOAT32 = 1e-3
# Mean diagonals for which P can be float32, which has no numbers beyond 1e38.
_SCALES_OF_FLOAT32 = (1e-6, 1e6)
# Bytes per pair of objects while K is projected exactly: K, P, a copy of K, all eigenvectors and LAPACK's workspace.
_BYTES_TO_READ = 52
# Share of the machine's memory that a kernel may take.
_SHARE = 0.9


class Form(NamedTuple):
    """The number of terms that can wait (0: each is applied at once), and the type of P."""

    room: int
    dtype: Any


def form_for(n_objects: int, tol: float, scale: float = 1.0) -> Form:
    """The form of a kernel with this mean diagonal."""
    if n_objects < BUFFERED_FROM:
        return Form(0, np.float64)
    low, high = _SCALES_OF_FLOAT32
    single = tol >= LEAST_TOL_OF_FLOAT32 and low <= scale <= high
    return Form(ROOM, np.float32 if single else np.float64)


def check_room(n_objects: int, tol: float) -> None:
    """Raise a `ValueError` if K and P do not fit in the memory of this machine."""
    per_pair = 8 + np.dtype(form_for(n_objects, tol).dtype).itemsize
    remedy = "learn about at most {:,} objects, or use the default low-rank kernel."
    _check_fits(per_pair, n_objects, f"A dense kernel of {n_objects:,} objects takes", remedy)


def check_reading(n_objects: int) -> None:
    """Raise a `ValueError` if the exact projection of K does not fit in the memory of this machine."""
    remedy = "use embedding(2) for a map, and decision_function() for predictions."
    _check_fits(_BYTES_TO_READ, n_objects, f"The exact matrix of {n_objects:,} objects needs", remedy)


def _check_fits(per_pair: int, n_objects: int, beginning: str, remedy: str) -> None:
    """Refuse objects for which so many bytes per pair do not fit; the remedy can name the number that does."""
    memory = machine_memory()
    most = int(min((_SHARE * memory / per_pair) ** 0.5, 2**31))
    if n_objects > most:
        raise ValueError(
            f"{beginning} {per_pair * n_objects**2 / 1e9:.1f} GB, and this machine has {memory / 1e9:.1f} GB of "
            f"memory; {remedy.format(most)}"
        )

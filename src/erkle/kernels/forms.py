"""How K and P of a dense kernel are stored: the one rule by size.

A small kernel fits in the cache: each answer updates K and P at once, in float64. For a large kernel the time of an
answer is the time of passes over memory: updates are buffered, and P is float32 unless the tolerance asks for more.
A large kernel also starts in the interior of the cone, where P certifies moves without an eigenpair.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Objects from which updates are buffered. There is no record of a benchmark for this value; `python -m
# benchmarks.thousands --forms` compares both forms around it.
BUFFERED_FROM = 400
# Terms that wait before BLAS applies them. Other values have not been compared in a benchmark.
ROOM = 64
# Least tolerance of eigenpairs for which P can be float32, whose rounding then is a hundred times smaller.
LEAST_TOL_OF_FLOAT32 = 1e-3
# Mean diagonals for which P can be float32, which has no numbers beyond 1e38.
_SCALES_OF_FLOAT32 = (1e-6, 1e6)
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
    memory = machine_memory()
    size = 8 + np.dtype(form_for(n_objects, tol).dtype).itemsize
    most = int((_SHARE * memory / size) ** 0.5)
    if n_objects > most:
        raise ValueError(
            f"A dense kernel of {n_objects} objects takes {size * n_objects**2 / 1e9:.1f} GB, and this machine has "
            f"{memory / 1e9:.1f} GB of memory; use at most {most} objects with Dense(), or LowRank() for more."
        )


def machine_memory() -> float:
    """The memory that this process can use, in bytes: that of the machine or of its container."""
    try:
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return memory
    return min(memory, float(limit)) if limit.isdigit() else memory

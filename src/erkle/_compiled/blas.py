"""BLAS for compiled code: SciPy's routines for symmetric matrices, in float32 and float64, on all of BLAS's threads.

LLVM finds the routines by the names registered here, so compiled code that calls them can be cached on disk. BLAS reads
columns, so the lower triangle of our rows is its upper triangle.
"""

from typing import Any

import numpy as np
from llvmlite import binding
from numba import types
from numba.extending import get_cython_function_address

from erkle._compiled.compiling import compiled

Array = Any

_UPPER, _PLAIN = ord("U"), ord("N")


def _routine(name: str, n_arguments: int) -> Any:
    binding.add_symbol(f"erkle_{name}", get_cython_function_address("scipy.linalg.cython_blas", name))
    return types.ExternalFunction(f"erkle_{name}", types.void(*[types.voidptr] * n_arguments))


_ssymv, _dsymv = _routine("ssymv", 10), _routine("dsymv", 10)
_ssyrk, _dsyrk = _routine("ssyrk", 10), _routine("dsyrk", 10)


@compiled
def symv(lower: Array, x: Array, y: Array) -> None:
    """y = A x, where A has this lower triangle."""
    letter = np.array([_UPPER], np.uint8).ctypes
    n, step = np.array([x.size], np.int32).ctypes, np.array([1], np.int32).ctypes
    one, zero = np.ones(1, lower.dtype).ctypes, np.zeros(1, lower.dtype).ctypes
    if lower.itemsize == 4:
        _ssymv(letter, n, one, lower.ctypes, n, x.ctypes, step, zero, y.ctypes, step)
    else:
        _dsymv(letter, n, one, lower.ctypes, n, x.ctypes, step, zero, y.ctypes, step)


@compiled
def syrk(lower: Array, sign: float, V: Array) -> None:
    """A += sign V'V, where A has this lower triangle and V has a vector in each row."""
    upper, plain = np.array([_UPPER], np.uint8).ctypes, np.array([_PLAIN], np.uint8).ctypes
    n, k = np.array([V.shape[1]], np.int32).ctypes, np.array([V.shape[0]], np.int32).ctypes
    factor, one = np.full(1, sign, lower.dtype).ctypes, np.ones(1, lower.dtype).ctypes
    if lower.itemsize == 4:
        _ssyrk(upper, plain, n, k, factor, V.ctypes, n, one, lower.ctypes, n)
    else:
        _dsyrk(upper, plain, n, k, factor, V.ctypes, n, one, lower.ctypes, n)

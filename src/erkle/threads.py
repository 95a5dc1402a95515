"""Compiled work in threads: it runs without Python's interpreter lock, on all processors.

``NUMBA_NUM_THREADS`` in the environment sets the number of threads. Results come in the order of the tasks and do not
depend on the number of threads.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from erkle.interruption import uninterrupted

Result = TypeVar("Result")
Flag = NDArray[np.bool_]

# Seconds after which a waiting thread looks for Ctrl-C. A signal just before it waits would not wake it.
_PATIENCE = 0.1


def side_by_side(tasks: Iterable[Callable[[Flag], Result]]) -> list[Result]:
    """Call each task in a thread, and return the results; see `results`."""
    return list(results(tasks))


def results(tasks: Iterable[Callable[[Flag], Result]]) -> Generator[Result, None, None]:
    """Call each task in a thread. Each result comes as soon as those of the tasks before have come.

    A task gets an array that becomes True if it should stop early. The calling thread only waits, so Ctrl-C takes
    effect at once.
    """
    stop = np.zeros(1, np.bool_)
    n_threads = cast(int, numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    # The pool is new each time, because threads do not survive a fork. It starts in a tenth of a millisecond.
    with ThreadPoolExecutor(n_threads, thread_name_prefix="erkle-fit") as pool:
        try:
            # An interrupted start of a thread would raise other errors than KeyboardInterrupt.
            with uninterrupted():
                futures = deque(pool.submit(task, stop) for task in tasks)
            while futures:
                yield _result(futures.popleft())
        except BaseException:
            stop[0] = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _result(future: Future[Result]) -> Result:
    while not wait([future], _PATIENCE).done:
        pass
    return future.result()

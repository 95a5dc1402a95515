"""Laws of threads: their number does not change what is learned, and an error in one of them ends all of them."""

import os
import subprocess
import sys
import threading
import time

import numba
import pytest

from erkle.threads import side_by_side


def waiting(stop):
    """A task that ends when it is told to, or after half a minute."""
    end = time.monotonic() + 30.0
    while not stop[0] and time.monotonic() < end:
        time.sleep(0.001)
    return bool(stop[0])


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(n_threads, monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", n_threads)

    def task(number):
        def run(stop):
            time.sleep(0.002 * (number % 3))
            return number, threading.current_thread().name

        return run

    numbers, names = zip(*side_by_side(task(number) for number in range(20)), strict=True)
    assert numbers == tuple(range(20))
    assert len(set(names)) <= n_threads
    assert threading.main_thread().name not in names


def test_without_tasks_there_are_no_results():
    assert side_by_side([]) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_an_error_in_a_task_is_raised_and_ends_the_other_tasks(error, monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)
    told, begun = [], threading.Barrier(3)

    def failing(stop):
        begun.wait(30)
        raise error("no")

    def others(stop):
        begun.wait(30)
        told.append(waiting(stop))

    with pytest.raises(error, match="no"):
        side_by_side([failing, others, others])
    assert told == [True, True]


def test_an_error_before_all_tasks_have_started_ends_those_that_run():
    told = []

    def tasks():
        yield lambda stop: told.append(waiting(stop))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side(tasks())
    assert told in ([], [True])


def test_no_thread_is_left_behind():
    before = threading.active_count()
    side_by_side([lambda stop: None] * 10)
    assert threading.active_count() == before


DIGEST = """
import hashlib, sys
import numpy as np
sys.path.insert(0, "tests")
from erkle import ERKLE, LowRank
from parts import answers
T = answers(15, 400, flipped=0.1)
for kernel in (LowRank(), LowRank(3, 1e-3, 0.2)):
    learner = ERKLE(15, kernel=kernel, random_state=0).fit(T, participants=np.arange(400) % 5)
    learner.consolidate()
    print(hashlib.sha256(learner.kernel_matrix().tobytes()).hexdigest())
    print(repr(learner.selection_), learner.answer_model_, learner.participants_.lapse.tolist())
"""


def test_the_number_of_threads_does_not_change_what_is_learned(request):
    printed = []
    for threads in ("1", "2"):
        environment = {**os.environ, "NUMBA_NUM_THREADS": threads}
        command = [sys.executable, "-c", DIGEST]
        printed.append(subprocess.check_output(command, env=environment, cwd=request.config.rootpath, text=True))
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) >= 4

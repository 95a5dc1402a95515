"""Fits in threads: time of 10,000 answers with one and with two threads, in turns."""

import os
import subprocess
import sys
from typing import Any

from benchmarks.people.cached_results import Unit
from benchmarks.people.streams import first

_SCRIPT = """
import sys, time, hashlib
from benchmarks.people.streams import first
from erkle import ERKLE
data = first(sys.argv[1], 0)
ERKLE(data.n_objects, random_state=0).fit(data.train[:300])
wall, cpu = time.perf_counter(), time.process_time()
model = ERKLE(data.n_objects, random_state=0).fit(data.train)
bits = hashlib.sha256(model.kernel_matrix().tobytes()).hexdigest()
print(time.perf_counter() - wall, time.process_time() - cpu, bits)
"""
_TURNS = 5
NAMES = ("zappos85", "food100", "cars60")


def threads(name: str) -> dict[str, Any]:
    """Least seconds by the clock and CPU seconds with one and with two threads, and whether the kernels are equal."""
    runs: dict[int, list[list[str]]] = {1: [], 2: []}
    for _ in range(_TURNS):
        for n_threads, found in runs.items():
            environment = {**os.environ, "NUMBA_NUM_THREADS": str(n_threads)}
            command = [sys.executable, "-c", _SCRIPT, name]
            found.append(
                subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout.split()
            )
    return {
        "one": min(float(run[0]) for run in runs[1]),
        "two": min(float(run[0]) for run in runs[2]),
        "cpu": min(float(run[1]) for run in runs[1]),
        "answers": len(first(name, 0).train),
        "equal": len({run[2] for found in runs.values() for run in found}) == 1,
    }


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    return [Unit(threads, (name,)) for name in NAMES if name in names]

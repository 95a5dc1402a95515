"""Time and memory of reading a file of ten million answers."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.data import markdown
from erkle import triplets

_N_LINES = 10_000_000
_READ = """
import resource, sys
from erkle.triplets import Reader
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n = sum(len(chunk.triplets) for chunk in Reader(sys.argv[1]))
print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def run() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers.csv")
        with path.open("w") as file:
            for seed in range(10):
                rows = triplets.sample(1000, _N_LINES // 10, seed).tolist()
                file.writelines(f"{a},{b},{c}\n" for a, b, c in rows)
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", _READ, path], capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - start
    n_lines, kilobytes = map(int, done.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    row = [f"{n_lines:,}", f"{seconds:.1f}", f"{n_lines / seconds / 1e6:.1f}", f"{kilobytes * unit / 2**20:.0f}"]
    yield "## Reading\n\n" + markdown(["lines", "seconds", "million lines per second", "additional memory, MiB"], [row])

"""`make large`: learn five million answers about 100,000 objects with the command `erkle learn`.

The answers are those of points N(0, I) in five dimensions, in a temporary CSV file. Time and peak memory are those of
the whole process, including reading, checking and writing. At full size the table is written to
benchmarks/hundred_thousand.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.data import markdown
from erkle import files, triplets
from erkle.datasets import answered

_OBJECTS, _ANSWERS, _DIMENSIONS = 100_000, 5_000_000, 5
# Answers that are drawn and written at once.
_CHUNK = 1_000_000


class Cost(NamedTuple):
    """Seconds and memory of the command, and the held-out error."""

    wall: float
    cpu: float
    bytes: int
    error: float


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "answers.csv"), Path(folder, "out")
        _write(path, options.objects, options.answers)
        found = _learn([str(path), "--holdout", str(options.holdout), "--out", str(out), *options.more], out)
    text = _report(options, found)
    print(text)
    if (options.objects, options.answers) == (_OBJECTS, _ANSWERS):
        files.write_text(Path(__file__).with_suffix(".md"), text + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hundred_thousand", description=__doc__)
    parser.add_argument("--objects", type=int, default=_OBJECTS)
    parser.add_argument("--answers", type=int, default=_ANSWERS)
    parser.add_argument("--holdout", type=float, default=0.01, help="share of the questions that are held out")
    parser.add_argument("more", nargs="*", help="more options of `erkle learn`, after --")
    return parser.parse_args()


def _write(path: Path, n_objects: int, n_answers: int) -> None:
    X = np.random.default_rng([0, n_objects]).standard_normal((n_objects, _DIMENSIONS))
    with path.open("w") as file:
        file.write("anchor,near,far\n")
        for seed, start in enumerate(range(0, n_answers, _CHUNK)):
            T = answered(triplets.sample(n_objects, min(_CHUNK, n_answers - start), seed), X)
            np.savetxt(file, T, "%d", ",")


def _learn(arguments: list[str], out: Path) -> Cost:
    environment = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "erkle", "learn", *arguments], env=environment)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"`erkle learn` ended with status {done.returncode}; the reason is printed above.")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(wall, cpu, after.ru_maxrss * unit, json.loads((out / "summary.json").read_text())["test_error"])


def _report(options: argparse.Namespace, found: Cost) -> str:
    header = ["objects", "answers", "held-out error", "wall s", "CPU s", "answers per CPU second", "peak memory, MiB"]
    row = [
        f"{options.objects:,}",
        f"{options.answers:,}",
        f"{found.error:.4f}",
        f"{found.wall:.0f}",
        f"{found.cpu:.0f}",
    ]
    row += [f"{options.answers / found.cpu:,.0f}", f"{found.bytes / 2**20:,.0f}"]
    about = f"`erkle learn answers.csv --holdout {options.holdout:g}{' '.join(['', *options.more])}`, run as a process."
    return "\n\n".join(["# Measured by `make large`", about, markdown(header, [row])])


if __name__ == "__main__":
    main()

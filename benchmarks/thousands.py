"""`python -m benchmarks.thousands`: the exact kernel with many objects, compared with an earlier commit in one run.

Every measurement is a process of its own, and this code and the baseline take turns. Answers are those of the paper's
synthetic sets (PA-ERKLE, one pass). At 5,000 objects both learn in pieces of 500 answers, in turns, and the baseline
can stop early: its answers at the border all cost the same. The table is written to benchmarks/thousands.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import gaussian_answers, markdown

_ROOT = Path(__file__).parents[1]
# The last commit without the certified interior and buffered updates.
_BASELINE = "031949e"
_PIECE = 500


def main() -> None:
    options = _options()
    if options.worker:
        _work(*json.loads(options.worker))
        return
    with tempfile.TemporaryDirectory() as folder:
        _check_out(Path(folder))
        parts = ["# Measured by `python -m benchmarks.thousands`", f"The baseline is commit {_BASELINE}."]
        for part in _parts(options, Path(folder)):
            print(part + "\n", flush=True)
            parts.append(part)
    if not options.forms:
        Path(__file__).with_suffix(".md").write_text("\n\n".join(parts) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thousands", description=__doc__)
    parser.add_argument("--turns", type=int, default=3, help="turns of the sizes up to 1,000; the best one counts")
    parser.add_argument("--answers", type=int, default=10_000, help="answers about 5,000 objects")
    parser.add_argument("--baseline", type=int, default=10_000, help="of which the baseline learns so many")
    parser.add_argument("--largest", type=int, default=20_000, help="objects of the largest kernel")
    parser.add_argument("--forms", action="store_true", help="compare only the two forms of small and large kernels")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def _check_out(folder: Path) -> None:
    archive = subprocess.run(["git", "archive", _BASELINE], cwd=_ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)


def _parts(options: argparse.Namespace, baseline: Path) -> Iterator[str]:
    if options.forms:
        yield _forms(options.turns)
        return
    yield _per_answer(options.turns, baseline)
    yield _five_thousand(options, baseline)
    yield _largest(options.largest)


def _per_answer(turns: int, baseline: Path) -> str:
    rows = []
    for n in (100, 412, 1000):
        best = {_ROOT: np.inf, baseline: np.inf}
        for _ in range(turns):
            for root in best:
                [cost] = _worker(root, n, 10_000, 10_000)
                best[root] = min(best[root], cost["seconds"] / cost["active"])
        rows.append([str(n), *(f"{best[root] * 1e6:,.1f}" for root in (baseline, _ROOT))])
        rows[-1].append(f"{best[baseline] / best[_ROOT]:.2f}")
    header = ["objects", "baseline, µs per active answer", "this code", "times faster"]
    return "## An active answer, 10,000 answers\n\n" + markdown(header, rows)


def _forms(turns: int) -> str:
    rows = []
    for n in (200, 300, 412, 600, 800):
        best = {1: np.inf, 10**9: np.inf}
        for _ in range(turns):
            for start in best:
                [cost] = _worker(_ROOT, n, 10_000, 10_000, start)
                best[start] = min(best[start], cost["seconds"] / cost["active"])
        rows.append([str(n), *(f"{best[start] * 1e6:,.1f}" for start in (10**9, 1)), f"{best[10**9] / best[1]:.2f}"])
    header = ["objects", "at once, µs per active answer", "buffered", "times faster"]
    return "## The two forms of a kernel\n\n" + markdown(header, rows)


def _five_thousand(options: argparse.Namespace, baseline: Path) -> str:
    ours, theirs = _in_turns(
        [(_ROOT, options.answers), (baseline, min(options.answers, options.baseline))], options.answers
    )
    rows = [[f"{total['seen']:,}", *_cells(theirs, ours, total["seen"])] for total in ours if total["seen"] % 2000 == 0]
    header = ["answers so far", "baseline, s", "this code, s", "times faster", "ms per answer since the row before"]
    header += ["certified", "eigenpairs", "projections"]
    return "## A pass over answers about 5,000 objects\n\n" + markdown(header, rows)


def _cells(theirs: list[dict[str, Any]], ours: list[dict[str, Any]], seen: int) -> list[str]:
    [at] = [i for i, total in enumerate(ours) if total["seen"] == seen]
    seconds = [sum(total["seconds"] for total in side[: at + 1]) for side in (theirs, ours)]
    recent = sum(total["seconds"] for total in ours[max(0, at - 3) : at + 1]) / min(2000, seen)
    complete = len(theirs) > at
    before = f"{seconds[0]:.1f}" if complete else ""
    counts = [f"{ours[at][name]:,}" for name in ("n_certified", "n_eigenpairs", "n_projections")]
    ratio = f"{seconds[0] / seconds[1]:.1f}" if complete else ""
    return [before, f"{seconds[1]:.1f}", ratio, f"{recent * 1e3:.2f}", *counts]


def _in_turns(sides: list[tuple[Path, int]], n_answers: int) -> list[list[dict[str, Any]]]:
    """What two processes measure, of which only one computes at a time."""
    running = [_start(root, 5000, n_answers, _PIECE) for root, _ in sides]
    found: list[list[dict[str, Any]]] = [[] for _ in sides]
    for seen in range(_PIECE, n_answers + 1, _PIECE):
        for process, totals, (_, most) in zip(running, found, sides, strict=True):
            if seen <= most:
                totals.append(_next(process))
    for process in running:
        process.kill()
    return found


def _largest(n: int) -> str:
    process = _start(_ROOT, n, 5000, 5000)
    total = _next(process)
    row = [
        f"{n:,}",
        "5,000",
        f"{total['seconds']:.0f}",
        f"{total['seconds'] / 5:.1f}",
        f"{total['memory'] / 2**30:.1f}",
    ]
    header = ["objects", "answers", "seconds", "ms per answer", "peak memory, GiB"]
    return "## The largest kernel\n\n" + markdown(header, [row])


def _worker(root: Path, *work: int) -> list[dict[str, Any]]:
    return [_next(_start(root, *work))]


def _start(root: Path, *work: int) -> Any:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(_ROOT)])}
    command = [sys.executable, "-m", "benchmarks.thousands", "--worker", json.dumps(work)]
    return subprocess.Popen(
        command, cwd=root / "src", env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _next(process: Any) -> dict[str, Any]:
    process.stdin.write("\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def _work(n: int, n_answers: int, piece: int, buffered_from: int | None = None) -> None:
    """Learn a piece for every line of the standard input, and print what it cost."""
    from erkle import ERKLE, Dense

    if buffered_from is not None:
        from erkle.kernels import forms

        forms.BUFFERED_FROM = buffered_from
    T = gaussian_answers(n, n_answers, seed=0)
    # Compile before the clock starts: the form of small kernels, and that of large ones.
    for size in (50, 500):
        ERKLE(size, kernel=Dense()).fit(gaussian_answers(size, 200, seed=1))
    learner = ERKLE(n, kernel=Dense())
    for start in range(0, n_answers, piece):
        sys.stdin.readline()
        begun = time.perf_counter()
        learner.partial_fit(T[start : start + piece])
        seconds = time.perf_counter() - begun
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        counters = learner.counters_._asdict()
        found = {"seen": start + piece, "seconds": seconds, "active": counters["n_active"], "memory": memory}
        print(json.dumps(found | counters), flush=True)


if __name__ == "__main__":
    main()

"""Times of the exact kernel by the number of objects. The answers are those of the paper's synthetic sets, one pass."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import markdown
from benchmarks.thousands.processes import ROOT, Process, Work, measure

_PIECE = 500
# Answers about 5,000 objects.
_ANSWERS = 10_000


def per_answer(turns: int, baseline: Path) -> str:
    rows = []
    for n in (100, 412, 1000):
        before, now = _in_turns(turns, [(baseline, Work(n, 10_000, 10_000)), (ROOT, Work(n, 10_000, 10_000))])
        rows.append([str(n), f"{before:,.1f}", f"{now:,.1f}", f"{before / now:.2f}"])
    header = ["objects", "baseline, µs per active answer", "this code", "times faster"]
    return "## An active answer, 10,000 answers\n\n" + markdown(header, rows)


def forms(turns: int) -> str:
    rows = []
    for n in (200, 300, 412, 600, 800):
        kinds = [(10**9, 0), (1, 32), (1, 64), (1, 128)]
        costs = _in_turns(turns, [(ROOT, Work(n, 10_000, 10_000, False, form)) for form in kinds])
        rows.append([str(n), *(f"{cost:,.1f}" for cost in costs), f"{costs[0] / costs[2]:.2f}"])
    header = ["objects", "at once, µs per active answer", "32 updates buffered", "64", "128", "64: times faster"]
    return "## Updates at once or buffered\n\n" + markdown(header, rows)


def _in_turns(turns: int, sides: list[tuple[Path, Work]]) -> list[float]:
    """The median time of an active answer on each side, in microseconds."""
    costs = []
    for _ in range(turns):
        found = [measure(*side) for side in sides]
        costs.append([total["seconds"] / total["n_active"] * 1e6 for total in found])
    return np.median(costs, axis=0).tolist()


def five_thousand(n_baseline: int, baseline: Path) -> str:
    """Both sides learn a piece in turn; the baseline can stop early, because its answers all cost about the same."""
    work = Work(5000, _ANSWERS, _PIECE, True)
    ours, theirs = Process(ROOT, work), Process(baseline, work)
    found: tuple[list[Any], list[Any]] = ([], [])
    for seen in range(_PIECE, _ANSWERS + 1, _PIECE):
        found[0].append(ours.learn_piece())
        if seen <= n_baseline:
            found[1].append(theirs.learn_piece())
    ours.end()
    theirs.end()
    rows = [_row(*found, seen) for seen in range(2000, _ANSWERS + 1, 2000)]
    header = ["answers so far", "baseline, s", "this code, s", "times faster", "ms per answer since the row before"]
    header += ["certified", "eigenpairs", "projections"]
    return "## A pass over answers about 5,000 objects (figure 2 of the paper, trial 0)\n\n" + markdown(header, rows)


def _row(ours: list[Any], theirs: list[Any], seen: int) -> list[str]:
    n = seen // _PIECE
    seconds = sum(total["seconds"] for total in ours[:n])
    recent = sum(total["seconds"] for total in ours[n - 4 : n]) / 2000
    before = sum(total["seconds"] for total in theirs[:n])
    compared = [f"{before:.1f}", f"{seconds:.1f}", f"{before / seconds:.1f}"]
    if len(theirs) < n:
        compared = ["", f"{seconds:.1f}", ""]
    counts = [f"{ours[n - 1][name]:,}" for name in ("n_certified", "n_eigenpairs", "n_projections")]
    return [f"{seen:,}", *compared, f"{recent * 1e3:.2f}", *counts]


def largest(n: int) -> str:
    total = measure(ROOT, Work(n, 5000, 5000))
    seconds, matrices = total["seconds"], 12 * n**2 / 2**30
    cells = [f"{seconds:.0f}", f"{seconds / 5:.1f}", f"{total['memory'] / 2**30:.1f}", f"{matrices:.1f}"]
    header = ["objects", "answers", "seconds", "ms per answer", "peak memory, GiB", "of which K and P"]
    return "## The largest kernel\n\n" + markdown(header, [[f"{n:,}", "5,000", *cells]])

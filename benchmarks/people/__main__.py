"""`make people`: measure what is missing, print the tables, and write them to benchmarks/people.md.

`python -m benchmarks.people moments zappos85` measures and prints only these tables and data sets.
"""

import os

# One BLAS thread, because algorithms are compared. It must be set before a BLAS is loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
# One thread for fits, so that CPU times are those of one processor; `threads` compares one with two.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import argparse
import platform
from pathlib import Path

import numba
import numpy
import scipy

from benchmarks.people import cached_results, choosing, cost, moments, paper, participants, tables, things, threads
from benchmarks.people.requirements import summary
from benchmarks.people.streams import NAMES
from erkle import ERKLE, RCKL, STE, Constant, Dense, LowRank, TripletEmbedding, files, triplets

_PARTS = {
    "moments": (moments, [tables.accuracy, tables.probabilities, tables.slips]),
    "things": (things, [tables.odd_one_outs]),
    "participants": (participants, [tables.who_answered]),
    "threads": (threads, [tables.side_by_side]),
    "paper": (paper, [tables.small_set, tables.large_set, tables.wrong_answers]),
    "choosing": (choosing, [tables.purely_online, tables.choices]),
    "cost": (cost, [tables.objects, tables.races]),
}


def main() -> None:
    options = _options()
    parts = [part for name, part in _PARTS.items() if name in options.names] or list(_PARTS.values())
    chosen = [name for name in NAMES if name in options.names] or list(NAMES)
    n_seeds = 1 if options.quick else options.seeds
    _compile()
    units = [unit for part, _ in parts for unit in part.units(chosen, n_seeds, options.quick)]
    cached_results.measure(units, options.jobs)
    made = [table(chosen, n_seeds, options.quick) for _, some in parts for table in some]
    text = "\n\n".join([_about(n_seeds), summary(made), *map(str, made)]) + "\n"
    print(text)
    if not options.names and not options.quick:
        files.write_text(Path(__file__).parents[1] / "people.md", text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people", description=__doc__)
    known = [*_PARTS, *NAMES]
    parser.add_argument("names", nargs="*", metavar="name", help=f"tables or data sets: {', '.join(known)}")
    parser.add_argument("--seeds", type=int, default=5, help="number of splits to average over")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time; with several, times are less exact")
    parser.add_argument("--quick", action="store_true", help="one seed and few sizes; does not write people.md")
    options = parser.parse_args()
    for name in options.names:
        if name not in known:
            parser.error(f"There is no table or data set {name}; choose from {', '.join(known)}.")
    return options


def _compile() -> None:
    T = triplets.sample(5, 300, 0)
    for kernel in (LowRank(), LowRank(consolidate="off"), LowRank(2), LowRank(2, 1e-3, 0.05), Dense()):
        ERKLE(5, passes=2, kernel=kernel).fit(T)
    ERKLE(5, loss=STE(), step=Constant(0.3), kernel=LowRank(2, 1e-3)).fit(T)
    TripletEmbedding(5, ridge=1.0).fit(T)
    RCKL(5).fit(T)


def _about(n_seeds: int) -> str:
    versions = f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    return (
        f"# Measured by `make people`\n\n{versions}, Numba {numba.__version__}; CPU time with one BLAS thread, "
        f"on a shared machine. Values are means over {n_seeds} seeds. Each seed holds out a fifth of the questions "
        "with all their answers; the other answers are learned in random order."
    )


if __name__ == "__main__":
    main()

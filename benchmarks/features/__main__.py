"""`make features`: what vectors of the objects save, on people's answers; writes benchmarks/features.md.

`python -m benchmarks.features zappos asking` measures and prints only these tables. Results are kept in .cache and
measured again when the sources change, so an interrupted run continues. Needs ``ERKLE_DATA``.
"""

import os

# One BLAS thread, because algorithms are compared. It must be set before a BLAS is loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
# One thread for fits, so that CPU times are those of one processor.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import argparse
import sys
from pathlib import Path

from benchmarks.features import tables
from benchmarks.features.vectors import available
from benchmarks.people import cached_results
from benchmarks.people.requirements import summary
from erkle import ERKLE, files, triplets


def main() -> None:
    options = _options()
    if not (available("things") and available("zappos85")):
        sys.exit("The vectors are missing; set ERKLE_DATA to a folder with things/ and zappos85/.")
    names = options.names or list(tables.PARTS)
    ERKLE(5).fit(triplets.sample(5, 300, 0))
    cached_results.measure([unit for name in names for unit in tables.PARTS[name].units(options.seeds)], options.jobs)
    made = [tables.PARTS[name].table(options.seeds) for name in names]
    text = "\n\n".join(["# Measured by `make features`", _about(options.seeds), summary(made), *map(str, made)]) + "\n"
    print(text)
    if not options.names:
        files.write_text(Path(__file__).parents[1] / "features.md", text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.features", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"tables: {', '.join(tables.PARTS)}")
    parser.add_argument("--seeds", type=int, default=5, help="number of splits to average over")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time; with several, times are less exact")
    options = parser.parse_args()
    for name in options.names:
        if name not in tables.PARTS:
            parser.error(f"There is no table {name}; choose from {', '.join(tables.PARTS)}.")
    return options


def _about(n_seeds: int) -> str:
    return (
        f"Means over {n_seeds} splits. The learner is `ERKLE(n, features=...)`, told nothing but the vectors: CLIP and "
        "word2vec vectors of the 1,854 objects of THINGS, and AlexNet vectors of the 85 shoes of zappos85. Beside it "
        "is `ERKLE(n)`, on the same answers in the same order. CPU times are those of one thread on a shared machine."
    )


if __name__ == "__main__":
    main()

"""`python -m benchmarks.stopping`: simulate studies, and compare the forecasts of `answers_needed` with the truth.

Writes benchmarks/stopping.md. Studies are kept in .cache/stopping, so an interrupted run continues.
"""

import os

# One thread, so that the benchmark is a modest neighbour. It must be set before a BLAS and Numba are loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import sys
import time
from pathlib import Path

from benchmarks.stopping import tables
from benchmarks.stopping.studies import Study, study
from benchmarks.stopping.worlds import FRESH, WORLDS
from erkle import files

# The constants of the forecast were chosen on lower seeds.
_FIRST_SEED = 100


def main() -> None:
    options = _options()
    worlds = dict(list(WORLDS.items())[:2]) if options.quick else WORLDS | FRESH
    seeds = range(options.first, options.first + (2 if options.quick else options.seeds))
    found: dict[str, list[Study]] = {name: [] for name in worlds}
    for seed in seeds:
        for name, world in worlds.items():
            start = time.process_time()
            found[name].append(study(name, world, seed))
            print(
                f"seed {seed} of {seeds[-1]}, {name}: {time.process_time() - start:.1f} s", file=sys.stderr, flush=True
            )
    text = tables.report(worlds, found, seeds)
    print(text)
    if not options.quick:
        files.write_text(Path(__file__).parents[1] / "stopping.md", text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stopping", description=__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="studies per world")
    parser.add_argument("--first", type=int, default=_FIRST_SEED, help="the first seed; 0 to 99 are for tuning")
    parser.add_argument("--quick", action="store_true", help="two seeds of two worlds; does not write stopping.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
